import { isDriversOwn, unexplainedMiB } from './memory.ts';
import type { GpuUse, Tenant } from './tenant.ts';

/** What stands in the way of a job on a slot's GPUs. */
export type Judgement =
  | { readonly kind: 'clean' }
  /** Somebody else's: it lives. */
  | {
      readonly kind: 'held';
      readonly gpu: string;
      readonly by: readonly Tenant[];
      readonly memoryMiB: number | undefined;
    }
  /** Of a run of ours that has ended: it is being killed. */
  | { readonly kind: 'left'; readonly gpu: string; readonly by: readonly Tenant[] }
  /** Memory that nobody accounts for, or processes that cannot be seen. */
  | {
      readonly kind: 'unseen';
      readonly gpu: string;
      readonly by: readonly Tenant[];
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
export function leftOf(tenants: readonly Tenant[]): readonly Tenant[] {
  return tenants.filter(({ whose }) => whose.kind === 'run' && !whose.live);
}

function judgeGpu(slot: string, use: GpuUse, jobs: { readonly useDocker: boolean }): Judgement {
  const { gpu, isPart, tenants } = use;
  const strangers = tenants.filter((tenant) => isForeign(slot, tenant, use, jobs));
  const left = leftOf(tenants);
  const hidden = hiddenMiB(use);
  // Of a part, its memory tells whether somebody is on it; who may be, the board's list does.
  if (isPart && hidden === undefined)
    return left.length > 0 ? { kind: 'left', gpu, by: left } : { kind: 'clean' };
  if (strangers.length > 0)
    return { kind: 'held', gpu, by: strangers, memoryMiB: isPart ? hidden : undefined };
  if (left.length > 0) return { kind: 'left', gpu, by: left };
  // Where a job may run, those may be its own.
  const mayBeJobs = isPart || hasJob(use);
  const unseen = mayBeJobs ? [] : tenants.filter(({ whose }) => whose.kind === 'unseen');
  return hidden === undefined && unseen.length === 0
    ? { kind: 'clean' }
    : { kind: 'unseen', gpu, by: unseen, memoryMiB: hidden };
}

function isForeign(
  slot: string,
  { whose }: Tenant,
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
  const { isPart, tenants, memoryMiB, baselineMiB } = use;
  // A job that begins or ends between two questions would show as memory without a process.
  if (memoryMiB === undefined || hasJob(use)) return undefined;
  const rest = isPart ? memoryMiB : unexplainedMiB(memoryMiB, tenants);
  return rest === undefined || isDriversOwn(rest, baselineMiB) ? undefined : rest;
}
