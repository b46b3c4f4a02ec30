import { readFile } from 'node:fs/promises';

/** One process of this machine, as /proc shows it to everybody. */
export interface ProcessFacts {
  readonly pid: number;
  /** Of the process that started it, or that has taken it over. */
  readonly parent: number;
  /** Real user id. */
  readonly uid: number;
  /** Its short name, at most 15 characters: any process chooses its own. */
  readonly comm: string;
  /** `D`: it hangs in the kernel; `Z`: it has ended. */
  readonly state: string;
  /** Clock ticks from the boot to its start: with the pid they name one process, though pids are used again. */
  readonly startTicks: number;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  /** Paths of its control groups below the machine's own, each once: `/system.slice/x.service`. */
  readonly cgroups: readonly string[];
}

/** Undefined: there is no such process, or it cannot be seen. */
export type ReadProcess = (pid: number) => Promise<ProcessFacts | undefined>;

/** Ticks a second in /proc, on every architecture that we run on. */
const ticksPerSecond = 100;
/** Places among the fields after the name; see proc(5). */
const parentField = 1;
const startField = 19;

/**
 * Reads /proc/PID. Of files that hang while the process does (`cmdline`, `environ`, `maps` wait for its memory's lock) none is
 * read. `proc`: the folder; `now`: milliseconds since the epoch.
 */
export async function readProcess(
  pid: number,
  proc: string,
  now: () => number,
): Promise<ProcessFacts | undefined> {
  const read = (file: string): Promise<string> => readFile(`${proc}/${file}`, 'utf8');
  try {
    const [stat, status, cgroup, uptime, first] = await Promise.all([
      read(`${pid}/stat`),
      read(`${pid}/status`),
      read(`${pid}/cgroup`),
      read('uptime'),
      read('1/cgroup'),
    ]);
    // A name may hold brackets and line breaks; what follows the last bracket is the kernel's.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const [parent, startTicks] = [Number(fields[parentField]), Number(fields[startField])];
    const uid = Number(/^Uid:\t(\d+)\t/mu.exec(status)?.[1]);
    const upMs = Number.parseFloat(uptime) * 1000;
    if (![parent, startTicks, uid, upMs].every(Number.isFinite)) return undefined;
    return {
      pid,
      parent,
      uid,
      comm: stat.slice(stat.indexOf('(') + 1, stat.lastIndexOf(')')),
      state: fields[0] ?? '',
      startTicks,
      startedAt: now() - upMs + (startTicks / ticksPerSecond) * 1000,
      cgroups: below(pathsIn(first), pathsIn(cgroup)),
    };
  } catch {
    return undefined;
  }
}

/** Of lines `4:memory:/system.slice/x.service` and `0::/system.slice/x.service`. */
function pathsIn(cgroup: string): readonly string[] {
  return cgroup.split('\n').flatMap((line) => line.split(':').slice(2).join(':') || []);
}

/** A machine that is itself a container has the same beginning on all its paths: that of its first process. */
function below(first: readonly string[], paths: readonly string[]): readonly string[] {
  const bases = first
    .map((path) => path.replace(/\/(?:init\.scope)?$/u, ''))
    .sort((a, b) => b.length - a.length);
  const own = paths.map((path) => {
    const base = bases.find((each) => path === each || path.startsWith(`${each}/`));
    return base === undefined ? path : path.slice(base.length) || '/';
  });
  return [...new Set(own)];
}
