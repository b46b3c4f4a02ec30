import { constants } from 'node:fs';
import { open, opendir } from 'node:fs/promises';
import type { FileTail, TailLimits } from '../../shared/engine/tails.ts';

/** So many names are looked at: whoever owns the folder may have put any number there. */
const longestList = 1_000;

/**
 * The ends of the regular files of a folder whose name is accepted, in the order of their names. The folder belongs to
 * the job's user, and root reads it: no link is followed, and nothing is opened that could be a file of somebody else.
 */
export async function folderTails(
  folder: string,
  accepts: (name: string) => boolean,
  limits: TailLimits,
): Promise<readonly FileTail[]> {
  const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants;
  const directory = await open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  try {
    // Through the open folder: its path may lead elsewhere by now.
    const inside = `/proc/self/fd/${directory.fd}`;
    const names = (await listed(inside)).filter(accepts).sort().slice(0, limits.files);
    const tails: FileTail[] = [];
    for (const name of names) {
      const tail = await tailOf(`${inside}/${name}`, name, limits.fileBytes).catch(() => undefined);
      if (tail !== undefined) tails.push(tail);
    }
    return tails;
  } finally {
    await directory.close();
  }
}

async function listed(folder: string): Promise<readonly string[]> {
  const names: string[] = [];
  for await (const { name } of await opendir(folder)) {
    names.push(name);
    if (names.length >= longestList) break;
  }
  return names;
}

async function tailOf(path: string, name: string, limit: number): Promise<FileTail | undefined> {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  const file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    const found = await file.stat();
    if (!found.isFile() || found.nlink !== 1) return undefined;
    const end = Buffer.alloc(Math.min(found.size, limit));
    const { bytesRead } = await file.read(end, 0, end.length, found.size - end.length);
    return { name, bytes: found.size, end: end.subarray(0, bytesRead) };
  } finally {
    await file.close();
  }
}
