import { open, opendir, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { constants } from 'node:fs';
import { isObject } from '../../shared/base/objects.ts';
import { readerBounds } from '../../shared/base/reader-bounds.ts';
import { readTail, readText, writeAtomic } from '../machine/files.ts';
import type { FileTail, TailLimits } from '../../shared/engine/tails.ts';

/** The saved state of one run on the host. */
export interface HostRun {
  /** `host-RUN`, instead of a container's id. */
  readonly id: string;
  readonly agent: string;
  /** Owner of its files. */
  readonly uid: number;
  readonly gid: number;
  /** The agent's folder. */
  readonly root: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  /** Written before the start: from then on the unit may run. */
  readonly startingAt?: number;
  /** Written after the start. Managers up to 0.1 read only this and `pid`. */
  readonly startedAt?: number;
  /** The agent's main process; 0 when it exited before the query. */
  readonly pid?: number;
  /** systemd's id of this run of the unit; the next run of the slot has the same unit name. */
  readonly invocation?: string;
}

/** Managers up to 0.1 had the agent in the run's folder; such a run continues after an upgrade. */
type KeptRun = Omit<HostRun, 'root'> & Partial<Pick<HostRun, 'root'>>;

/** The folder of one run: `run.json`, `arguments.json`, `output.log`. */
export class RunFolder {
  readonly path: string;

  constructor(directory: string, id: string) {
    this.path = join(directory, id);
  }

  /** File with the arguments of systemd-run. */
  get arguments(): string {
    return join(this.path, 'arguments.json');
  }

  get log(): string {
    return join(this.path, 'output.log');
  }

  /** Reads the state. Undefined: it was not, or not completely, written. Rejects when it cannot be read. */
  async read(): Promise<HostRun | undefined> {
    const text = await readText(join(this.path, 'run.json')).catch(unlessMissing(''));
    const run = parsed(text);
    return run === undefined ? undefined : { ...run, root: run.root ?? join(this.path, 'root') };
  }

  async write(run: HostRun): Promise<void> {
    await writeAtomic(join(this.path, 'run.json'), JSON.stringify(run));
  }

  /** systemd creates the log when it starts the unit. */
  async hasLog(): Promise<boolean> {
    return stat(this.log).then(
      () => true,
      () => false,
    );
  }

  /** Returns the end of the output; empty without a file. A job may write any amount. */
  async output(): Promise<string> {
    return readTail(this.log, readerBounds.hostRunOutput.bytes).catch(() => '');
  }

  /** Returns the time of the last output, milliseconds since the epoch: the best estimate of the exit after a reboot. */
  async lastWrite(otherwise: number): Promise<number> {
    return stat(this.log).then(
      ({ mtimeMs }) => mtimeMs,
      () => otherwise,
    );
  }

  /** Reads the log from this byte. */
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

/** Lists the ids of saved runs. Rejects when they cannot be read: a run that is not listed counts as removed. */
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
    const run = JSON.parse(text) as unknown;
    return isRun(run) ? run : undefined;
  } catch {
    return undefined;
  }
}

function isRun(found: unknown): found is KeptRun {
  if (!isObject(found) || !isObject(found['labels'])) return false;
  const { id, agent, uid, gid, createdAt, labels } = found;
  return (
    [id, agent, ...Object.values(labels)].every((each) => typeof each === 'string') &&
    [uid, gid].every((each) => Number.isSafeInteger(each)) &&
    typeof createdAt === 'number' &&
    Number.isFinite(createdAt)
  );
}

/** Most names that are read: the folder's owner may have created any number. */
const longestList = 1_000;

/**
 * Returns the ends of regular files with accepted names in a folder, sorted by name. The folder belongs to the job's user,
 * and root reads it: no link is followed, and no file is opened that could belong to another user.
 */
export async function folderTails(
  folder: string,
  accepts: (name: string) => boolean,
  limits: TailLimits,
): Promise<readonly FileTail[]> {
  const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants;
  const directory = await open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  try {
    // Through the open folder: its path may have changed.
    const inside = `/proc/self/fd/${directory.fd}`;
    const names = (await listed(inside)).filter(accepts).sort().slice(0, limits.files);
    const tails: FileTail[] = [];
    for (const name of names) {
      const tail = await tailOf(`${inside}/${name}`, name, limits.fileBytes).catch(() => undefined);
      if (tail !== undefined) tails.push(tail);
    }
    return tails;
  } finally {
    await directory.close();
  }
}

async function listed(folder: string): Promise<readonly string[]> {
  const names: string[] = [];
  for await (const { name } of await opendir(folder)) {
    names.push(name);
    if (names.length >= longestList) break;
  }
  return names;
}

async function tailOf(path: string, name: string, limit: number): Promise<FileTail | undefined> {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  const file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    const found = await file.stat();
    if (!found.isFile() || found.nlink !== 1) return undefined;
    const end = Buffer.alloc(Math.min(found.size, limit));
    const { bytesRead } = await file.read(end, 0, end.length, found.size - end.length);
    return { name, bytes: found.size, end: end.subarray(0, bytesRead) };
  } finally {
    await file.close();
  }
}
