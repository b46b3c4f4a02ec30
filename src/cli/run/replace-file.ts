import { chmodSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

import { usageError, whyNot } from '../../shared/base/errors.ts';

/**
 * Replaces a file atomically. It holds no secret, and another program may have to read it: the umask decides who can, or with
 * `isShared` everybody can.
 */
export function replaceFile(file: string, text: string, { isShared = false } = {}): void {
  const draft = join(dirname(file), `.${basename(file)}.${process.pid}.tmp`);
  try {
    writeFileSync(draft, text, { mode: 0o644, flag: 'wx' });
    if (isShared) chmodSync(draft, 0o644);
    renameSync(draft, file);
  } catch (error) {
    throw usageError(
      {
        code: 'output.file',
        what: `${file} cannot be written`,
        seen: whyNot(error),
        next: 'name a file in a folder that you can write to',
      },
      error,
    );
  } finally {
    rmSync(draft, { force: true });
  }
}
