// Large pools: what the service lists of one, and looking agents up among many.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { emptyState, hostedAgent } from '../../../../practice/azure/world/new-organization.ts';
import {
  agentNamed,
  agentOf,
  agentsIn,
  removeAgent,
  renameAgent,
} from '../../../../practice/azure/world/agent-index.ts';
import { apiOf, valueOf } from './api.ts';
import { useFake } from './server.ts';

const fake = useFake();
const call = apiOf(fake);
const everything = 'includeCapabilities=true&includeAssignedRequest=true&includeLastCompletedRequest=true';
const agents = `/_apis/distributedtask/pools/1/agents`;

test('agents without a process are as large as one with a GPU in the service: about 5.3 KiB', async () => {
  await fake.control.makeAgents({ pool: 'Default', count: 1000, namePattern: 'gpu-{n}-a' });
  const answer = await call('GET', `${agents}?${everything}`);
  const sizes = valueOf(answer, (each) => JSON.stringify(each).length / 1024);
  expect(sizes).toHaveLength(1000);
  expect(Math.min(...sizes)).toBeGreaterThan(5.1);
  expect(Math.max(...sizes)).toBeLessThan(5.5);
  const one = await call('GET', `${agents}?agentName=GPU-1000-a`);
  expect(one.json).toMatchObject({ count: 1, value: [{ name: 'gpu-1000-a', status: 'offline' }] });
});

test.each([
  [{ pool: 'nowhere', count: 1 }, 'no self-hosted pool nowhere'],
  [{ pool: 'Azure Pipelines', count: 1 }, 'no self-hosted pool Azure Pipelines'],
  [{ pool: 'Default', count: 0 }, 'count: Too small'],
  [{ pool: 'Default', count: 100_001 }, 'count: Too big: expected number to be <=100000'],
  [{ pool: 'Default', count: 1, namePattern: 'same' }, 'namePattern: Invalid string: must include'],
])('%o is refused', async (wanted, message) => {
  await expect(fake.control.makeAgents(wanted)).rejects.toThrow(message);
});

test('a name in use is reported, and no agent is created', async () => {
  await fake.control.makeAgents({ pool: 'Default', count: 2, namePattern: 'b-{n}' });
  const before = (await call('GET', agents)).json as { count: number };
  const again = fake.control.makeAgents({ pool: 'Default', count: 3, namePattern: 'B-{n}' });
  await expect(again).rejects.toThrow('already has an agent B-1');
  expect((await call('GET', agents)).json).toMatchObject({ count: before.count });
});

type Change = readonly [kind: 'add' | 'remove' | 'rename' | 'replace', id: number, pool: number];
const change = fc.tuple(
  fc.constantFrom<Change[0]>('add', 'add', 'remove', 'rename', 'replace'),
  fc.integer({ min: 1, max: 12 }),
  fc.integer({ min: 1, max: 3 }),
);

test('whatever is done to agents, they are found by id, name and pool as if all were looked through', () => {
  fc.assert(
    fc.property(fc.array(change, { maxLength: 60 }), (changes) => {
      const state = { ...emptyState([], 0), agents: [hostedAgent(0)] };
      let renames = 0;
      for (const [kind, id, poolId] of changes) {
        const known = state.agents.find((each) => each.id === id);
        if (kind === 'add' && known === undefined) {
          state.agents.push({ ...hostedAgent(0), id, poolId, name: `A-${id}` });
        }
        if (kind === 'remove' && known !== undefined) removeAgent(state, known);
        if (kind === 'rename' && known !== undefined) renameAgent(state, known, `R-${(renames += 1)}`);
        if (kind === 'replace') state.agents = state.agents.filter((each) => each.id !== id);
        for (const pool of [1, 2, 3]) {
          const slow = state.agents.filter((each) => each.poolId === pool);
          expect(agentsIn(state, pool)).toEqual(slow);
        }
        for (const each of state.agents) {
          expect(agentOf(state, each.id)).toBe(each);
          expect(agentNamed(state, each.poolId, each.name.toLowerCase())).toBe(each);
        }
        expect(agentOf(state, 99)).toBeUndefined();
      }
    }),
    { numRuns: 60 },
  );
});
