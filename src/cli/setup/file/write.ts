import { linkSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';

import { usageError } from '../../../shared/base/errors.ts';

/**
 * Puts a whole file in place or nothing at all. An existing file is kept beside it as FILE.bak-N when `replace` is
 * set, and refused otherwise. Returns where the old one went.
 */
export function writeInventory(
  file: string,
  text: string,
  options: { readonly replace: boolean; readonly next?: string },
): string | undefined {
  const draft = path.join(path.dirname(file), `.${path.basename(file)}.${process.pid}.tmp`);
  try {
    writeFileSync(draft, text, { mode: 0o644, flag: 'wx' });
    const kept = options.replace ? keep(file) : undefined;
    if (options.replace) renameSync(draft, file);
    else linkSync(draft, file);
    return kept;
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === undefined) throw error;
    throw usageError(
      code === 'EEXIST'
        ? {
            code: 'init.exists',
            what: `${file} exists already`,
            next: options.next ?? 'name another file with --output FILE, or edit that one',
          }
        : { code: 'init.write', what: `${file} cannot be written`, seen: code },
      error,
    );
  } finally {
    rmSync(draft, { force: true });
  }
}

/** A second name for the old file, so that it is there at every moment. */
function keep(file: string): string | undefined {
  for (let number = 1; ; number += 1) {
    const name = `${file}.bak-${number}`;
    try {
      linkSync(file, name);
      return name;
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code;
      if (code === 'ENOENT') return undefined;
      if (code !== 'EEXIST') throw error;
    }
  }
}
