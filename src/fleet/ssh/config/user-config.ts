import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { posix, join } from 'node:path';

import { SSHConfig } from 'ssh-config';

import { ourDefaults } from './options.ts';

/** What of ~/.ssh is written by us for plain ssh. Absolute paths. */
export interface OwnFiles {
  /** The user's configuration, with one Include of ours at its top. */
  readonly config: string;
  /** The fleet's hosts. */
  readonly hosts: string;
  /** The keys that the inventory pins, as a known_hosts file. */
  readonly keys: string;
}

export function ownFiles(home: string): OwnFiles {
  const folder = posix.join(home, '.ssh');
  return {
    config: posix.join(folder, 'config'),
    hosts: posix.join(folder, 'azp-fleet.config'),
    keys: posix.join(folder, 'azp-fleet.known_hosts'),
  };
}

const words = '# The hosts of azp-fleet; "azp-fleet ssh-config --remove" takes these lines away\n';

/** `Include …`: the line without which ssh does not know our file. */
export function includeLine({ hosts }: OwnFiles): string {
  return new SSHConfig().append({ Include: escaped(hosts) }).toString();
}

/**
 * The configuration with our lines at its top, each byte of the rest as it was. They stand before all else: within a
 * block of Host an Include counts for that block alone, and of each option ssh takes the first value. A character of
 * `latin1` is a byte. Pure.
 */
export function withInclude(latin1: string, files: OwnFiles): string {
  return `${ourLines(files)}${withoutInclude(latin1, files)}`;
}

/** The same without them, wherever they stand, and whether or not somebody has touched what is around them. Pure. */
export function withoutInclude(latin1: string, files: OwnFiles): string {
  const all = ourLines(files);
  const line = inBytes(includeLine(files));
  return [all, words + line, line].reduce(cutLines, latin1);
}

function ourLines(files: OwnFiles): string {
  return `${words}${inBytes(includeLine(files))}\n`;
}

/** Without `ours` where it begins a line. */
function cutLines(text: string, ours: string): string {
  const rest = text.replaceAll(`\n${ours}`, '\n');
  return rest.startsWith(ours) ? rest.slice(ours.length) : rest;
}

function inBytes(text: string): string {
  return Buffer.from(text).toString('latin1');
}

/** A word as ssh reads it back; the quotes that blanks need are the package's to write. */
export function escaped(word: string): string {
  return word.replaceAll(/[\\"']/g, String.raw`\$&`);
}

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
