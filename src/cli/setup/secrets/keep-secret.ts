import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';

import type { Context } from '../../../shared/base/context.ts';
import { codeOf, usageError } from '../../../shared/base/errors.ts';
import type { Secret } from '../../../shared/base/secret.ts';

/** Where a secret that was pasted is kept: `~/.config/azp-fleet/NAME`, or below $XDG_CONFIG_HOME. */
export function secretFile({ env, home }: Pick<Context, 'env' | 'home'>, name: string): string {
  return path.join(env['XDG_CONFIG_HOME'] || path.join(home, '.config'), 'azp-fleet', name);
}

/** Writes it whole or not at all, readable by its owner only. An older one is replaced. */
export function keepSecret(file: string, secret: Secret): void {
  const written = `${file}.${process.pid}`;
  try {
    mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
    rmSync(written, { force: true });
    writeFileSync(written, `${secret.reveal().trim()}\n`, { mode: 0o600, flag: 'wx' });
    renameSync(written, file);
  } catch (error) {
    rmSync(written, { force: true });
    throw usageError(
      {
        code: 'setup.secret',
        what: `the secret cannot be kept in ${file}`,
        seen: codeOf(error),
        next: 'name another place for it, or make the folder one that you can write',
      },
      error,
    );
  }
}
