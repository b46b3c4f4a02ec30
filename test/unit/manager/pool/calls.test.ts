// What the daemon asks of a pool that is not its own alone.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ManagerRig } from '../../../support/manager-rig.ts';

const eight = { agents: { kind: 'count', count: 8 } } as const;
const names = ['0', '1', '2', '3', '4', '5', '6', '7'];

let rig: ManagerRig;
beforeEach(async () => {
  rig = await ManagerRig.create();
});
afterEach(() => rig.close());

/** Lists of agents since then: by mark, and by name. */
async function lists(after: number) {
  const asked = (await rig.control.requests(after)).filter(
    ({ method, path }) => method === 'GET' && path.endsWith(`/pools/${rig.poolId}/agents`),
  );
  const isOf = (word: string) => asked.filter(({ query }) => query.includes(word)).length;
  return { all: asked.length, byMark: isOf('demands='), byName: isOf('agentName=') };
}

const now = async (): Promise<number> => (await rig.control.requests()).at(-1)?.n ?? 0;

describe('a manager with eight idle slots', () => {
  test('among two thousand agents of others asks for its own, all in one call', async () => {
    await rig.control.makeAgents({ pool: 'gpu-lab', count: 2000 });
    await rig.start(eight);
    await rig.until('idle', names);
    const start = await now();
    await expect.poll(async () => (await lists(start)).all, { timeout: 20_000 }).toBeGreaterThanOrEqual(2);
    const { all, byMark } = await lists(start);
    expect(byMark).toBe(all);
    // Nothing else is asked for meanwhile.
    expect(await rig.control.requests(start)).toHaveLength(all);
    const queries = (await rig.control.requests(start)).map(({ query }) => query).join('\n');
    expect(queries).not.toContain('includeLastCompletedRequest');
  });

  test('of a server that does not read marks asks by name', async () => {
    await rig.control.makeAgents({ pool: 'gpu-lab', count: 10 });
    await rig.control.readDemands(false);
    await rig.start(eight);
    await rig.until('idle', names);
    const start = await now();
    await expect
      .poll(async () => (await lists(start)).byName, { timeout: 20_000 })
      .toBeGreaterThanOrEqual(16);
    expect((await lists(start)).byMark).toBe(0);
  });

  test('looks at once when it is drained, told to go on, or told to take names over', async () => {
    await rig.start(eight);
    await rig.until('idle', names);
    for (const [path, body] of [
      ['/v1/adopt', { slots: [] }],
      ['/v1/drain', { slots: [], reason: 'test' }],
      ['/v1/undrain', { slots: [] }],
    ] as const) {
      const start = await now();
      await rig.post(path, body);
      // At a hundred times the speed its own looks are two and a half seconds apart at least.
      await expect.poll(async () => (await lists(start)).byMark, { timeout: 2000 }).toBeGreaterThanOrEqual(1);
    }
  });
});

describe('what a server that does not read marks makes harder', () => {
  const server = async () => {
    await rig.control.makeAgents({ pool: 'gpu-lab', count: 10 });
    await rig.control.readDemands(false);
  };
  const agents = async () =>
    (await rig.azure.listAgents(rig.poolId)).map(({ name }) => name).filter((name) => name.startsWith('box'));

  test('an agent without a slot is removed, because its name is remembered', async () => {
    await server();
    await rig.start();
    await rig.until('idle');
    await rig.stop();
    await rig.start({ agents: { kind: 'count', count: 1 } });
    await expect.poll(agents, { timeout: 20_000 }).toEqual(['box-0']);
  });

  test('an agent of another owner under a name of ours stays who it is', async () => {
    await server();
    await rig.start();
    await rig.until('idle');
    const other = await rig.azure.findAgent(rig.poolId, 'box-1');
    await rig.azure.setUserCapabilities(rig.poolId, other?.id ?? 0, { 'azp-fleet.owner': 'them' });
    await rig.stop();
    await rig.start({ agents: { kind: 'count', count: 1 } });
    await rig.until('idle', ['0']);
    await expect.poll(async () => (await lists(0)).byName, { timeout: 20_000 }).toBeGreaterThanOrEqual(8);
    expect(await agents()).toEqual(['box-0', 'box-1']);
  });
});
