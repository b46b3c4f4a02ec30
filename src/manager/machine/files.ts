import { randomBytes } from 'node:crypto';
import { readFileSync, type Stats, statSync } from 'node:fs';
import {
  access,
  constants,
  link,
  mkdir,
  open,
  readFile,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises';
import { dirname } from 'node:path';
import { FleetError } from '../../shared/base/errors.ts';
import { readerBounds } from '../../shared/base/reader-bounds.ts';

/** Replaces a file atomically; only root can read it. */
export async function writeAtomic(path: string, content: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const next = `${path}.${randomBytes(4).toString('hex')}`;
  try {
    await writeFile(next, content, { mode: 0o600 });
    await rename(next, path);
  } catch (error) {
    // On a full disk partial files would add up.
    await rm(next, { force: true });
    throw error;
  }
}

/** Reads a file of ours as text. Rejects if it has more bytes than such a file may have. */
export async function readText(path: string): Promise<string> {
  requireShort((await stat(path)).size);
  return readFile(path, 'utf8');
}

/** Does the same as readText before the event loop runs. Throws. */
export function readTextNow(path: string): string {
  requireShort(statSync(path).size);
  return readFileSync(path, 'utf8');
}

function requireShort(size: number): void {
  const { bytes } = readerBounds.ownFile;
  if (size > bytes) throw new Error(`more than ${bytes / 1024 ** 2} MiB`);
}

/** Reads a file in pieces: for the kernel's files and pipes, which have no size. */
export async function* piecesOf(path: string): AsyncGenerator<Buffer> {
  const file = await open(path, 'r');
  try {
    for (;;) {
      const { bytesRead, buffer } = await file.read(Buffer.alloc(pieceBytes), 0, pieceBytes, null);
      if (bytesRead === 0) return;
      yield buffer.subarray(0, bytesRead);
    }
  } finally {
    await file.close();
  }
}

const pieceBytes = 64 * 1024;

/** Reads the first `most` bytes of a file, also of one without a size. */
export async function readHead(path: string, most: number): Promise<Buffer> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const piece of piecesOf(path)) {
    parts.push(piece);
    bytes += piece.length;
    if (bytes >= most) break;
  }
  return Buffer.concat(parts).subarray(0, most);
}

/** Reads the first `most` bytes of a regular file that no ordinary user can have put there. Follows no link; rejects any other file. */
export async function readTrusted(path: string, most: number): Promise<Buffer> {
  const folder = await stat(dirname(path));
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  const file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    const found = await file.stat();
    const fault = found.isFile() ? placedByOthers(found, folder) : 'it is not a regular file';
    if (fault !== undefined) throw new Error(fault);
    const { bytesRead, buffer } = await file.read(Buffer.alloc(most), 0, most, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

/** Returns why an ordinary user may have put a file into its folder; undefined: only root, or the folder's owner or group can. Pure. */
export function placedByOthers(
  { uid, gid }: Pick<Stats, 'uid' | 'gid'>,
  folder: Pick<Stats, 'uid' | 'gid' | 'mode'>,
): string | undefined {
  if ((folder.mode & 0o002) !== 0) return 'all users can write in its folder';
  if (uid === 0 || uid === folder.uid || gid === folder.gid) return undefined;
  return `it belongs to uid ${uid}, which is neither root nor the owner of its folder`;
}

/** Reads the last `most` bytes of a file as text. */
export async function readTail(path: string, most: number): Promise<string> {
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    const length = Math.min(size, most);
    const buffer = Buffer.alloc(length);
    const { bytesRead } = await file.read(buffer, 0, length, size - length);
    return buffer.toString('utf8', 0, bytesRead);
  } finally {
    await file.close();
  }
}

/** Parses a JSON file; undefined when it is missing, too long or not JSON. */
export async function readJson(path: string): Promise<unknown> {
  const text = await readText(path).catch(() => undefined);
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** The content of a file, and why the previous version was read instead, if it was. */
interface Kept<Value> {
  readonly value: Value;
  readonly damage?: string;
}

/** Returns the path of the previous version. */
function previous(path: string): string {
  return `${path}.previous`;
}

/**
 * Replaces a file atomically, for root alone. Content and name are on the disk when this resolves, so that a power cut leaves
 * the old or the new version. The old version, if any, stays as `PATH.previous`, or at `aside`.
 */
export async function replaceKept(path: string, content: string, aside = previous(path)): Promise<void> {
  const folder = dirname(path);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const next = `${path}.${randomBytes(4).toString('hex')}`;
  try {
    await writeSynced(next, content);
    // Where the file was deleted, its previous version is the only one.
    if (await exists(path)) {
      await rm(aside, { force: true });
      // A file system without links keeps no previous version.
      await link(path, aside).catch(() => undefined);
    }
    await rename(next, path);
  } catch (error) {
    await rm(next, { force: true });
    throw error;
  }
  await syncFolder(folder);
}

/**
 * Reads a file, or its previous version if it is damaged or missing; undefined when neither exists. `parse` throws on damaged
 * text. Rejects with `file.damaged` when none can be read and one exists: what was written once never counts as new.
 */
export async function readKept<Value>(
  path: string,
  parse: (text: string) => Value,
): Promise<Kept<Value> | undefined> {
  const read = async (from: string): Promise<Value> => parse(await readText(from));
  try {
    return { value: await read(path) };
  } catch (error) {
    const damage = isMissing(error) ? 'the file is missing' : messageOf(error);
    try {
      return { value: await read(previous(path)), damage };
    } catch (second) {
      if (isMissing(error) && isMissing(second)) return undefined;
      throw unreadable(path, damage, isMissing(second) ? 'there is none' : messageOf(second));
    }
  }
}

/** Returns the path at which a damaged file is kept for inspection. */
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

/** Syncs the folder, so that the new name is on the disk. */
export async function syncFolder(path: string): Promise<void> {
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
    next: `restore it from a backup, or remove both: this host is then a new installation, and its agents' names must be adopted`,
  });
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

export function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
