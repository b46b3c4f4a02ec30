import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type FileHandle, open, rename, rm } from 'node:fs/promises';

import { sha256 } from '../../shared/base/digest.ts';
import { codeOf, type FleetError, usageError } from '../../shared/base/errors.ts';
import { version } from '../../shared/base/version.ts';
import { longestManifest, type Manifest, type Member, parseManifest } from './manifest.ts';

/** Bytes of a tar block; contents are padded to whole blocks. */
const block = 512;

/**
 * Returns the tar header (ustar) of a regular file of root, dated 1970: one name and size have exactly one header. Sizes of 8 GiB
 * and more are in base 256, as in GNU tar.
 */
export function headerOf(name: string, size: number): Buffer {
  const header = Buffer.alloc(block);
  header.write(name, 0, 100, 'ascii');
  header.write('0000644\0', 100);
  header.write('0000000\0', 108);
  header.write('0000000\0', 116);
  writeSize(header, size);
  header.write('00000000000\0', 136);
  header.fill(' ', 148, 156);
  header.write('0', 156);
  header.write('ustar\u000000', 257);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return header;
}

function writeSize(header: Buffer, size: number): void {
  if (size < 8 ** 11) {
    header.write(`${size.toString(8).padStart(11, '0')}\0`, 124);
    return;
  }
  header.writeBigUInt64BE(BigInt(size), 128);
  header[124] = 0x80;
}

/** Returns the bytes of the content with its padding. */
export function padded(size: number): number {
  return Math.ceil(size / block) * block;
}

/** The end of an archive. */
export const ending = Buffer.alloc(2 * block);

const manifestName = 'manifest.json';

/** The last file: the sha256 of the manifest, which protects the manifest itself. */
const sumName = 'manifest.sha256';

/** Returns its content for a manifest. */
function sumOf(manifest: Buffer): Buffer {
  return Buffer.from(`${sha256(manifest)}\n`);
}

/** Returns the name of a member in the archive. */
function memberName({ sha256 }: Pick<Member, 'sha256'>): string {
  return `members/${sha256}`;
}

/** A member and the offset of its content. */
interface Place extends Member {
  readonly start: number;
}

const sumBytes = 65;

/** The offsets of all files, and the size of the archive. */
interface Layout {
  readonly places: readonly Place[];
  /** Offset of the last file's header. */
  readonly sumAt: number;
  readonly size: number;
}

/** Computes the layout. `manifestBytes`: size of the manifest's text. */
function layoutOf({ members }: Pick<Manifest, 'members'>, manifestBytes: number): Layout {
  let at = block + padded(manifestBytes);
  const places = members.map((member) => {
    const start = at + block;
    at = start + padded(member.size);
    return { ...member, start };
  });
  return { places, sumAt: at, size: at + block + padded(sumBytes) + 2 * block };
}

/**
 * Writes the archive and renames it to its name when it is complete. The same manifest and members make the same bytes. `fileOf`
 * returns the file with a member's content.
 */
export async function writeBundle(
  file: string,
  manifest: Manifest,
  fileOf: (sha256: string) => string,
  signal: AbortSignal,
): Promise<void> {
  const part = `${file}.part`;
  let handle: FileHandle | undefined;
  try {
    handle = await open(part, 'w', 0o600);
    const text = Buffer.from(`${JSON.stringify(manifest, null, 1)}\n`);
    await writeFile(handle, manifestName, text.length, [text]);
    for (const member of manifest.members) {
      signal.throwIfAborted();
      const content = createReadStream(fileOf(member.sha256), { highWaterMark: 1 << 20 });
      await writeFile(handle, memberName(member), member.size, content);
    }
    await writeFile(handle, sumName, sumOf(text).length, [sumOf(text)]);
    await handle.write(ending);
    await handle.sync();
    await handle.close();
    await rename(part, file);
  } catch (error) {
    await handle?.close().catch(() => undefined);
    await rm(part, { force: true });
    if (signal.aborted) throw error;
    throw usageError(
      {
        code: 'bundle.file',
        what: `the bundle ${file} cannot be written`,
        seen: codeOf(error),
        next: 'name another file with -o, or free disk space',
      },
      error,
    );
  }
}

async function writeFile(
  handle: FileHandle,
  name: string,
  size: number,
  content: Iterable<Buffer> | AsyncIterable<Buffer>,
): Promise<void> {
  await handle.write(headerOf(name, size));
  let written = 0;
  for await (const chunk of content) {
    await handle.write(chunk);
    written += chunk.length;
  }
  if (written !== size) throw new Error(`${name} has changed while it was written`);
  await handle.write(Buffer.alloc(padded(size) - size));
}

/** A bundle of which every byte was checked. */
export interface OpenedBundle {
  readonly file: string;
  readonly manifest: Manifest;
  /** By sha256. */
  readonly places: ReadonlyMap<string, Place>;
}

export interface OpenOptions {
  readonly signal: AbortSignal;
  readonly onProgress?: (done: number, total: number) => void;
}

/**
 * Reads the manifest and checks every member against it. A bundle can be written in exactly one way, and everything else is damage:
 * links, other names, other sizes, further bytes.
 */
