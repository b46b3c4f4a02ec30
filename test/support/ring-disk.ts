import { type NewFile, replaceBy, type RingFiles } from '../../src/manager/history/ring-files.ts';

/** A kill: nothing after it happens. */
class Killed extends Error {}

/** Files in memory, whose process is killed after a number of steps: each written byte, rename and removal is one. */
export class RingDisk implements RingFiles {
  readonly files = new Map<string, Buffer>();
  /** Steps until the kill; a new process sets it again. */
  left = Number.POSITIVE_INFINITY;
  /** Steps that were made. */
  steps = 0;
  appends = 0;

  size(path: string): Promise<number> {
    return Promise.resolve(this.files.get(path)?.length ?? 0);
  }

  async append(path: string, bytes: Buffer): Promise<void> {
    this.appends += 1;
    this.#write(path, bytes);
  }

  replace(path: string, slices: AsyncIterable<Buffer>): Promise<void> {
    return replaceBy(
      {
        create: async (next): Promise<NewFile> => {
          this.#step();
          this.files.set(next, Buffer.alloc(0));
          return {
            write: async (bytes) => this.#write(next, bytes),
            sync: async () => this.#step(),
            close: async () => undefined,
          };
        },
        rename: async (from, to) => {
          this.#step();
          this.files.set(to, this.files.get(from) ?? Buffer.alloc(0));
          this.files.delete(from);
        },
        remove: async (each) => {
          this.#step();
          this.files.delete(each);
        },
      },
      path,
      slices,
    );
  }

  async *slices(path: string, most: number, sliceBytes: number): AsyncGenerator<Buffer> {
    const file = this.files.get(path) ?? Buffer.alloc(0);
    for (let at = Math.max(0, file.length - most); at < file.length; at += sliceBytes)
      yield file.subarray(at, at + sliceBytes);
  }

  #write(path: string, bytes: Buffer): void {
    const written = bytes.subarray(0, Math.min(bytes.length, this.left));
    this.files.set(path, Buffer.concat([this.files.get(path) ?? Buffer.alloc(0), written]));
    this.left -= written.length;
    this.steps += written.length;
    if (written.length < bytes.length) throw new Killed();
  }

  #step(): void {
    if (this.left <= 0) throw new Killed();
    this.left -= 1;
    this.steps += 1;
  }
}
