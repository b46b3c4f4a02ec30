import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { ourDefaults } from './build.ts';

/**
 * Configurations with our defaults below all that they say: as with ssh's own files, the first value wins, so that
 * whichever of ours comes out is set nowhere. A folder of ours holds them while we run.
 */
export class SilentFile {
  readonly #usual: readonly string[];
  readonly #written = new Map<string, string>();
  #folder: string | undefined;

  /** `usual`: the user's file and the system's, as far as they exist. */
  constructor(usual: readonly string[]) {
    this.#usual = usual;
  }

  /** The file to give to `ssh -F` instead of this one; undefined: instead of the usual ones. */
  path(sshConfig: string | undefined): string {
    const known = this.#written.get(sshConfig ?? '');
    if (known !== undefined) return known;
    this.#folder ??= mkdtempSync(join(tmpdir(), 'azp-ssh-config-'));
    const file = join(this.#folder, String(this.#written.size));
    const parts = (sshConfig === undefined ? this.#usual : [sshConfig]).map((each) =>
      readFileSync(each, 'utf8'),
    );
    writeFileSync(file, [...parts, below].join('\nMatch all\n'), { mode: 0o600 });
    this.#written.set(sshConfig ?? '', file);
    return file;
  }

  remove(): void {
    if (this.#folder !== undefined) rmSync(this.#folder, { recursive: true, force: true });
    this.#folder = undefined;
    this.#written.clear();
  }
}

const below = `StrictHostKeyChecking accept-new
ServerAliveInterval ${ourDefaults.aliveIntervalS}
`;
