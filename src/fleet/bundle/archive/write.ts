import { createReadStream } from 'node:fs';
import { open, rename, rm, type FileHandle } from 'node:fs/promises';

import { codeOf, usageError } from '../../../shared/base/errors.ts';
import type { Manifest } from '../manifest.ts';
import { ending, headerOf, padded } from './header.ts';
import { manifestName, memberName, sumName, sumOf } from './layout.ts';

/**
 * Writes the archive; it appears under its name when it is whole. The same manifest and members make the same bytes.
 * `fileOf`: where the content of a member lies.
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
        next: 'name another file with -o, or make room',
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
