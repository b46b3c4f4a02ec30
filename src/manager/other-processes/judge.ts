import { type GpuUse, isDriverMemory, type GpuProcess, unexplainedMiB } from './gpu-use.ts';
import { foreignLine } from '../../shared/base/foreign-text.ts';
import { shortGpu } from '../../shared/health/checkup.ts';
import { finding } from '../../shared/health/findings.ts';
import type { Finding } from '../../shared/health/verdict.ts';
import type { Cause } from '../model.ts';

/** What blocks a job on a slot's GPUs. */
export type Judgement =
  | { readonly kind: 'clean' }
  /** By another user's process, which is not killed. */
  | {
      readonly kind: 'held';
      readonly gpu: string;
      readonly by: readonly GpuProcess[];
      readonly memoryMiB: number | undefined;
    }
  /** By a process of an ended run, which is killed. */
  | { readonly kind: 'left'; readonly gpu: string; readonly by: readonly GpuProcess[] }
  /** By memory without a process, or by hidden processes. */
  | {
      readonly kind: 'hidden';
      readonly gpu: string;
      readonly by: readonly GpuProcess[];
      readonly memoryMiB: number | undefined;
    };

/** Judges whether these GPUs are free for a job of this slot, except for slots that share them. Pure. */
export function judge(
  slot: string,
  uses: readonly GpuUse[],
  jobs: { readonly useDocker: boolean },
): Judgement {
  const found = uses.map((use) => judgeGpu(slot, use, jobs));
  for (const kind of ['held', 'left', 'hidden'] as const) {
    const worst = found.find((each) => each.kind === kind);
    if (worst !== undefined) return worst;
  }
  return { kind: 'clean' };
}

/** Returns processes of ended runs. Pure. */
export function leftOf(processes: readonly GpuProcess[]): readonly GpuProcess[] {
  return processes.filter(({ owner }) => owner.kind === 'run' && !owner.live);
}

/** Processes in state D, by GPU, pid and start: since when every check has seen them so, monotonic. */
export type Hanging = ReadonlyMap<string, { readonly since: number; readonly on: GpuProcess }>;

/** Returns the processes that hang in the kernel now. Pure. */
export function hangingNow(before: Hanging, processes: readonly GpuProcess[], at: number): Hanging {
  return new Map(
    processes.flatMap((on) => {
      if (on.process?.state !== 'D') return [];
      const key = `${on.gpu} ${on.process.pid}@${on.process.startTicks}`;
      return [[key, { since: before.get(key)?.since ?? at, on }] as const];
    }),
  );
}

/** A process that reads a disk is in state D for seconds. */
const hangsAfterMin = 5;
const mostHanging = 20;

/** Returns a finding for each process that has hung for 5 min. Pure. */
export function hangingFindings(hanging: Hanging, at: number, minuteMs: number): readonly Finding[] {
  return [...hanging.values()]
    .filter(({ since }) => at - since >= hangsAfterMin * minuteMs)
    .slice(0, mostHanging)
    .flatMap(({ on: { gpu, process } }) => {
      if (process === undefined) return [];
      const name = foreignLine(process.comm, longestName).trim();
      const what = `process ${name} (${process.pid}) of ${foreignLine(process.login, longestName)} hangs in the kernel (state D) for more than ${hangsAfterMin} min`;
      return [finding('gpu.process-hangs', what, { gpu })];
    });
}

function judgeGpu(slot: string, use: GpuUse, jobs: { readonly useDocker: boolean }): Judgement {
  const { gpu, isPart, processes } = use;
  const conflicting = processes.filter((each) => isConflict(slot, each, use, jobs));
  const left = leftOf(processes);
  const hidden = hiddenMiB(use);
  // The memory of a MIG device shows whether it is in use; processes are listed by board.
  if (isPart && hidden === undefined)
    return left.length > 0 ? { kind: 'left', gpu, by: left } : { kind: 'clean' };
  if (conflicting.length > 0)
    return { kind: 'held', gpu, by: conflicting, memoryMiB: isPart ? hidden : undefined };
  if (left.length > 0) return { kind: 'left', gpu, by: left };
  // They may belong to a running job.
  const mayBeJobs = isPart || hasJob(use);
  const hiddenProcesses = mayBeJobs ? [] : processes.filter(({ owner }) => owner.kind === 'hidden');
  return hidden === undefined && hiddenProcesses.length === 0
    ? { kind: 'clean' }
    : { kind: 'hidden', gpu, by: hiddenProcesses, memoryMiB: hidden };
}

function isConflict(
  slot: string,
  { owner }: GpuProcess,
  use: GpuUse,
  jobs: { readonly useDocker: boolean },
): boolean {
  switch (owner.kind) {
    case 'run':
      // A run in another MIG device of the board is no conflict.
      return owner.live && owner.slot !== slot && !use.sharers.has(owner.slot) && !use.isPart;
    case 'foreign':
      // It may be a container of a job in another slot that shares the GPU, if jobs may use Docker.
      return owner.container === undefined || !(jobs.useDocker && hasJob(use));
    default:
      return false;
  }
}

/** Returns whether a slot that shares the GPU runs a job. */
function hasJob({ sharers }: GpuUse): boolean {
  return [...sharers.values()].some(({ busy }) => busy);
}

