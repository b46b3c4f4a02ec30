import { Labels } from '../../shared/contract/paths.ts';
import type { Engine, OwnContainer } from '../../shared/engine/engine.ts';
import type { PresentRuns } from '../host-mode/present-runs.ts';
import { isHostRun, type HostEngine } from '../host-mode/host-engine.ts';
import { jobLabel, ofAgent } from '../host-mode/job-leftovers.ts';
import { unitName } from '../host-mode/unit.ts';
import { userName } from '../host-mode/user.ts';
import type { Slot } from '../model.ts';
import type { ManagerDeps } from '../manager-deps.ts';
import type { Owners, RunOf } from './whose.ts';

export interface OwnerTools extends Pick<ManagerDeps, 'config' | 'log'> {
  readonly engine: Pick<Engine, 'withLabel'>;
  readonly host: { readonly engine: Pick<HostEngine, 'requireEnded' | 'rootOf'> };
}

/**
 * By what processes of runs of ours are known now. `ended`: containers that are known to have ended, by id, with their slot;
 * Docker may list them no longer. Whatever is not known to have ended is live.
 */
export async function ownersNow(
  tools: OwnerTools,
  runs: PresentRuns,
  slots: readonly Slot[],
  ended: ReadonlyMap<string, string>,
): Promise<Owners> {
  await runs.look();
  const containers = new Map<string, RunOf>([...ended].map(([id, slot]) => [id, { slot, live: false }]));
  for (const container of runs.all)
    if (!isHostRun(container.id) && !ended.has(container.id)) containers.set(container.id, runOf(container));
  const units = new Map<string, RunOf>();
  const users = new Map<string, RunOf>();
  for (const { name } of slots.filter(({ mode }) => mode === 'host')) {
    const found = runs.all.filter(({ id, labels }) => isHostRun(id) && labels[Labels.slot] === name);
    // Also one of which no run is kept any more may have a job.
    const live =
      found.some((run) => runOf(run).live) ||
      (await tools.host.engine.requireEnded(unitName(name)).then(
        () => false,
        () => true,
      ));
    const run = { slot: name, live };
    units.set(unitName(name), run);
    users.set(userName(name), run);
    for (const id of await jobContainers(tools, name)) containers.set(id, run);
  }
  return { containers, units, users, isDockerAway: runs.problem !== undefined };
}

function runOf({ labels, state }: OwnContainer): RunOf {
  const hasEnded = state === 'exited' || state === 'dead' || state === 'removing';
  return { slot: labels[Labels.slot] ?? '', live: !hasEnded };
}

/** Of the container job that a slot's agent runs straight on the host. */
async function jobContainers(
  { engine, host, config, log }: OwnerTools,
  slot: string,
): Promise<readonly string[]> {
  if (!config.jobs.docker) return [];
  const root = host.engine.rootOf(slot);
  const labelled = await engine.withLabel(jobLabel(root)).catch((error: unknown) => {
    log.log('info', 'Docker is away: whose its containers are is not known', { error });
    return { containers: [], networks: [] };
  });
  return ofAgent(root, labelled).containers.map(({ id }) => id);
}