export async function openBundle(file: string, options: OpenOptions): Promise<OpenedBundle> {
  const handle = await open(file, 'r').catch((error: unknown) => {
    throw unreadable(file, codeOf(error), error);
  });
  try {
    const { size } = await handle.stat();
    const { manifest, text } = await readManifest(handle, file, size);
    const layout = layoutOf(manifest, text.length);
    if (layout.size !== size) throw damaged(file, `${layout.size} bytes`, `${size}`);
    for (const place of layout.places) {
      options.signal.throwIfAborted();
      await checkMember(handle, file, place, options);
      options.onProgress?.(place.start + place.size, size);
    }
    const last = await piece(handle, file, layout.sumAt, size - layout.sumAt);
    const sum = sumOf(text);
    const filling = Buffer.alloc(padded(sum.length) - sum.length);
    if (!last.equals(Buffer.concat([headerOf(sumName, sum.length), sum, filling, ending])))
      throw damaged(file, `the end of an archive with ${sum.toString().trim()}`, 'something else');
    return { file, manifest, places: new Map(layout.places.map((place) => [place.sha256, place])) };
  } finally {
    await handle.close();
  }
}

/** The most bytes of a member that are read into memory. */
const longestMember = 64 * 1024 ** 2;

/** Returns the content of a small member, and checks its digest. */
export async function readMember({ file, places }: OpenedBundle, sha256: string): Promise<Buffer> {
  const place = places.get(sha256);
  if (place === undefined) throw new Error(`no member ${sha256}`);
  if (place.size > longestMember) throw damaged(file, 'a small file', `${place.size} bytes`);
  const handle = await open(file, 'r');
  try {
    const content = await piece(handle, file, place.start, place.size);
    if (createHash('sha256').update(content).digest('hex') !== sha256)
      throw damaged(file, `sha256 ${sha256}`, 'it changed while it was read');
    return content;
  } finally {
    await handle.close();
  }
}

async function readManifest(
  handle: FileHandle,
  file: string,
  size: number,
): Promise<{ readonly manifest: Manifest; readonly text: Buffer }> {
  if (size < 2 * block) throw foreign(file, `a file of ${size} bytes`);
  const head = await piece(handle, file, 0, block);
  const bytes = Number.parseInt(head.toString('latin1', 124, 135), 8);
  if (!Number.isInteger(bytes) || bytes < 1 || !headerOf(manifestName, bytes).equals(head))
    throw foreign(file, 'another kind of file');
  if (bytes > longestManifest || block + padded(bytes) > size)
    throw damaged(file, 'a manifest within the file', `${bytes} bytes`);
  const text = await piece(handle, file, block, bytes);
  const { manifest, schema } = parseManifest(text.toString());
  await checkFilling(handle, file, block, bytes);
  if (manifest !== undefined) return { manifest, text };
  if (typeof schema === 'number' && schema !== 1) throw newer(file, schema);
  throw damaged(file, 'a consistent manifest', 'an inconsistent one');
}

async function checkMember(
  handle: FileHandle,
  file: string,
  place: Place,
  { signal }: OpenOptions,
): Promise<void> {
  const name = memberName(place);
  const head = await piece(handle, file, place.start - block, block);
  if (!head.equals(headerOf(name, place.size))) throw damaged(file, `the header of ${name}`, 'another one');
  const hash = createHash('sha256');
  const buffer = Buffer.alloc(1 << 20);
  for (let at = 0; at < place.size;) {
    signal.throwIfAborted();
    const { bytesRead } = await handle.read(
      buffer,
      0,
      Math.min(buffer.length, place.size - at),
      place.start + at,
    );
    if (bytesRead === 0) throw damaged(file, name, 'the file ends within it');
    hash.update(buffer.subarray(0, bytesRead));
    at += bytesRead;
  }
  const seen = hash.digest('hex');
  if (seen !== place.sha256) throw damaged(file, `sha256 ${place.sha256}`, seen);
  await checkFilling(handle, file, place.start, place.size);
}

async function checkFilling(handle: FileHandle, file: string, start: number, size: number): Promise<void> {
  const filling = await piece(handle, file, start + size, padded(size) - size);
  if (filling.some((byte) => byte !== 0)) throw damaged(file, 'zero bytes after each file', 'other bytes');
}

async function piece(handle: FileHandle, file: string, start: number, size: number): Promise<Buffer> {
  const buffer = Buffer.alloc(size);
  let at = 0;
  while (at < size) {
    const { bytesRead } = await handle.read(buffer, at, size - at, start + at);
    if (bytesRead === 0) throw damaged(file, `${start + size} bytes`, 'it is shorter');
    at += bytesRead;
  }
  return buffer;
}

const again = 'copy it again, or make it again: azp-fleet bundle';

function damaged(file: string, expected: string, seen: string): FleetError {
  return usageError({
    code: 'bundle.damaged',
    what: `the bundle ${file} is damaged or was changed`,
    expected,
    seen,
    next: again,
  });
}

function foreign(file: string, seen: string): FleetError {
  return usageError({
    code: 'bundle.file',
    what: `${file} is not a bundle`,
    expected: 'a file that azp-fleet bundle wrote',
    seen,
    next: again,
  });
}

function newer(file: string, schema: number): FleetError {
  return usageError({
    code: 'bundle.version',
    what: `the bundle ${file} has a schema that this azp-fleet (${version}) does not read`,
    expected: 'schema 1',
    seen: `schema ${schema}`,
    next: 'use the release that made it, or make the bundle again',
  });
}

function unreadable(file: string, seen: string, cause: unknown): FleetError {
  return usageError(
    {
      code: 'bundle.file',
      what: `the bundle ${file} cannot be read`,
      seen,
      next: 'name the file that azp-fleet bundle wrote',
    },
    cause,
  );
}