/** Returns memory in use without a process, beyond that of the driver; undefined: none, or not known. */
function hiddenMiB(use: GpuUse): number | undefined {
  const { isPart, processes, memoryMiB, baselineMiB } = use;
  // A job that starts or ends between two queries would look like memory without a process.
  if (memoryMiB === undefined || hasJob(use)) return undefined;
  const rest = isPart ? memoryMiB : unexplainedMiB(memoryMiB, processes);
  return rest === undefined || isDriverMemory(rest, baselineMiB) ? undefined : rest;
}

/** Most processes named in a message. */
const mostNamed = 3;
const longestName = 60;
const dayMs = 24 * 3_600_000;

/** Names and times for messages. */
interface Naming {
  /** `train.py` */
  readonly name: (pid: number) => string | undefined;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** The slot has several GPUs, so the message names the GPU. */
  readonly namesGpu: boolean;
}

/** Describes why the slot waits; undefined if it does not. Pure. */
export function causeOf(judgement: Judgement, naming: Naming): Cause | undefined {
  if (judgement.kind === 'clean') return undefined;
  const { gpu, by } = judgement;
  const on = `waits: ${naming.namesGpu ? `${shortGpu(gpu)}: ` : ''}`;
  const processes = named(by, naming);
  switch (judgement.kind) {
    case 'held':
      return {
        code: 'gpu.in-use',
        what: `${on}${amount(judgement.memoryMiB ?? sumMiB(by))} held by ${processes}`,
        next: `wait until it exits, or ask its owner to stop it (${psOf(by)} on the host); the slot opens automatically`,
      };
    case 'left':
      return {
        code: 'gpu.left-behind',
        what: `${on}${amount(sumMiB(by))} held by killed leftovers of a job: ${processes}`,
        next: 'retried automatically; a process in state D hangs in the driver: drain the host, then run `azp-fleet reboot`',
      };
    case 'hidden': {
      const pids = by.flatMap(({ pid }) => pid ?? []);
      const holder = pids.length === 0 ? 'no visible process' : `process ${pids.join(', ')}, which is hidden`;
      return {
        code: 'gpu.memory-held',
        what: `${on}${amount(judgement.memoryMiB ?? sumMiB(by))} held by ${holder}`,
        next: `check who has the GPU open on the host (fuser -v /dev/nvidia*); if no process has, drain the host and reset it (nvidia-smi --gpu-reset -i ${gpu}) or reboot it (azp-fleet reboot)`,
      };
    }
    default:
      throw new Error(`unhandled judgement ${JSON.stringify(judgement satisfies never)}`);
  }
}

function psOf(by: readonly GpuProcess[]): string {
  return `ps -fp ${by
    .flatMap(({ pid }) => pid ?? [])
    .slice(0, mostNamed)
    .join(',')}`;
}

/** Names the processes with the most memory. */
function named(by: readonly GpuProcess[], naming: Naming): string {
  const most = [...by].sort((a, b) => (b.usedMiB ?? 0) - (a.usedMiB ?? 0));
  const shown = most.slice(0, mostNamed).map((each) => describe(each, naming));
  const others = most.length - shown.length;
  return [...shown, ...(others === 0 ? [] : [`${others} more`])].join('; ');
}

function describe({ process, owner }: GpuProcess, { name, now }: Naming): string {
  if (process === undefined) return 'a hidden process';
  const { pid, login, comm, state, startedAt } = process;
  const ownerName = owner.kind === 'run' ? `a job of slot ${owner.slot}` : login;
  const program = foreignLine(name(pid) ?? comm, longestName).trim();
  const container = owner.kind === 'foreign' && owner.container !== undefined;
  const where = container ? ` in container ${owner.container?.slice(0, 12)}` : '';
  const hangs = state === 'D' || state === 'Z' ? `, state ${state}` : '';
  return `${foreignLine(ownerName, longestName)}, ${program} (${pid}${hangs})${where} since ${timeText(startedAt, now)}`;
}

function sumMiB(by: readonly GpuProcess[]): number | undefined {
  const known = by.flatMap(({ usedMiB }) => usedMiB ?? []);
  return known.length === 0 ? undefined : known.reduce((sum, each) => sum + each, 0);
}

function amount(mib: number | undefined): string {
  if (mib === undefined) return 'memory';
  return mib < 1024 ? `${mib} MiB` : `${(mib / 1024).toFixed(1)} GiB`;
}

/** Formats a time as `14:02`, with the date after 24 hours; in the host's time zone. */
function timeText(at: number, now: number): string {
  const time = new Date(at);
  const two = (number: number): string => String(number).padStart(2, '0');
  const clock = `${two(time.getHours())}:${two(time.getMinutes())}`;
  if (now - at < dayMs) return clock;
  return `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())} ${clock}`;
}

/** nvidia-smi did not answer; the health check reports why. */
export const processesUnknown: Cause = {
  code: 'gpu.tenants-unknown',
  what: 'nvidia-smi does not list the processes on the GPUs',
  next: 'retried automatically; if it stays, run nvidia-smi --query-compute-apps=pid --format=csv on the host',
};
