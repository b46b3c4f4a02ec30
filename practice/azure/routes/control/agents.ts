import type { MakeAgents } from '../../control/types.ts';
import { empty, ok, type FakeCall, type Reply, type Route } from '../../http/reply.ts';
import { agentNamed } from '../../world/agent-index.ts';
import { idleAgent } from '../../world/idle-agent.ts';
import { nextId, type Fake } from '../../world/fake.ts';
import { endSession, sessionOf } from '../../world/scheduler.ts';
import type { FakeAgent } from '../../world/state.ts';
import { bad, bodies, withBody } from './bodies.ts';

/** Registers agents that nobody runs, with what machines with GPUs tell of themselves: for practice at scale. */
function makeAgents({ fake, baseUrl }: FakeCall, wanted: MakeAgents): Reply {
  const { pool: name, count, namePattern = 'agent-{n}' } = wanted;
  const pool = fake.state.pools.find((each) => each.name.toLowerCase() === name.toLowerCase());
  if (pool === undefined || pool.isHosted) return bad(`no pool ${name} of one's own`);
  const names = Array.from({ length: count }, (_, index) => namePattern.replaceAll('{n}', String(index + 1)));
  const taken = names.find((each) => agentNamed(fake.state, pool.id, each) !== undefined);
  if (taken !== undefined) return bad(`pool ${pool.name} already has an agent ${taken}`);
  for (const each of names) {
    fake.state.agents.push(idleAgent(nextId(fake), pool.id, each, { baseUrl, now: fake.now() }));
  }
  fake.changed();
  return ok({ made: count });
}

const agentOf = (fake: Fake, name: string): FakeAgent | undefined =>
  fake.state.agents.find((each) => each.name === name);

/** Ends the session of an agent, where there is one. */
function cutOff(fake: Fake, agent: FakeAgent | undefined): Reply {
  const session = agent && sessionOf(fake, agent.id);
  if (session !== undefined) endSession(fake, session);
  fake.changed();
  return empty;
}

function revoke(fake: Fake, name: string): Reply {
  const agent = agentOf(fake, name);
  if (agent === undefined) return bad(`no agent ${name}`);
  agent.revoked = true;
  return cutOff(fake, agent);
}

export const agentControlRoutes: readonly Route[] = [
  ['POST', /^\/_fake\/agents$/u, withBody(bodies.agents, makeAgents)],
  [
    'POST',
    /^\/_fake\/agents\/([^/]+)\/revoke$/u,
    ({ fake }, name = '') => revoke(fake, decodeURIComponent(name)),
  ],
  [
    'POST',
    /^\/_fake\/agents\/([^/]+)\/end-session$/u,
    ({ fake }, name = '') => cutOff(fake, agentOf(fake, decodeURIComponent(name))),
  ],
];
