import type { Boundary, Killable } from './boundary.ts';
import type { Disk } from './disk.ts';

type Given = readonly unknown[];

/** Node's file functions on a disk of the world, for one process. Writes to the manager's state can be cut off at each step. */
export class MachineFiles {
  readonly #disk: Disk;
  readonly #boundary: Boundary;

  constructor(disk: Disk, boundary: Boundary) {
    this.#disk = disk;
    this.#boundary = boundary;
  }

  async call(daemon: Killable, path: string, name: string, given: Given): Promise<unknown> {
    if (daemon.over) return new Promise(() => undefined);
    const work = this.#functions[name];
    if (work === undefined) throw new Error(`the model has no file function ${name}`);
    if (path.startsWith('/state/') && writes.has(name))
      return this.#boundary.call(daemon, `file.${name}`, () => work(path, given, daemon));
    return work(path, given, daemon);
  }

  readonly #functions: Readonly<Record<string, (path: string, given: Given, daemon: Killable) => unknown>> = {
    readFile: (path, [, encoding]) => {
      const content = this.#disk.read(path);
      return encoding === undefined ? content : content.toString('utf8');
    },
    writeFile: (path, [, content]) => this.#disk.write(path, bytes(content)),
    appendFile: (path, [, content]) => this.#disk.write(path, bytes(content), { append: true }),
    mkdir: (path) => this.#disk.folder(path),
    rm: (path) => this.#disk.remove(path),
    rename: (path, [, to]) => this.#disk.rename(path, worldPath(to)),
    link: (path, [, to]) => this.#disk.link(path, worldPath(to)),
    readdir: (path) => this.#disk.names(path),
    stat: (path) => this.#disk.stat(path),
    access: (path) => void this.#disk.stat(path),
    chmod: () => undefined,
    readlink: (path) => this.#disk.read(path).toString(),
    open: (path, [, flags], daemon) => this.#open(path, flags === 'wx', daemon),
  };

  #open(path: string, isNew: boolean, daemon: Killable): object {
    if (isNew) this.#disk.create(path);
    else this.#disk.stat(path);
    const change = (name: string, work: () => void): Promise<void> =>
      this.#boundary.call(daemon, `file.${name}`, work);
    return {
      writeFile: (content: unknown) => change('write', () => this.#disk.write(path, bytes(content))),
      appendFile: (content: unknown) =>
        change('append', () => this.#disk.write(path, bytes(content), { append: true })),
      sync: () => change('sync', () => this.#disk.sync(path)),
      close: () => Promise.resolve(),
      stat: () => Promise.resolve(this.#disk.stat(path)),
      read: (target: Buffer, offset: number, length: number, at: number) =>
        Promise.resolve({ bytesRead: this.#disk.read(path).copy(target, offset, at, at + length) }),
    };
  }
}

const writes: ReadonlySet<string> = new Set(['writeFile', 'appendFile', 'rename']);

/** Returns the path without the prefix of its process. */
function worldPath(path: unknown): string {
  return String(path).replace(/^\/model\/\d+/, '');
}

function bytes(content: unknown): Buffer {
  return Buffer.isBuffer(content) ? content : Buffer.from(String(content));
}
