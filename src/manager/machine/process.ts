import { readFile } from 'node:fs/promises';

/** One process of this machine, from /proc. */
export interface ProcessFacts {
  readonly pid: number;
  /** Pid of its parent. */
  readonly parent: number;
  /** Real user id. */
  readonly uid: number;
  /** Its short name, at most 15 characters; a process chooses its name. */
  readonly comm: string;
  /** `D`: it hangs in the kernel; `Z`: it exited. */
  readonly state: string;
  /** Clock ticks from the boot to its start: with the pid they identify a process, since pids are reused. */
  readonly startTicks: number;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  /** Paths of its control groups below the machine's own, each once: `/system.slice/x.service`. */
  readonly cgroups: readonly string[];
}

/** Reads a process. Undefined: it does not exist, or is hidden. */
export type ReadProcess = (pid: number) => Promise<ProcessFacts | undefined>;

/** Ticks per second in /proc on all supported architectures. */
const ticksPerSecond = 100;
/** Positions among the fields after the name; see proc(5). */
const parentField = 1;
const startField = 19;

/**
 * Reads /proc/PID, except files that hang with the process: `cmdline`, `environ` and `maps` wait for its memory lock.
 * `proc`: the folder; `now`: milliseconds since the epoch.
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
    // A name may contain brackets and newlines; the text after the last bracket is the kernel's.
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

/** Parses the paths of lines like `4:memory:/system.slice/x.service` and `0::/system.slice/x.service`. */
function pathsIn(cgroup: string): readonly string[] {
  return cgroup.split('\n').flatMap((line) => line.split(':').slice(2).join(':') || []);
}

/** Removes the control group of process 1, which prefixes all paths if the machine is a container. */
function below(first: readonly string[], paths: readonly string[]): readonly string[] {
  const bases = first
    .map((path) => path.replace(/\/(?:init\.scope)?$/u, ''))
    .sort((a, b) => b.length - a.length);
  const shortened = paths.map((path) => {
    const base = bases.find((each) => path === each || path.startsWith(`${each}/`));
    return base === undefined ? path : path.slice(base.length) || '/';
  });
  return [...new Set(shortened)];
}
