import type { Boundary, Mortal } from './boundary.ts';
import type { Disk } from './disk.ts';

type Given = readonly unknown[];

/** Node's file functions on a disk of the world, for one life. What writes to the manager's state can be cut off at each step. */
export class MachineFiles {
  readonly #disk: Disk;
  readonly #boundary: Boundary;

  constructor(disk: Disk, boundary: Boundary) {
    this.#disk = disk;
    this.#boundary = boundary;
  }

  async call(life: Mortal, path: string, name: string, given: Given): Promise<unknown> {
    if (life.over) return new Promise(() => undefined);
    const work = this.#functions[name];
    if (work === undefined) throw new Error(`the world's files know no ${name}`);
    if (path.startsWith('/state/') && writes.has(name))
      return this.#boundary.call(life, `file.${name}`, () => work(path, given, life));
    return work(path, given, life);
  }

  readonly #functions: Readonly<Record<string, (path: string, given: Given, life: Mortal) => unknown>> = {
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
    open: (path, [, flags], life) => this.#open(path, flags === 'wx', life),
  };

  #open(path: string, isNew: boolean, life: Mortal): object {
    if (isNew) this.#disk.create(path);
    else this.#disk.stat(path);
    const change = (name: string, work: () => void): Promise<void> =>
      this.#boundary.call(life, `file.${name}`, work);
    return {
      writeFile: (content: unknown) => change('write', () => this.#disk.write(path, bytes(content))),
      sync: () => change('sync', () => this.#disk.sync(path)),
      close: () => Promise.resolve(),
      stat: () => Promise.resolve(this.#disk.stat(path)),
      read: (target: Buffer, offset: number, length: number, at: number) =>
        Promise.resolve({ bytesRead: this.#disk.read(path).copy(target, offset, at, at + length) }),
    };
  }
}

const writes: ReadonlySet<string> = new Set(['writeFile', 'rename']);

/** Without the name by which a life sees the machine. */
function worldPath(path: unknown): string {
  return String(path).replace(/^\/model\/\d+/, '');
}

function bytes(content: unknown): Buffer {
  return Buffer.isBuffer(content) ? content : Buffer.from(String(content));
}
