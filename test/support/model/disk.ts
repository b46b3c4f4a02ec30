import { dirname } from 'node:path';
import type { Chance } from './chance.ts';

interface File {
  content: Buffer;
  /** Its content on the disk. */
  durable: Buffer;
  mtimeMs: number;
}

/**
 * The files of a machine. Contents and names are in memory until they are synced: after a power cut each is either the
 * latest or the last synced one.
 */
export class Disk {
  /** Writes fail with ENOSPC. */
  isFull = false;
  /** Time of the last refused write; milliseconds of the world. */
  refusedAt = Number.NEGATIVE_INFINITY;
  /** Called before a file replaces another. */
  onReplace: (path: string, before: Buffer, after: Buffer) => void = () => undefined;
  #files = new Map<string, File>();
  #durable = new Map<string, File>();
  readonly #folders = new Set<string>(['/']);
  readonly #now: () => number;
  readonly #wall: () => number;

  /** `now`: milliseconds of the world; `wall`: dates of files. */
  constructor(now: () => number, wall: () => number) {
    this.#now = now;
    this.#wall = wall;
  }

  read(path: string): Buffer {
    return this.#file(path).content;
  }

  write(path: string, content: Buffer, options: { readonly append?: boolean } = {}): void {
    this.#requireFolder(path);
    if (this.isFull) {
      this.refusedAt = this.#now();
      throw failure('ENOSPC', path);
    }
    const file = this.#files.get(path) ?? { content: empty, durable: empty, mtimeMs: 0 };
    file.content = options.append === true ? Buffer.concat([file.content, content]) : content;
    file.mtimeMs = this.#wall();
    this.#files.set(path, file);
  }

  /** Creates an empty file; fails if it exists. */
  create(path: string): void {
    if (this.#files.has(path)) throw failure('EEXIST', path);
    this.write(path, empty);
  }

  /** Syncs the content of a file, or the names in a folder. */
  sync(path: string): void {
    const file = this.#files.get(path);
    if (file !== undefined) {
      file.durable = file.content;
      return;
    }
    for (const known of this.#durable.keys()) if (dirname(known) === path) this.#durable.delete(known);
    for (const [known, each] of this.#files) if (dirname(known) === path) this.#durable.set(known, each);
  }

  rename(from: string, to: string): void {
    if (this.#folders.has(from)) {
      for (const path of this.#below(from)) this.#move(path, to + path.slice(from.length));
      this.#folders.delete(from);
      this.folder(to);
      return;
    }
    this.#move(from, to);
  }

  link(from: string, to: string): void {
    if (this.#files.has(to)) throw failure('EEXIST', to);
    this.#files.set(to, this.#file(from));
  }

  remove(path: string): void {
    this.#files.delete(path);
    for (const each of this.#below(path)) this.#files.delete(each);
    for (const each of this.#folders)
      if (each === path || each.startsWith(`${path}/`)) this.#folders.delete(each);
  }

  folder(path: string): void {
    for (let each = path; !this.#folders.has(each); each = dirname(each)) this.#folders.add(each);
  }

  names(path: string): string[] {
    if (!this.#folders.has(path)) throw failure('ENOENT', path);
    const all = [...this.#files.keys(), ...this.#folders].filter((each) => each !== path);
    return all
      .filter((each) => dirname(each) === path)
      .map((each) => each.slice(path.length).replace('/', ''));
  }

  copy(from: string, to: string): void {
    this.folder(to);
    for (const path of this.#below(from)) this.write(to + path.slice(from.length), this.read(path));
  }

  stat(path: string): { readonly mtimeMs: number; readonly size: number; readonly mode: number } {
    if (this.#folders.has(path)) return { mtimeMs: this.#wall(), size: 0, mode: 0o40755 };
    const { mtimeMs, content } = this.#file(path);
    return { mtimeMs, size: content.length, mode: 0o100600 };
  }

  has(path: string): boolean {
    return this.#files.has(path) || this.#folders.has(path);
  }

  cutPower(chance: Chance): void {
    const paths = new Set([...this.#files.keys(), ...this.#durable.keys()]);
    const left = new Map<string, File>();
    for (const path of [...paths].toSorted()) {
      const file = (chance.is(0.5) ? this.#files : this.#durable).get(path);
      if (file === undefined) continue;
      const content = file.content === file.durable || chance.is(0.5) ? file.content : torn(file, chance);
      left.set(path, { content, durable: content, mtimeMs: file.mtimeMs });
    }
    this.#files = left;
    this.#durable = new Map(left);
  }

  #move(from: string, to: string): void {
    this.#requireFolder(to);
    const file = this.#file(from);
    const before = this.#files.get(to);
    if (before !== undefined) this.onReplace(to, before.content, file.content);
    this.#files.delete(from);
    this.#files.set(to, file);
  }

  #file(path: string): File {
    const file = this.#files.get(path);
    if (file === undefined) throw failure('ENOENT', path);
    return file;
  }

  #below(path: string): string[] {
    return [...this.#files.keys()].filter((each) => each.startsWith(`${path}/`));
  }

  #requireFolder(path: string): void {
    if (!this.#folders.has(dirname(path))) throw failure('ENOENT', path);
  }
}

const empty = Buffer.alloc(0);

function torn({ content, durable }: File, chance: Chance): Buffer {
  return chance.is(0.5) ? durable : content.subarray(0, Math.floor(content.length * chance.real()));
}

function failure(code: string, path: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${code}: ${path}`), { code });
}
