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
  /** The agent's own folder. */
  readonly root: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly startedAt?: number;
  /** The agent's main process; 0 when it ended before it could be asked for. */
  readonly pid?: number;
}

/** Managers up to 0.1 had the agent in the run's own folder; one that runs there goes on over the upgrade. */
type KeptRun = Omit<HostRun, 'root'> & Partial<Pick<HostRun, 'root'>>;

/** What the manager keeps of one run: `run.json`, `arguments.json`, `output.log`. */
export class RunFolder {
  readonly path: string;

  constructor(directory: string, id: string) {
    this.path = join(directory, id);
  }

  /** Of systemd-run. */
  get arguments(): string {
    return join(this.path, 'arguments.json');
  }

  get log(): string {
    return join(this.path, 'output.log');
  }

  async read(): Promise<HostRun | undefined> {
    const run = (await readJson(join(this.path, 'run.json'))) as KeptRun | undefined;
    return run === undefined ? undefined : { ...run, root: run.root ?? join(this.path, 'root') };
  }

  async write(run: HostRun): Promise<void> {
    await writeAtomic(join(this.path, 'run.json'), JSON.stringify(run));
  }

  /** systemd makes the log as it starts the unit. */
  async hasLog(): Promise<boolean> {
    return stat(this.log).then(
      () => true,
      () => false,
    );
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
