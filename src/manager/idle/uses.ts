import { isOurKind, Labels } from '../../shared/contract/paths.ts';
import type { OwnContainer } from '../../shared/engine/engine.ts';
import { drainedBy, drainEnd, type DrainEntry } from '../../shared/contract/drain.ts';
import type { ImageState } from '../image/images.ts';
import type { Cause } from '../model.ts';
import type { JobRequest } from '../../shared/azure/client.ts';
import { isWaiting } from '../pool/job-requests.ts';

/** Something that keeps a machine on. */
export interface Use {
  /** One thing has the same key at each look. */
  readonly key: string;
  /**
   * `visit`: a login, which for its first minute is somebody who looks (`azp-fleet status` is one): it does not count as
   * use yet, though no machine ends under it.
   */
  readonly kind: 'use' | 'visit';
  /** `lab is logged in since 2026-11-22 13:05 UTC` */
  readonly what: string;
  readonly next: string;
}

/** What the manager knows anyhow. */
export interface OwnView {
  /** Agents that may run a job, with its name where it is known. */
  readonly busy: readonly { readonly agent: string; readonly job?: string }[];
  /** Jobs that the server shows on agents of ours. */
  readonly assigned: readonly { readonly agent: string; readonly job: string }[];
  /** On the whole host, the weightiest first. */
  readonly drains: readonly DrainEntry[];
  readonly images: readonly Pick<ImageState, 'state'>[];
  /** Somebody has asked for an image, which is being made. */
  readonly isRenewing: boolean;
  /** What is on the slots' GPUs beside jobs. */
  readonly otherProcesses: readonly Cause[];
}

/** What of that keeps the machine on. Pure. */
export function ownUses(view: OwnView): readonly Use[] {
  const work = view.images.some(({ state }) => state === 'pulling' || state === 'building');
  return [
    ...view.busy.map(({ agent, job = 'a job' }) => use(agent, `${agent} runs ${job}`, 'let it end')),
    ...view.assigned.map(({ agent, job }) =>
      use(agent, `the server shows ${job} on ${agent}`, 'let it end, or cancel it in Azure DevOps'),
    ),
    ...view.drains.map((drain) => use('drain', `it is ${drainedBy(drain)}`, drainEnd(drain))),
    ...(work || view.isRenewing ? [use('image', 'the agent image is being made', 'wait for it')] : []),
    ...view.otherProcesses.map(({ what, next }) => use('gpu', what, next)),
  ];
}

/** Containers that this manager has not made and that nobody has marked as ones that may end with the machine. Pure. */
export function otherContainers(
  running: readonly Pick<OwnContainer, 'name' | 'labels'>[],
  owner: string,
): readonly Use[] {
  const isOurs = ({ [Labels.kind]: kind, [Labels.owner]: maker = owner }: OwnContainer['labels']): boolean =>
    isOurKind(kind) && maker === owner;
  return running
    .filter(({ labels }) => !isOurs(labels) && labels[mayEnd] !== 'ignore')
    .map(({ name }) =>
      use(
        `container ${name}`,
        `container ${name} runs, which is not ours`,
        `stop it; one that may end with the machine is started with --label ${mayEnd}=ignore`,
      ),
    );
}

/** The label by which somebody says that a container does not keep the machine on. */
const mayEnd = 'azp-fleet.idle';

function use(key: string, what: string, next: string): Use {
  return { key, kind: 'use', what, next };
}

/**
 * A job that waits in a pool and that one of these agents could take: the server matched it, or does not say whom it did.
 * Pure.
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

/** Why the queue could not be asked. Pure. */
export function queueUnknown(pool: string, why: string): Use {
  return {
    key: `pool ${pool}`,
    kind: 'use',
    what: `whether a job waits in pool ${pool} is not known: ${why}`,
    next: 'mend what the status shows for the pool; it is asked again by itself',
  };
}
