import { open, readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { writeAtomic } from '../machine/files.ts';

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
  /** Written before systemd is asked to start it: from here on the unit may run. */
  readonly startingAt?: number;
  /** Written when systemd has started it. Managers up to 0.1 know no other sign, and look for `pid`. */
  readonly startedAt?: number;
  /** The agent's main process; 0 when it had ended before it could be asked for. */
  readonly pid?: number;
  /** What systemd calls this run of the unit, whose name the slot's next run has, too. */
  readonly invocation?: string;
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

  /** Undefined: nothing was written, or not the whole. Rejects when it cannot be read: of that nothing follows. */
  async read(): Promise<HostRun | undefined> {
    const text = await readFile(join(this.path, 'run.json'), 'utf8').catch(unlessMissing(''));
    const run = parsed(text);
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

/** The ids of the runs that are kept. Rejects when they cannot be read: a run that is not listed counts as gone. */
export async function keptRuns(directory: string, isRun: (name: string) => boolean): Promise<string[]> {
  return (await readdir(directory).catch(unlessMissing<string[]>([]))).filter(isRun);
}

function unlessMissing<Value>(otherwise: Value): (error: NodeJS.ErrnoException) => Value {
  return (error) => {
    if (error.code === 'ENOENT') return otherwise;
    throw error;
  };
}

function parsed(text: string): KeptRun | undefined {
  try {
    return JSON.parse(text) as KeptRun;
  } catch {
    return undefined;
  }
}
