import { appendFileSync, closeSync, mkdirSync, openSync, readFileSync, readSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

import { type KnownHostLine, lineMatches, parseKnownHosts } from './known-hosts.ts';

/** One known_hosts file, read again only when somebody else has changed it. */
export class KnownHostsFile {
  readonly #path: string;
  #stamp = '';
  /** Lines with one plain name or several; the many of a large fleet are found without looking at each. */
  #byName = new Map<string, KnownHostLine[]>();
  /** Hashed names and patterns: each has to be tried. */
  #others: KnownHostLine[] = [];

  constructor(path: string) {
    this.#path = path;
  }

  /** The lines that are about any of the names. */
  about(names: readonly string[]): KnownHostLine[] {
    this.#refresh();
    const plain = names.flatMap((name) => this.#byName.get(name) ?? []);
    const others = this.#others.filter((line) => names.some((name) => lineMatches(line, name)));
    return [...new Set([...plain, ...others])].sort((a, b) => a.line - b.line);
  }

  /** Appends the text of one line, whose plain name is given. Throws when the file cannot be written. */
  append(text: string, name: string): void {
    this.#refresh();
    mkdirSync(dirname(this.#path), { recursive: true, mode: 0o700 });
    appendFileSync(this.#path, this.#endsOpen() ? `\n${text}` : text, { mode: 0o600 });
    for (const line of parseKnownHosts(text, this.#path)) this.#index({ ...line, names: [name] });
    this.#stamp = this.#now();
  }

  #refresh(): void {
    const stamp = this.#now();
    if (stamp === this.#stamp) return;
    this.#stamp = stamp;
    this.#byName = new Map();
    this.#others = [];
    for (const line of parseKnownHosts(textOf(this.#path), this.#path)) this.#index(line);
  }

  #index(line: KnownHostLine): void {
    if (line.names.some((name) => /[*?!|]/.test(name))) {
      this.#others.push(line);
      return;
    }
    for (const name of line.names.map((each) => each.toLowerCase())) {
      const lines = this.#byName.get(name);
      if (lines === undefined) this.#byName.set(name, [line]);
      else lines.push(line);
    }
  }

  /** Changes whenever the file does; empty without a file. */
  #now(): string {
    const stat = statSync(this.#path, { throwIfNoEntry: false });
    return stat === undefined ? '' : `${stat.ino}:${stat.size}:${stat.mtimeMs}`;
  }

  /** Whether the last line lacks its newline: appended to as it is, two entries would become one. */
  #endsOpen(): boolean {
    const size = statSync(this.#path, { throwIfNoEntry: false })?.size ?? 0;
    if (size === 0) return false;
    const last = Buffer.alloc(1);
    const descriptor = openSync(this.#path, 'r');
    try {
      readSync(descriptor, last, 0, 1, size - 1);
    } finally {
      closeSync(descriptor);
    }
    return last.toString() !== '\n';
  }
}

/** As with OpenSSH, a file that cannot be read is the same as none. */
function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
