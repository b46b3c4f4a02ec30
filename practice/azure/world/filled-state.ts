import { hostedAgent, newPool, newProject } from './new-organization.ts';
import type { FakeAgent, FakePool, FakeProject, State } from './state.ts';

/** What a file of an earlier version lacks. */
export function filledState(state: State, now: number): State {
  const pool = (known: FakePool) => ({ ...newPool(known.id, known.name, now), ...known });
  const project = (known: FakeProject) => ({ ...newProject(known.name, now), ...known });
  const agent = (known: FakeAgent): FakeAgent => {
    const own = { ...hostedAgent(now), provisioningState: 'Provisioned' };
    return { ...own, ...known };
  };
  return {
    ...state,
    collectionId: state.collectionId ?? crypto.randomUUID(),
    operations: state.operations ?? [],
    maintenance: state.maintenance ?? { definitions: [], jobs: [] },
    parallelJobs: state.parallelJobs ?? null,
    pools: state.pools.map(pool),
    agents: state.agents.map(agent),
    projects: state.projects.map(project),
    queues: state.queues.map((queue) => ({ ...queue, pipelines: queue.pipelines ?? [] })),
  };
}
