import { createHash } from 'node:crypto';
import { open, type FileHandle } from 'node:fs/promises';

import { codeOf, usageError, type FleetError } from '../../../shared/base/errors.ts';
import { version } from '../../../shared/base/version.ts';
import { longestManifest, parseManifest, type Manifest } from '../manifest.ts';
import { block, ending, headerOf, padded } from './header.ts';
import { layoutOf, manifestName, memberName, sumName, sumOf, type Place } from './layout.ts';

/** A bundle whose every byte has been looked at. */
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
 * Reads the manifest and checks every member against it, before anything is done with one. There is one way in which a bundle
 * can be written, and nothing else is taken: links, other names, other sizes and whatever comes behind are damage.
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

/** Bytes of what is read into memory at most. */
const longestMember = 64 * 1024 ** 2;

/** The content of a small member, of which the digest has been checked. */
export async function readMember({ file, places }: OpenedBundle, sha256: string): Promise<Buffer> {
  const place = places.get(sha256);
  if (place === undefined) throw new Error(`no member ${sha256}`);
  if (place.size > longestMember) throw damaged(file, 'a small file', `${place.size} bytes`);
  const handle = await open(file, 'r');
  try {
    const content = await piece(handle, file, place.start, place.size);
    if (createHash('sha256').update(content).digest('hex') !== sha256)
      throw damaged(file, `sha256 ${sha256}`, 'it has changed while it was used');
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
  throw damaged(file, 'a manifest that fits together', 'one that does not');
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
    if (bytesRead === 0) throw damaged(file, name, 'the file ends in it');
    hash.update(buffer.subarray(0, bytesRead));
    at += bytesRead;
  }
  const seen = hash.digest('hex');
  if (seen !== place.sha256) throw damaged(file, `sha256 ${place.sha256}`, seen);
  await checkFilling(handle, file, place.start, place.size);
}

async function checkFilling(handle: FileHandle, file: string, start: number, size: number): Promise<void> {
  const filling = await piece(handle, file, start + size, padded(size) - size);
  if (filling.some((byte) => byte !== 0)) throw damaged(file, 'nothing between its files', 'something');
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
    what: `the bundle ${file} is damaged, or somebody has changed it`,
    expected,
    seen,
    next: again,
  });
}

function foreign(file: string, seen: string): FleetError {
  return usageError({
    code: 'bundle.file',
    what: `${file} is no bundle`,
    expected: 'what azp-fleet bundle has written',
    seen,
    next: again,
  });
}

function newer(file: string, schema: number): FleetError {
  return usageError({
    code: 'bundle.version',
    what: `the bundle ${file} is of another kind than this azp-fleet (${version}) reads`,
    expected: 'schema 1',
    seen: `schema ${schema}`,
    next: 'use the release that made it, or make it again',
  });
}

function unreadable(file: string, seen: string, cause: unknown): FleetError {
  return usageError(
    {
      code: 'bundle.file',
      what: `the bundle ${file} cannot be read`,
      seen,
      next: 'name the file that azp-fleet bundle has written',
    },
    cause,
  );
}
