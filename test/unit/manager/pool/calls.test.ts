// The daemon's calls to a pool that it shares with others.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ManagerRig } from '../../../support/manager-rig.ts';
import { fault } from '../../../support/fault.ts';

const eight = { agents: { kind: 'count', count: 8 } } as const;
const names = ['0', '1', '2', '3', '4', '5', '6', '7'];

let rig: ManagerRig;
beforeEach(async () => {
  rig = await ManagerRig.create();
});
afterEach(() => rig.close());

/** Counts reads of agents since a request: by owner filter, and by name. */
async function lists(after: number) {
  const reads = (await rig.control.requests(after)).filter(
    ({ method, path }) => method === 'GET' && path.endsWith(`/pools/${rig.poolId}/agents`),
  );
  const countOf = (word: string) => reads.filter(({ query }) => query.includes(word)).length;
  return { all: reads.length, byOwner: countOf('demands='), byName: countOf('agentName=') };
}

const now = async (): Promise<number> => (await rig.control.requests()).at(-1)?.n ?? 0;

describe('a manager with eight idle slots', () => {
  fault('large-pool', 'reads its own agents in one call, among two thousand others', async () => {
    await rig.control.makeAgents({ pool: 'gpu-lab', count: 2000 });
    await rig.start(eight);
    await rig.until('idle', names);
    const start = await now();
    await expect.poll(async () => (await lists(start)).all).toBeGreaterThanOrEqual(2);
    const { all, byOwner } = await lists(start);
    expect(byOwner).toBe(all);
    // There are no other requests.
    expect(await rig.control.requests(start)).toHaveLength(all);
    const queries = (await rig.control.requests(start)).map(({ query }) => query).join('\n');
    expect(queries).not.toContain('includeLastCompletedRequest');
  });

  test('reads agents by name if the server ignores the owner filter', async () => {
    await rig.control.makeAgents({ pool: 'gpu-lab', count: 10 });
    await rig.control.readDemands(false);
    await rig.start(eight);
    await rig.until('idle', names);
    const start = await now();
    await expect.poll(async () => (await lists(start)).byName).toBeGreaterThanOrEqual(16);
    expect((await lists(start)).byOwner).toBe(0);
  });

  test('reads at once after drain, undrain and adopt', async () => {
    // At the real speed, periodic reads are more than four minutes apart.
    await rig.close();
    rig = await ManagerRig.create(1);
    await rig.start(eight);
    await rig.until('idle', names);
    for (const [path, body] of [
      ['/v1/adopt', { slots: [] }],
      ['/v1/drain', { slots: [], reason: 'test' }],
      ['/v1/undrain', { slots: [] }],
    ] as const) {
      const start = await now();
      await rig.post(path, body);
      await expect.poll(async () => (await lists(start)).byOwner).toBeGreaterThanOrEqual(1);
    }
  });
});

describe('if the server ignores the owner filter', () => {
  const server = async () => {
    await rig.control.makeAgents({ pool: 'gpu-lab', count: 10 });
    await rig.control.readDemands(false);
  };
  const agents = async () =>
    (await rig.azure.listAgents(rig.poolId)).map(({ name }) => name).filter((name) => name.startsWith('box'));

  test('an agent without a slot is removed, because its name is saved', async () => {
    await server();
    await rig.start();
    await rig.until('idle');
    await rig.stop();
    await rig.start({ agents: { kind: 'count', count: 1 } });
    await expect.poll(agents).toEqual(['box-0']);
  });

  test("another owner's agent under one of our names stays", async () => {
    await server();
    await rig.start();
    await rig.until('idle');
    const other = await rig.azure.findAgent(rig.poolId, 'box-1');
    await rig.azure.setUserCapabilities(rig.poolId, other?.id ?? 0, { 'azp-fleet.owner': 'them' });
    await rig.stop();
    await rig.start({ agents: { kind: 'count', count: 1 } });
    await rig.until('idle', ['0']);
    await expect.poll(async () => (await lists(0)).byName).toBeGreaterThanOrEqual(8);
    // The server lists a new registration last.
    expect((await agents()).toSorted()).toEqual(['box-0', 'box-1']);
  });
});
