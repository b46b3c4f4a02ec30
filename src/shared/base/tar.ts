import { buffer } from 'node:stream/consumers';
import { finished } from 'node:stream/promises';
import { extract, pack } from 'tar-stream';

export interface TarEntry {
  /** Relative path. */
  readonly path: string;
  readonly content: Uint8Array;
  readonly mode: number;
  readonly uid?: number;
  readonly gid?: number;
}

/** A folder of an archive. Where Docker unpacks it, an existing folder gets this owner. */
export type TarFolder = Pick<TarEntry, 'path' | 'uid' | 'gid'> & { readonly mode?: number };

/** Packs regular files after folders; equal input gives an equal archive. */
export function tar(entries: readonly TarEntry[], folders: readonly TarFolder[] = []): Promise<Buffer> {
  const archive = pack();
  const mtime = new Date(0);
  for (const { path, mode = 0o755, uid = 0, gid = 0 } of folders) {
    archive.entry({ name: path, type: 'directory', mode, uid, gid, mtime });
  }
  for (const { path, content, mode, uid = 0, gid = 0 } of entries) {
    archive.entry({ name: path, mode, uid, gid, mtime }, Buffer.from(content));
  }
  archive.finalize();
  return buffer(archive);
}

/** Reads the regular files of an archive: path → content. Skips links and folders. Throws for a damaged archive. */
export async function untar(archive: Buffer): Promise<ReadonlyMap<string, Buffer>> {
  const files = new Map<string, Buffer>();
  const reader = extract();
  reader.on('entry', ({ name, type }, stream, next) => {
    const chunks: Buffer[] = [];
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('end', () => {
      if (type === 'file') files.set(name, Buffer.concat(chunks));
      next();
    });
  });
  reader.end(archive);
  await finished(reader);
  return files;
}
