import type { FakeOverview } from '../control/types.ts';
import type { Fake, Permission, TokenState } from '../world/fake.ts';
import type { Fault } from '../world/faults.ts';
import { empty, ok, type Reply, type Route } from '../http/reply.ts';
import { activityOf } from '../world/activity.ts';
import { agentsIn } from '../world/agent-index.ts';
import { agentControlRoutes } from './control-agents.ts';
import { jobRoutes } from './jobs.ts';

const bad = (message: string): Reply => ({ status: 400, json: { message } });

function overview(fake: Fake): FakeOverview {
  const { state } = fake;
  const sessions = new Map(state.sessions.map((session) => [session.agentId, session]));
  const { assigned } = activityOf(state);
  return {
    organization: fake.organization,
    speed: 1 / fake.clock.scaled(1),
    pools: state.pools.map(({ id, name, autoUpdate }) => ({
      id,
      name,
      autoUpdate,
      agents: agentsIn(state, id).map((agent) => {
        const session = sessions.get(agent.id);
        return {
          id: agent.id,
          name: agent.name,
          enabled: agent.enabled,
          status: session === undefined ? 'offline' : 'online',
          busy: assigned.has(agent.id),
          userCapabilities: agent.userCapabilities,
          ...(session === undefined ? {} : { container: session.ownerName }),
        };
      }),
    })),
  };
}

/** The switchboard under `/_fake`: not part of the imitated service, open to whoever reaches the port. */
export const controlRoutes: readonly Route[] = [
  ['GET', /^\/_fake\/?$/u, ({ fake }) => ok(overview(fake))],
  ...jobRoutes,
  [
    'POST',
    /^\/_fake\/faults$/u,
    ({ fake, body }) => {
      const fault = body as unknown as Fault;
      if (typeof fault.count !== 'number') return bad('count is missing');
      fake.faults.push({ fault, left: fault.count });
      return empty;
    },
  ],
  [
    'DELETE',
    /^\/_fake\/faults$/u,
    ({ fake }) => {
      fake.faults.length = 0;
      return empty;
    },
  ],
  [
    'PUT',
    /^\/_fake\/token$/u,
    ({ fake, body }) => {
      fake.tokenState = body['state'] as TokenState;
      return empty;
    },
  ],
  [
    'PUT',
    /^\/_fake\/denied$/u,
    ({ fake, body }) => {
      fake.denied.clear();
      for (const permission of body['permissions'] as Permission[]) fake.denied.add(permission);
      return empty;
    },
  ],
  [
    'PUT',
    /^\/_fake\/settle$/u,
    ({ fake, body }) => {
      fake.settleMs = Number(body['ms']);
      fake.stale.clear();
      return empty;
    },
  ],
  ...agentControlRoutes,
  [
    'PUT',
    /^\/_fake\/limits$/u,
    ({ fake, body }) => {
      const { parallelJobs } = body;
      const isCount = Number.isInteger(parallelJobs) && Number(parallelJobs) >= 0;
      if (parallelJobs !== null && !isCount) return bad('parallelJobs is neither a number of jobs nor null');
      fake.state.parallelJobs = parallelJobs === null ? null : Number(parallelJobs);
      fake.changed();
      return empty;
    },
  ],
  [
    'GET',
    /^\/_fake\/requests$/u,
    ({ fake, query }) => ok(fake.requestLog.filter(({ n }) => n > Number(query.get('after') ?? 0))),
  ],
];
