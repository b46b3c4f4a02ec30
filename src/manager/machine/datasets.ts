import { opendir, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Dataset } from '../../shared/contract/config.ts';
import type { Cause } from '../model.ts';

/** A network file system that does not answer within this time counts as missing. */
const timeoutMs = 10_000;

/** Content of a folder; undefined: it cannot be read. */
type Content = 'filled' | 'empty' | undefined;

/** Checks the folders that jobs mount. */
export class Datasets {
  readonly #datasets: readonly Dataset[];
  readonly #mountProblem: (path: string) => Promise<string | undefined>;
  readonly #read: (path: string) => Promise<Content>;
  /** Reads in progress. A read that hangs blocks a thread, so a folder has one at a time. */
  readonly #reading = new Map<string, Promise<Content>>();

  /** `mountProblem`: tells how the network mount of a folder fails. */
  constructor(
    datasets: readonly Dataset[],
    mountProblem: (path: string) => Promise<string | undefined>,
    read: (path: string) => Promise<Content> = readContent,
  ) {
    this.#datasets = datasets;
    this.#mountProblem = mountProblem;
    this.#read = read;
  }

  /** Returns the problem of the first dataset that has one. */
  async problem(): Promise<Cause | undefined> {
    for (const dataset of this.#datasets) {
      const found = await this.#problemOf(dataset);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  async #problemOf({ name, host, requireMount }: Dataset): Promise<Cause | undefined> {
    if (requireMount && !mountPoints(await readFile('/proc/self/mountinfo', 'utf8')).has(host)) {
      return unusable(name, `${host} is not mounted`, `mount it: mount ${host}`);
    }
    // Before the read, which blocks a thread of this process while the mount does not answer.
    const failed = await this.#mountProblem(host);
    if (failed !== undefined) return unusable(name, failed, 'check the file server and the mount');
    const read = await Promise.race([
      this.#readOnce(host),
      sleep(timeoutMs, 'late' as const, { ref: false }),
    ]);
    switch (read) {
      case 'filled':
        return undefined;
      case 'late':
        return unusable(name, `${host} does not answer`, 'check the file server and the mount');
      case 'empty':
        return unusable(name, `${host} is empty`, 'mount or fill it');
      default:
        return unusable(
          name,
          `${host} is not a readable folder`,
          'correct the path in the inventory, or create it',
        );
    }
  }

  #readOnce(path: string): Promise<Content> {
    const running = this.#reading.get(path);
    if (running !== undefined) return running;
    const read = this.#read(path).finally(() => this.#reading.delete(path));
    this.#reading.set(path, read);
    return read;
  }
}

/** Reads the first entry only: a folder may have millions of files. */
async function readContent(path: string): Promise<Content> {
  try {
    const folder = await opendir(path);
    const first = await folder.read();
    await folder.close();
    return first === null ? 'empty' : 'filled';
  } catch {
    return undefined;
  }
}

function unusable(name: string, what: string, next: string): Cause {
  return { code: 'dataset.unusable', what: `dataset ${name}: ${what}`, next };
}

/** Returns the mount points in the text of /proc/self/mountinfo. */
export function mountPoints(mountinfo: string): ReadonlySet<string> {
  return new Set(mountinfo.split('\n').map((line) => unescaped(line.split(' ')[4] ?? '')));
}

/** Unescapes a field of /proc/self/mountinfo: the kernel writes blanks, tabs, newlines and backslashes as octal numbers. */
export function unescaped(field: string): string {
  return field.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
}
