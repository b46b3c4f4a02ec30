import { randomBytes } from 'node:crypto';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Replaces a file in one step; readers see the old content or the new. Only root reads it. */
export async function writeAtomic(path: string, content: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const next = `${path}.${randomBytes(4).toString('hex')}`;
  try {
    await writeFile(next, content, { mode: 0o600 });
    await rename(next, path);
  } catch (error) {
    // On a full disk half of it would stay, and fill it further at each try.
    await rm(next, { force: true });
    throw error;
  }
}

/** The parsed file; undefined when it is not there or not JSON. */
export async function readJson(path: string): Promise<unknown> {
  const text = await readFile(path, 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
