// Tasks: downloaded from the server once per version, unpacked below _work/_tasks, run by Node.
import { mkdirSync, readFileSync, renameSync, existsSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { inflateRawSync } from 'node:zlib';

/** Returns the folder and the definition of a step's task. */
export async function taskOf({ reference: { id, name, version } }, server, workFolder) {
  const folder = join(workFolder, '_tasks', `${name}_${id}`, version);
  if (!existsSync(folder)) {
    const archive = await server.download(`/_apis/distributedtask/tasks/${id}/${version}`, 'application/zip');
    const fresh = `${folder}.${process.pid}`;
    for (const [path, content] of unzip(archive)) {
      mkdirSync(dirname(join(fresh, path)), { recursive: true });
      writeFileSync(join(fresh, path), content);
    }
    renameSync(fresh, folder);
  }
  const definition = JSON.parse(readFileSync(join(folder, 'task.json'), 'utf8').replace(/^\uFEFF/u, ''));
  const handler = Object.keys(definition.execution).findLast((each) => each.startsWith('Node'));
  if (handler === undefined) throw new Error(`the task ${name} has no handler for Node`);
  return { definition, target: join(folder, definition.execution[handler].target) };
}

/** Returns the files of a zip archive, by its central directory. */
function* unzip(archive) {
  const end = archive.lastIndexOf(Buffer.from('PK\x05\x06', 'latin1'));
  if (end === -1) throw new Error('the task is not a zip archive');
  let at = archive.readUInt32LE(end + 16);
  for (let left = archive.readUInt16LE(end + 10); left > 0; left -= 1) {
    const [method, size] = [archive.readUInt16LE(at + 10), archive.readUInt32LE(at + 20)];
    const [nameLength, extra, comment] = [28, 30, 32].map((offset) => archive.readUInt16LE(at + offset));
    const local = archive.readUInt32LE(at + 42);
    const name = archive.toString('utf8', at + 46, at + 46 + nameLength);
    const from = local + 30 + archive.readUInt16LE(local + 26) + archive.readUInt16LE(local + 28);
    const content = archive.subarray(from, from + size);
    if (!name.endsWith('/')) yield [name, method === 0 ? content : inflateRawSync(content)];
    at += 46 + nameLength + extra + comment;
  }
}
