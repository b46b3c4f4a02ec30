import { appendFile, mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { isMissing, syncFolder } from '../machine/files.ts';

/** The file effects of a ring. */
export interface RingFiles {
  /** Returns 0 for a missing file. */
  size(path: string): Promise<number>;
  /** Appends in one write; creates the file if it is missing. */
  append(path: string, bytes: Buffer): Promise<void>;
  /** Replaces the file as a whole: before the last step it is unchanged. */
  replace(path: string, slices: AsyncIterable<Buffer>): Promise<void>;
  /** Reads the last `most` bytes that the file has now; nothing of a missing file. */
  slices(path: string, most: number, sliceBytes: number): AsyncIterable<Buffer>;
}

/** The steps of a replacement, each of which a kill may cut off. */
export interface NewFile {
  write(bytes: Buffer): Promise<void>;
  sync(): Promise<void>;
  close(): Promise<void>;
}

/** Replaces a file: writes a new one, syncs it, renames it. */
export async function replaceBy(
  steps: {
    create(path: string): Promise<NewFile>;
    rename(from: string, to: string): Promise<void>;
    remove(path: string): Promise<void>;
  },
  path: string,
  slices: AsyncIterable<Buffer>,
): Promise<void> {
  const next = `${path}.new`;
  // One that a killed manager left.
  await steps.remove(next);
  const file = await steps.create(next);
  try {
    try {
      for await (const slice of slices) await file.write(slice);
      await file.sync();
    } finally {
      await file.close();
    }
    await steps.rename(next, path);
  } catch (error) {
    await steps.remove(next);
    throw error;
  }
}

/** The files of this machine, for root only. */
export const diskFiles: RingFiles = {
  size: async (path) => {
    try {
      return (await stat(path)).size;
    } catch (error) {
      if (isMissing(error)) return 0;
      throw error;
    }
  },
  append: async (path, bytes) => {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await appendFile(path, bytes, { mode: 0o600 });
  },
  replace: (path, slices) =>
    replaceBy(
      {
        create: async (next) => {
          const file = await open(next, 'wx', 0o600);
          return {
            write: (bytes) => file.appendFile(bytes),
            sync: () => file.sync(),
            close: () => file.close(),
          };
        },
        rename: async (from, to) => {
          await rename(from, to);
          await syncFolder(dirname(to));
        },
        remove: (each) => rm(each, { force: true }),
      },
      path,
      slices,
    ),
  slices: (path, most, sliceBytes) => slicesOf(path, most, sliceBytes),
};

async function* slicesOf(path: string, most: number, sliceBytes: number): AsyncGenerator<Buffer> {
  const file = await open(path, 'r').catch((error: unknown) => {
    if (isMissing(error)) return undefined;
    throw error;
  });
  if (file === undefined) return;
  try {
    const { size } = await file.stat();
    for (let at = Math.max(0, size - most); at < size;) {
      const buffer = Buffer.alloc(Math.min(sliceBytes, size - at));
      const { bytesRead } = await file.read(buffer, 0, buffer.length, at);
      if (bytesRead === 0) return;
      at += bytesRead;
      yield buffer.subarray(0, bytesRead);
    }
  } finally {
    await file.close();
  }
}
