import { closeSync, openSync, readSync } from 'node:fs';

import { codeOf, usageError, type FleetError } from '../../../shared/base/errors.ts';

/** A file of hosts is never half as large. */
const largest = 8 * 2 ** 20;

/** The text of a file that another program has written; never more of it than a file of hosts may have. */
export function readSource(
  file: string,
  shown: string,
  next = `check that the file is there: ls -l ${shown}`,
): string {
  const text = decode(readBytes(file, shown, next));
  if (text !== undefined) return text;
  throw unusable(shown, 'it is not a text file in UTF-8, or larger than 8 MiB');
}

export function unusable(shown: string, why: string, next?: string): FleetError {
  return usageError({
    code: 'inventory.import',
    step: 'inventory',
    what: `hosts cannot be read from ${shown}`,
    seen: why,
    ...(next === undefined ? {} : { next }),
  });
}

function readBytes(file: string, shown: string, next: string): Buffer {
  try {
    const open = openSync(file, 'r');
    try {
      const buffer = Buffer.alloc(largest + 1);
      let length = 0;
      for (let read = -1; read !== 0 && length < buffer.length; length += read)
        read = readSync(open, buffer, length, buffer.length - length, null);
      return buffer.subarray(0, length);
    } finally {
      closeSync(open);
    }
  } catch (error) {
    throw unusable(shown, codeOf(error), next);
  }
}

function decode(bytes: Buffer): string | undefined {
  if (bytes.length > largest) return undefined;
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return text.includes('\0') ? undefined : text;
  } catch {
    return undefined;
  }
}
