import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { type OwnFiles, withoutInclude } from './own-include.ts';

/** Bits of a file's mode that ssh refuses in a configuration. */
const othersWrite = 0o022;

/**
 * Configurations to give to `ssh -F` that say what ~/.ssh/config and /etc/ssh/ssh_config say, without what we have written
 * there ourselves: an inventory that says less than before must not be completed by its own older words.
 */
export class StandIn {
  readonly #files: OwnFiles;
  #folder: string | undefined;
  #count = 0;

  constructor(files: OwnFiles) {
    this.#files = files;
  }

  /** Whether ~/.ssh/config includes hosts of ours. */
  get isNeeded(): boolean {
    const text = this.#own();
    return text !== undefined && withoutInclude(text, this.#files) !== text;
  }

  /**
   * A file that has `above` before all the rest. Undefined where ssh would refuse ~/.ssh/config: its own complaint is the
   * better one. Lines of ~/.ssh/config keep their numbers where nothing is above them.
   */
  file(above = ''): string | undefined {
    if (((statSync(this.#files.config, { throwIfNoEntry: false })?.mode ?? 0) & othersWrite) !== 0)
      return undefined;
    const own = this.#own() ?? '';
    const rest = withoutInclude(own, this.#files);
    const blank = '\n'.repeat(above === '' ? own.split('\n').length - rest.split('\n').length : 0);
    this.#folder ??= mkdtempSync(join(tmpdir(), 'azp-ssh-stand-in-'));
    const file = join(this.#folder, String((this.#count += 1)));
    const before = above === '' ? blank : `${Buffer.from(above).toString('latin1')}\nMatch all\n`;
    const text = `${before}${rest}\nMatch all\nInclude /etc/ssh/ssh_config\n`;
    writeFileSync(file, text, { encoding: 'latin1', mode: 0o600 });
    return file;
  }

  remove(): void {
    if (this.#folder !== undefined) rmSync(this.#folder, { recursive: true, force: true });
    this.#folder = undefined;
  }

  #own(): string | undefined {
    try {
      return readFileSync(this.#files.config, 'latin1');
    } catch {
      return undefined;
    }
  }
}
