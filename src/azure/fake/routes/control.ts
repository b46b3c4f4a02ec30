import type { FakeOverview } from '../control/types.ts';
import type { Fake, Permission, TokenState } from '../world/fake.ts';
import type { Fault } from '../world/faults.ts';
import { empty, ok, type Reply, type Route } from '../http/reply.ts';
import { assignedRequest } from '../world/queue.ts';
import { endSession, sessionOf } from '../world/scheduler.ts';
import { jobRoutes } from './jobs.ts';

const bad = (message: string): Reply => ({ status: 400, json: { message } });

function overview(fake: Fake): FakeOverview {
  return {
    organization: fake.organization,
    speed: 1 / fake.clock.scaled(1),
    pools: fake.state.pools.map(({ id, name, autoUpdate }) => ({
      id,
      name,
      autoUpdate,
      agents: fake.state.agents
        .filter(({ poolId }) => poolId === id)
        .map((agent) => {
          const session = sessionOf(fake, agent.id);
          return {
            id: agent.id,
            name: agent.name,
            enabled: agent.enabled,
            status: session === undefined ? 'offline' : 'online',
            busy: assignedRequest(fake, agent.id) !== undefined,
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
  [
    'POST',
    /^\/_fake\/agents\/([^/]+)\/revoke$/u,
    ({ fake }, name = '') => {
      const agent = fake.state.agents.find((each) => each.name === decodeURIComponent(name));
      if (agent === undefined) return bad(`no agent ${name}`);
      agent.revoked = true;
      const session = sessionOf(fake, agent.id);
      if (session !== undefined) endSession(fake, session);
      fake.changed();
      return empty;
    },
  ],
  [
    'POST',
    /^\/_fake\/agents\/([^/]+)\/end-session$/u,
    ({ fake }, name = '') => {
      const agent = fake.state.agents.find((each) => each.name === decodeURIComponent(name));
      const session = sessionOf(fake, agent?.id ?? 0);
      if (session !== undefined) endSession(fake, session);
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
