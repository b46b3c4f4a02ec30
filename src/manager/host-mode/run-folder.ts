import { open, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { readJson, writeAtomic } from '../machine/files.ts';

/** What is kept of one run on the host, beside its files. */
export interface HostRun {
  /** `host-RUN`, in place of a container's id. */
  readonly id: string;
  readonly agent: string;
  /** Owner of its files. */
  readonly uid: number;
  readonly gid: number;
  readonly labels: Readonly<Record<string, string>>;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly startedAt?: number;
  /** The agent's main process; 0 when it ended before it could be asked for. */
  readonly pid?: number;
}

/** The folder of one run: `run.json`, `output.log`, and `root`, which the agent sees as its own. */
export class RunFolder {
  readonly path: string;

  constructor(directory: string, id: string) {
    this.path = join(directory, id);
  }

  get root(): string {
    return join(this.path, 'root');
  }

  get log(): string {
    return join(this.path, 'output.log');
  }

  async read(): Promise<HostRun | undefined> {
    return (await readJson(join(this.path, 'run.json'))) as HostRun | undefined;
  }

  async write(run: HostRun): Promise<void> {
    await writeAtomic(join(this.path, 'run.json'), JSON.stringify(run));
  }

  async output(): Promise<string> {
    return readFile(this.log, 'utf8').catch(() => '');
  }

  /** When the agent wrote last, milliseconds since the epoch: the nearest to its end that survives a reboot. */
  async lastWrite(otherwise: number): Promise<number> {
    return stat(this.log).then(
      ({ mtimeMs }) => mtimeMs,
      () => otherwise,
    );
  }

  /** What the log holds from this byte on. */
  async outputFrom(at: number): Promise<Buffer> {
    const file = await open(this.log).catch(() => undefined);
    if (file === undefined) return Buffer.alloc(0);
    try {
      const { size } = await file.stat();
      const buffer = Buffer.alloc(Math.max(0, size - at));
      await file.read(buffer, 0, buffer.length, at);
      return buffer;
    } finally {
      await file.close();
    }
  }
}
