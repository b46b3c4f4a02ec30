import { isOurKind, Labels } from '../../shared/contract/paths.ts';
import type { OwnContainer } from '../../shared/engine/engine.ts';
import { drainedBy, drainEnd, type Drain } from '../../shared/contract/drain.ts';
import type { ImageState } from '../image/images.ts';
import type { Cause } from '../model.ts';
import type { JobRequest } from '../../shared/azure/client.ts';
import { cancelIsLate, endOfJob, isWaiting } from '../../shared/azure/job-requests.ts';

/** A reason that keeps a machine on. */
export interface Use {
  /** The same at each check. */
  readonly key: string;
  /**
   * `visit`: a login, which does not count as use in its first minute (`azp-fleet status` logs in, too); the machine does not
   * power off during it.
   */
  readonly kind: 'use' | 'visit';
  /** `lab is logged in since 2026-11-22 13:05 UTC` */
  readonly what: string;
  readonly next: string;
}

/** What the manager knows of its agents. */
export interface OwnView {
  /** Agents that may run a job, with its name if known. */
  readonly busy: readonly { readonly agent: string; readonly job?: string }[];
  /** Jobs that the server shows on this host's agents. `until`: when it gives the job up, if its agent has ended. */
  readonly assigned: readonly { readonly agent: string; readonly job: string; readonly until?: string }[];
  /** Inventory name of the host. */
  readonly host: string;
  /** On the whole host, the weightiest first. */
  readonly drains: readonly Drain[];
  readonly images: readonly Pick<ImageState, 'state'>[];
  /** An image refresh is in progress. */
  readonly isRenewing: boolean;
  /** Other processes on the slots' GPUs. */
  readonly otherProcesses: readonly Cause[];
}

/** Returns which of these keep the machine on. Pure. */
export function ownUses(view: OwnView): readonly Use[] {
  const work = view.images.some(({ state }) => state === 'pulling' || state === 'building');
  return [
    ...view.busy.map(({ agent, job = 'a job' }) => use(agent, `${agent} runs ${job}`, 'let it end')),
    ...view.assigned.map(({ agent, job, until }) => {
      const runs = view.busy.some((each) => each.agent === agent);
      const next = runs
        ? 'let it end, or cancel it in Azure DevOps'
        : `wait: the server gives it up ${endOfJob(until)}; ${cancelIsLate}`;
      return use(agent, `the server shows ${job} on ${agent}`, next);
    }),
    ...view.drains.map((drain) => use('drain', `it is ${drainedBy(drain)}`, drainEnd(drain, view.host))),
    ...(work || view.isRenewing
      ? [use('image', 'the agent image is being built or pulled', 'wait for it')]
      : []),
    ...view.otherProcesses.map(({ what, next }) => use('gpu', what, next)),
  ];
}

/** Returns running containers of others, without those labelled to be ignored. Pure. */
export function otherContainers(
  running: readonly Pick<OwnContainer, 'name' | 'labels'>[],
  owner: string,
): readonly Use[] {
  const isOurs = ({
    [Labels.kind]: kind,
    [Labels.owner]: creator = owner,
  }: OwnContainer['labels']): boolean => isOurKind(kind) && creator === owner;
  return running
    .filter(({ labels }) => !isOurs(labels) && labels[idleLabel] !== 'ignore')
    .map(({ name }) =>
      use(
        `container ${name}`,
        `container ${name} is running`,
        `stop it; start a container that does not count with --label ${idleLabel}=ignore`,
      ),
    );
}

/** With the value `ignore`, the label of containers that do not keep the machine on. */
const idleLabel = 'azp-fleet.idle';

function use(key: string, what: string, next: string): Use {
  return { key, kind: 'use', what, next };
}

/**
 * Returns a job that waits in a pool and that one of these agents could run: the server matched it, or names no agents. Pure.
 */
export function jobWaiting(
  pool: string,
  requests: readonly JobRequest[],
  agents: ReadonlySet<number>,
): Use | undefined {
  if (agents.size === 0) return undefined;
  const found = requests
    .filter(isWaiting)
    .find(({ matchedAgents }) => matchedAgents?.some(({ id }) => agents.has(id)) ?? true);
  if (found === undefined) return undefined;
  const { requestId, jobName = String(requestId) } = found;
  return {
    key: `job ${requestId}`,
    kind: 'use',
    what: `job ${jobName} waits in pool ${pool}`,
    next: 'let it run, or cancel it in Azure DevOps',
  };
}

/** Returns a use for a queue that cannot be read. Pure. */
export function queueUnknown(pool: string, why: string): Use {
  return {
    key: `pool ${pool}`,
    kind: 'use',
    what: `the queue of pool ${pool} cannot be read: ${why}`,
    next: 'fix the problem of the pool in `azp-fleet status`; retried automatically',
  };
}
