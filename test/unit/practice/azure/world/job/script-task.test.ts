// The task as an agent gets and runs it: unpacked from its archive, under this Node.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { crc32 } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { scriptTaskArchive } from '../../../../../../practice/azure/world/job/script-task.ts';

/** Reads an archive by its index, as unpacking programs do. */
function unpack(archive: Buffer): Map<string, string> {
  const end = archive.lastIndexOf(Buffer.from('PK\x05\x06'));
  const files = new Map<string, string>();
  let at = archive.readUInt32LE(end + 16);
  for (let count = archive.readUInt16LE(end + 10); count > 0; count -= 1) {
    expect(archive.readUInt32LE(at)).toBe(0x02014b50);
    const [size, nameLength] = [archive.readUInt32LE(at + 24), archive.readUInt16LE(at + 28)];
    const local = archive.readUInt32LE(at + 42);
    expect(archive.readUInt32LE(local)).toBe(0x04034b50);
    const begin = local + 30 + archive.readUInt16LE(local + 26) + archive.readUInt16LE(local + 28);
    const content = archive.subarray(begin, begin + size);
    expect(crc32(content)).toBe(archive.readUInt32LE(at + 16));
    files.set(archive.subarray(at + 46, at + 46 + nameLength).toString(), content.toString());
    at += 46 + nameLength;
  }
  expect(at).toBe(end);
  return files;
}

const folder = mkdtempSync(join(tmpdir(), 'task-'));
const temp = join(folder, 'temp');
beforeAll(() => {
  mkdirSync(temp);
  for (const [name, content] of unpack(scriptTaskArchive())) writeFileSync(join(folder, name), content);
});
afterAll(() => rmSync(folder, { recursive: true }));

function start(script: string, path = process.env['PATH']) {
  return spawn(process.execPath, [join(folder, 'run.js')], {
    env: { PATH: path, INPUT_SCRIPT: script, AGENT_TEMPDIRECTORY: temp },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

const failed = (shell: string, code: number) => [
  `##vso[task.logissue type=error]${shell} exited with code '${code}'.`,
  `##vso[task.complete result=Failed;]${shell} exited with code '${code}'.`,
];

test('its definition names a program that is in the archive', () => {
  const files = unpack(scriptTaskArchive());
  const { execution } = JSON.parse(files.get('task.json') ?? '') as {
    execution: Record<string, { target: string }>;
  };
  expect(Object.values(execution).map(({ target }) => files.has(target))).toEqual(Array(4).fill(true));
});

test.each<[string, string, string[]]>([
  ['what a script writes is passed on', 'echo hi; echo there >&2', ['hi']],
  ['it is bash', '[[ a == a ]] && echo yes', ['yes']],
  ['an exit code is reported to the agent', 'echo hi; exit 3', ['hi', ...failed('bash', 3)]],
  ['an end by a signal, too', 'kill -9 $$', failed('bash', 137)],
  ['the script is not in its own environment', 'echo "${INPUT_SCRIPT-none}"', ['none']],
  ['an empty script does nothing', '', []],
])('%s', async (_, script, said) => {
  const task = start(script);
  const [output, [code]] = await Promise.all([text(task.stdout), once(task, 'exit')]);
  expect(output.split('\n').slice(0, -1)).toEqual(said);
  expect(code).toBe(0);
  expect(readdirSync(temp)).toEqual([]);
});

test('where there is no bash, as in small images, sh runs the script', async () => {
  const path = join(folder, 'bin');
  mkdirSync(path);
  symlinkSync('/bin/sh', join(path, 'sh'));
  const task = start('echo hi; exit 4', path);
  expect((await text(task.stdout)).split('\n').slice(0, -1)).toEqual(['hi', ...failed('sh', 4)]);
});

describe('a signal to the task alone reaches the script and what it started', () => {
  test.each<[NodeJS.Signals, string, string[]]>([
    ['SIGINT', 'echo on; sleep 60; echo after', failed('bash', 130)],
    ['SIGTERM', 'echo on; sleep 60; echo after', failed('bash', 143)],
    ['SIGINT', `trap 'echo cleaning; exit 5' INT; echo on; sleep 60`, ['cleaning', ...failed('bash', 5)]],
  ])('%s: %s', async (signal, script, said) => {
    const task = start(script);
    task.stdout.once('data', () => task.kill(signal));
    expect((await text(task.stdout)).split('\n').slice(1, -1)).toEqual(said);
  });
});
