import { type GpuUse, isDriversOwn, type GpuProcess, unexplainedMiB } from './gpu-use.ts';
import { foreignLine } from '../../shared/base/foreign-text.ts';
import { shortGpu } from '../../shared/health/checkup.ts';
import type { Cause } from '../model.ts';

/** What stands in the way of a job on a slot's GPUs. */
export type Judgement =
  | { readonly kind: 'clean' }
  /** Somebody else's: it lives. */
  | {
      readonly kind: 'held';
      readonly gpu: string;
      readonly by: readonly GpuProcess[];
      readonly memoryMiB: number | undefined;
    }
  /** Of a run of ours that has ended: it is being killed. */
  | { readonly kind: 'left'; readonly gpu: string; readonly by: readonly GpuProcess[] }
  /** Memory that nobody accounts for, or processes that cannot be seen. */
  | {
      readonly kind: 'unseen';
      readonly gpu: string;
      readonly by: readonly GpuProcess[];
      readonly memoryMiB: number | undefined;
    };

/** Whether a job of this slot would be alone on these GPUs with whom it shares them on purpose. Pure. */
export function judge(
  slot: string,
  uses: readonly GpuUse[],
  jobs: { readonly useDocker: boolean },
): Judgement {
  const found = uses.map((use) => judgeGpu(slot, use, jobs));
  for (const kind of ['held', 'left', 'unseen'] as const) {
    const worst = found.find((each) => each.kind === kind);
    if (worst !== undefined) return worst;
  }
  return { kind: 'clean' };
}

/** Processes of ended runs of ours, wherever they are: nobody wants them. Pure. */
export function leftOf(processes: readonly GpuProcess[]): readonly GpuProcess[] {
  return processes.filter(({ whose }) => whose.kind === 'run' && !whose.live);
}

function judgeGpu(slot: string, use: GpuUse, jobs: { readonly useDocker: boolean }): Judgement {
  const { gpu, isPart, processes } = use;
  const strangers = processes.filter((each) => isForeign(slot, each, use, jobs));
  const left = leftOf(processes);
  const hidden = hiddenMiB(use);
  // Of a part, its memory tells whether somebody is on it; who may be, the board's list does.
  if (isPart && hidden === undefined)
    return left.length > 0 ? { kind: 'left', gpu, by: left } : { kind: 'clean' };
  if (strangers.length > 0)
    return { kind: 'held', gpu, by: strangers, memoryMiB: isPart ? hidden : undefined };
  if (left.length > 0) return { kind: 'left', gpu, by: left };
  // Where a job may run, those may be its own.
  const mayBeJobs = isPart || hasJob(use);
  const unseen = mayBeJobs ? [] : processes.filter(({ whose }) => whose.kind === 'unseen');
  return hidden === undefined && unseen.length === 0
    ? { kind: 'clean' }
    : { kind: 'unseen', gpu, by: unseen, memoryMiB: hidden };
}

function isForeign(
  slot: string,
  { whose }: GpuProcess,
  use: GpuUse,
  jobs: { readonly useDocker: boolean },
): boolean {
  switch (whose.kind) {
    case 'run':
      // Beside it on the board, but in another part, is where a run belongs that has one.
      return whose.live && whose.slot !== slot && !use.sharers.has(whose.slot) && !use.isPart;
    case 'stranger':
      // Perhaps one that the job of another slot on this GPU has started: with Docker it may.
      return whose.container === undefined || !(jobs.useDocker && hasJob(use));
    default:
      return false;
  }
}

/** A job runs on it in a slot that shares it. */
function hasJob({ sharers }: GpuUse): boolean {
  return [...sharers.values()].some(({ busy }) => busy);
}

/** More memory than the driver's own that no process accounts for; undefined: none, or it cannot be told. */
function hiddenMiB(use: GpuUse): number | undefined {
  const { isPart, processes, memoryMiB, baselineMiB } = use;
  // A job that begins or ends between two questions would show as memory without a process.
  if (memoryMiB === undefined || hasJob(use)) return undefined;
  const rest = isPart ? memoryMiB : unexplainedMiB(memoryMiB, processes);
  return rest === undefined || isDriversOwn(rest, baselineMiB) ? undefined : rest;
}

/** How many are named. */
const mostNamed = 3;
const longestName = 60;
const dayMs = 24 * 3_600_000;

