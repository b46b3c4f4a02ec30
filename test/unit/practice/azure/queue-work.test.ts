// How much is searched when jobs are queued and listed in large pools.
import { expect, test } from 'vitest';
import { describeRequest, type MatchesShown } from '../../../../practice/azure/shapes.ts';
import { queueJob } from '../../../../practice/azure/world/queue.ts';
import type { FakeAgent } from '../../../../practice/azure/world/state.ts';
import { bareWorld } from './bare-world.ts';

const job = { poolId: 1, project: 'vision', name: 'j', demands: [] as string[], script: '' };

/** A world whose agents count how often one of their members is read. */
function counted(agents: number, member: keyof FakeAgent) {
  const fake = bareWorld(agents);
  let reads = 0;
  fake.state.agents = fake.state.agents.map((agent) =>
    Object.defineProperty({ ...agent }, member, { get: () => ((reads += 1), agent[member]) }),
  );
  return { fake, reads: () => reads };
}

test.each([
  ['a job without demands looks at no capabilities', { ...job }, 0],
  ['one whose demands the first agent meets, at those of one agent', { ...job, demands: ['gpu'] }, 1],
  ['one of a pool without agents, at none', { ...job, poolId: 2, demands: ['gpu'] }, 0],
])('%s', (_, wanted, looked) => {
  const { fake, reads } = counted(500, 'systemCapabilities');
  for (const agent of fake.state.agents) agent.userCapabilities = { gpu: 'a100' };
  queueJob(fake, wanted);
  expect(reads()).toBe(looked);
});

test('the agents that match are described once for all jobs of a list that ask for the same', () => {
  const { fake, reads } = counted(100, 'osDescription');
  const requests = Array.from({ length: 20 }, () => queueJob(fake, job));
  const shown: MatchesShown = new Map();
  const described = requests.map((request) => describeRequest(fake, '', request, { shown }));
  expect(described.map(({ matchedAgents }) => matchedAgents?.length)).toEqual(requests.map(() => 100));
  expect(reads()).toBe(100);
});
