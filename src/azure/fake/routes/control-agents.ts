import type { MakeAgents } from '../control/types.ts';
import { empty, ok, type FakeCall, type Reply, type Route } from '../http/reply.ts';
import { agentNamed } from '../world/agent-index.ts';
import { idleAgent } from '../world/idle-agent.ts';
import { nextId } from '../world/fake.ts';
import { endSession, sessionOf } from '../world/scheduler.ts';

const bad = (message: string): Reply => ({ status: 400, json: { message } });

/** Enough for the largest fleet that somebody would try, and little enough for a server's memory. */
const mostAgents = 100_000;

/** Registers agents that nobody runs, with what machines with GPUs tell of themselves: for practice at scale. */
function makeAgents({ fake, body, baseUrl }: FakeCall): Reply {
  const { pool: name, count, namePattern = 'agent-{n}' } = body as unknown as MakeAgents;
  const pool = fake.state.pools.find((each) => each.name.toLowerCase() === name?.toLowerCase());
  if (pool === undefined || pool.isHosted) return bad(`no pool ${name} of one's own`);
  if (!Number.isInteger(count) || count < 1 || count > mostAgents)
    return bad(`count is not 1 to ${mostAgents}`);
  if (!namePattern.includes('{n}')) return bad('namePattern has no {n}');
  const names = Array.from({ length: count }, (_, index) => namePattern.replaceAll('{n}', String(index + 1)));
  const taken = names.find((each) => agentNamed(fake.state, pool.id, each) !== undefined);
  if (taken !== undefined) return bad(`pool ${pool.name} already has an agent ${taken}`);
  for (const each of names) {
    fake.state.agents.push(idleAgent(nextId(fake), pool.id, each, { baseUrl, now: fake.now() }));
  }
  fake.changed();
  return ok({ made: count });
}

export const agentControlRoutes: readonly Route[] = [
  ['POST', /^\/_fake\/agents$/u, makeAgents],
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
];