/** What names a process, and what the clock shows where people read it. */
interface Naming {
  /** `train.py` */
  readonly name: (pid: number) => string | undefined;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** The slot has several GPUs: which of them is told. */
  readonly tellGpu: boolean;
}

/** Why the slot waits, in words; undefined: nothing stands in its way. Pure. */
export function causeOf(judgement: Judgement, naming: Naming): Cause | undefined {
  if (judgement.kind === 'clean') return undefined;
  const { gpu, by } = judgement;
  const on = `waits: ${naming.tellGpu ? `${shortGpu(gpu)}: ` : ''}`;
  const who = named(by, naming);
  switch (judgement.kind) {
    case 'held':
      return {
        code: 'gpu.in-use',
        what: `${on}${amount(judgement.memoryMiB ?? sumMiB(by))} held by ${who}`,
        next: `wait until it ends, or ask whoever owns it to end it (${psOf(by)} on the host); the slot opens by itself`,
      };
    case 'left':
      return {
        code: 'gpu.left-behind',
        what: `${on}${amount(sumMiB(by))} held by what a job left, which was killed: ${who}`,
        next: 'wait: it is killed again; a process in state D hangs in the driver: drain the host, then azp-fleet reboot',
      };
    case 'unseen': {
      const pids = by.flatMap(({ pid }) => pid ?? []);
      const whom =
        pids.length === 0
          ? 'no process that can be seen'
          : `process ${pids.join(', ')}, which cannot be seen`;
      return {
        code: 'gpu.memory-held',
        what: `${on}${amount(judgement.memoryMiB ?? sumMiB(by))} held by ${whom}`,
        next: `see who has the GPU open on the host (fuser -v /dev/nvidia*); where nobody has, drain the host and reset it (nvidia-smi --gpu-reset -i ${gpu}) or reboot it (azp-fleet reboot)`,
      };
    }
    default:
      throw new Error(`no words for ${JSON.stringify(judgement satisfies never)}`);
  }
}

function psOf(by: readonly GpuProcess[]): string {
  return `ps -fp ${by
    .flatMap(({ pid }) => pid ?? [])
    .slice(0, mostNamed)
    .join(',')}`;
}

/** Those who hold most, one after the other. */
function named(by: readonly GpuProcess[], naming: Naming): string {
  const most = [...by].sort((a, b) => (b.usedMiB ?? 0) - (a.usedMiB ?? 0));
  const told = most.slice(0, mostNamed).map((each) => describe(each, naming));
  const others = most.length - told.length;
  return [...told, ...(others === 0 ? [] : [`${others} more`])].join('; ');
}

function describe({ process, whose }: GpuProcess, { name, now }: Naming): string {
  if (process === undefined) return 'a process that cannot be seen';
  const { pid, login, comm, state, startedAt } = process;
  const owner = whose.kind === 'run' ? `a job of slot ${whose.slot}` : login;
  const program = foreignLine(name(pid) ?? comm, longestName).trim();
  const container = whose.kind === 'stranger' && whose.container !== undefined;
  const where = container ? ` in container ${whose.container?.slice(0, 12)}` : '';
  const hangs = state === 'D' || state === 'Z' ? `, state ${state}` : '';
  return `${foreignLine(owner, longestName)}, ${program} (${pid}${hangs})${where} since ${moment(startedAt, now)}`;
}

function sumMiB(by: readonly GpuProcess[]): number | undefined {
  const known = by.flatMap(({ usedMiB }) => usedMiB ?? []);
  return known.length === 0 ? undefined : known.reduce((sum, each) => sum + each, 0);
}

function amount(mib: number | undefined): string {
  if (mib === undefined) return 'memory';
  return mib < 1024 ? `${mib} MiB` : `${(mib / 1024).toFixed(1)} GiB`;
}

/** `14:02`, or with its day when that is not within the last 24 hours; in the host's own time zone. */
function moment(at: number, now: number): string {
  const time = new Date(at);
  const two = (number: number): string => String(number).padStart(2, '0');
  const clock = `${two(time.getHours())}:${two(time.getMinutes())}`;
  if (now - at < dayMs) return clock;
  return `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())} ${clock}`;
}

/** nvidia-smi did not answer; where it goes on like that, the health of the GPUs tells why. */
export const processesUnknown: Cause = {
  code: 'gpu.tenants-unknown',
  what: 'nvidia-smi does not tell which processes are on the GPUs',
  next: 'wait: it is asked again; if this stays, try nvidia-smi --query-compute-apps=pid --format=csv on the host',
};
