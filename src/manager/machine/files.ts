import { randomBytes } from 'node:crypto';
import { link, mkdir, open, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { FleetError } from '../../shared/base/errors.ts';

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

/** What a file said, and what was wrong with it when its predecessor had to answer. */
interface Kept<Value> {
  readonly value: Value;
  readonly damage?: string;
}

/** The file's predecessor. */
function previous(path: string): string {
  return `${path}.previous`;
}

/**
 * Replaces a file in one step, for root alone: content and name have reached the disk when this resolves, so that a
 * power cut leaves the old or the new. What was there stays as `PATH.previous`, or where `aside` says.
 */
export async function replaceKept(path: string, content: string, aside = previous(path)): Promise<void> {
  const folder = dirname(path);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const next = `${path}.${randomBytes(4).toString('hex')}`;
  try {
    await writeSynced(next, content);
    await rm(aside, { force: true });
    // A file system without links keeps no predecessor.
    await link(path, aside).catch(() => undefined);
    await rename(next, path);
  } catch (error) {
    await rm(next, { force: true });
    throw error;
  }
  await syncFolder(folder);
}

/**
 * Reads it, or its predecessor where it is damaged; undefined when there is no such file. `parse` throws what is wrong
 * with the text. Rejects with `file.damaged` when neither can be read: a file that is there is never taken for none.
 */
export async function readKept<Value>(
  path: string,
  parse: (text: string) => Value,
): Promise<Kept<Value> | undefined> {
  const read = async (from: string): Promise<Value> => parse(await readFile(from, 'utf8'));
  try {
    return { value: await read(path) };
  } catch (error) {
    if (isMissing(error)) return undefined;
    const damage = wordsOf(error);
    try {
      return { value: await read(previous(path)), damage };
    } catch (second) {
      throw unreadable(path, damage, isMissing(second) ? 'there is none' : wordsOf(second));
    }
  }
}

/** Where a damaged file is left for people to look at. */
export function damagedCopy(path: string): string {
  return `${path}.damaged`;
}

async function writeSynced(path: string, content: string): Promise<void> {
  const file = await open(path, 'wx', 0o600);
  try {
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** The new name is on the disk, too. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

function unreadable(path: string, damage: string, before: string): FleetError {
  return new FleetError({
    code: 'file.damaged',
    what: `${path} cannot be read`,
    seen: `${damage}; ${previous(path)}: ${before}`,
    next: `restore it from a backup, or remove both: this host then counts as a new installation, and its agents' names have to be adopted`,
  });
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
