import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { posix, join } from 'node:path';

import { SSHConfig } from 'ssh-config';

import { ourDefaults } from './options.ts';

/** Files in ~/.ssh that azp-fleet writes for plain ssh. Absolute paths. */
export interface OwnFiles {
  /** The user's configuration, with our Include at its top. */
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

/** Returns the `Include …` line for our file. */
export function includeLine({ hosts }: OwnFiles): string {
  return new SSHConfig().append({ Include: escaped(hosts) }).toString();
}

/**
 * Adds our lines at the top of a configuration; other bytes stay unchanged. At the top, because an Include in a Host
 * block applies only to that block, and ssh uses the first value of each option. A character of `latin1` is a byte.
 * Pure.
 */
export function withInclude(latin1: string, files: OwnFiles): string {
  return `${ourLines(files)}${withoutInclude(latin1, files)}`;
}

/** Removes our lines from a configuration, wherever they are. Pure. */
export function withoutInclude(latin1: string, files: OwnFiles): string {
  const all = ourLines(files);
  const line = inBytes(includeLine(files));
  return [all, words + line, line].reduce(cutLines, latin1);
}

function ourLines(files: OwnFiles): string {
  return `${words}${inBytes(includeLine(files))}\n`;
}

/** Removes `ours` from a text at the beginning of lines. */
function cutLines(text: string, ours: string): string {
  const rest = text.replaceAll(`\n${ours}`, '\n');
  return rest.startsWith(ours) ? rest.slice(ours.length) : rest;
}

function inBytes(text: string): string {
  return Buffer.from(text).toString('latin1');
}

/** Escapes a word for ssh; the package `ssh-config` adds the quotes for spaces. */
export function escaped(word: string): string {
  return word.replaceAll(/[\\"']/g, String.raw`\$&`);
}

/** Mode bits that ssh rejects in a configuration. */
const othersWrite = 0o022;

/**
 * Creates files for `ssh -F` with ~/.ssh/config and /etc/ssh/ssh_config, without the lines that azp-fleet wrote: values
 * that the inventory no longer has must not come back from an older file.
 */
export class ConfigCopy {
  readonly #files: OwnFiles;
  #folder: string | undefined;
  #count = 0;

  constructor(files: OwnFiles) {
    this.#files = files;
  }

  /** Returns whether ~/.ssh/config includes hosts written by azp-fleet. */
  get isNeeded(): boolean {
    const text = this.#own();
    return text !== undefined && withoutInclude(text, this.#files) !== text;
  }

  /**
   * Creates a file with `above` before the rest. Returns undefined if ssh would reject ~/.ssh/config: its own message
   * is better. Lines of ~/.ssh/config keep their numbers if `above` is empty.
   */
  file(above = ''): string | undefined {
    if (((statSync(this.#files.config, { throwIfNoEntry: false })?.mode ?? 0) & othersWrite) !== 0)
      return undefined;
    const own = this.#own() ?? '';
    const rest = withoutInclude(own, this.#files);
    const blank = '\n'.repeat(above === '' ? own.split('\n').length - rest.split('\n').length : 0);
    this.#folder ??= mkdtempSync(join(tmpdir(), 'azp-ssh-copy-'));
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
 * Creates configurations with our defaults below their content: ssh uses the first value of an option, so a default in
 * its output is set by no file. The files exist while azp-fleet runs.
 */
export class DefaultsBelow {
  readonly #defaultFiles: readonly string[];
  readonly #written = new Map<string, string>();
  #folder: string | undefined;

  /** `defaultFiles`: the existing files of the user and of the system. */
  constructor(defaultFiles: readonly string[]) {
    this.#defaultFiles = defaultFiles;
  }

  /** Returns the file for `ssh -F` instead of this one; undefined: instead of the default ones. */
  path(sshConfig: string | undefined): string {
    const known = this.#written.get(sshConfig ?? '');
    if (known !== undefined) return known;
    this.#folder ??= mkdtempSync(join(tmpdir(), 'azp-ssh-config-'));
    const file = join(this.#folder, String(this.#written.size));
    const parts = (sshConfig === undefined ? this.#defaultFiles : [sshConfig]).map((each) =>
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
