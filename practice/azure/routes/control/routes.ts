import type { FakeOverview } from '../../control/types.ts';
import { empty, ok, type Route } from '../../http/reply.ts';
import type { Fake } from '../../world/fake.ts';
import { activityOf } from '../../world/activity.ts';
import { agentsIn } from '../../world/agent-index.ts';
import { agentControlRoutes } from './agents.ts';
import { bad, bodies, withBody } from './bodies.ts';
import { jobRoutes } from './jobs.ts';

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
  ['GET', /^\/_fake$/u, ({ fake }) => ok(overview(fake))],
  ...jobRoutes,
  [
    'POST',
    /^\/_fake\/faults$/u,
    withBody(bodies.fault, ({ fake }, fault) => {
      fake.faults.push({ fault, left: fault.count });
      return empty;
    }),
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
    withBody(bodies.token, ({ fake }, { state }) => {
      fake.tokenState = state;
      return empty;
    }),
  ],
  [
    'PUT',
    /^\/_fake\/denied$/u,
    withBody(bodies.denied, ({ fake }, { permissions }) => {
      fake.denied.clear();
      for (const permission of permissions) fake.denied.add(permission);
      return empty;
    }),
  ],
  [
    'POST',
    /^\/_fake\/pipelines$/u,
    withBody(bodies.pipeline, ({ fake }, { id, title, project, pool }) => {
      const poolId = fake.state.pools.find(({ name }) => name === pool)?.id;
      if (poolId === undefined) return bad(`no pool ${pool}`);
      fake.pipelines.set(id, { title, project, poolId });
      return empty;
    }),
  ],
  [
    'PUT',
    /^\/_fake\/settle$/u,
    withBody(bodies.settle, ({ fake }, { ms }) => {
      fake.settleMs = ms;
      fake.stale.clear();
      return empty;
    }),
  ],
  [
    'PUT',
    /^\/_fake\/filters$/u,
    withBody(bodies.filters, ({ fake }, { demands }) => {
      fake.ignoresDemands = !demands;
      return empty;
    }),
  ],
  ...agentControlRoutes,
  [
    'PUT',
    /^\/_fake\/limits$/u,
    withBody(bodies.limits, ({ fake }, { parallelJobs }) => {
      fake.state.parallelJobs = parallelJobs;
      fake.changed();
      return empty;
    }),
  ],
  [
    'GET',
    /^\/_fake\/requests$/u,
    ({ fake, query }) => {
      const after = Number(query.get('after') ?? 0);
      if (!Number.isInteger(after)) return bad('after is not the number of a request');
      return ok(fake.requestLog.filter(({ n }) => n > after));
    },
  ],
];
