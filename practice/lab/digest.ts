import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** Twelve hex digits that change with any of the parts. */
export function digest(...parts: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 12);
}

/** The content of a file, or of a folder with everything below it. */
export function contents(path: string): unknown {
  if (!statSync(path).isDirectory()) return readFileSync(path, 'base64');
  return readdirSync(path)
    .sort()
    .map((name) => [name, contents(join(path, name))]);
}
