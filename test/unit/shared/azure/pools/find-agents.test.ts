import { describe, expect, test } from 'vitest';
import type { AzureAgent } from '../../../../../src/shared/azure/client.ts';
import { findAgents, isListedWhole, type AgentsOf } from '../../../../../src/shared/azure/pools/agents.ts';

const names = (host: string, count: number) => Array.from({ length: count }, (_, slot) => `${host}-${slot}`);

describe('a pool is listed whole', () => {
  test.each<[string, number | undefined, readonly number[], boolean]>([
    ['if it is small, for a single agent', 100, [1], true],
    ['if a quarter of it is requested', 8000, [2000], true],
    ['if all of it is requested', 8000, Array<number>(1000).fill(8), true],
    ['not for one host of many', 101, [8], false],
    ['not for fifty hosts of a thousand', 8000, Array<number>(50).fill(8), false],
    ['if its size is not known', undefined, [8], true],
  ])('%s', (_, size, wanted, isWhole) => {
    const asked = wanted.map((count, host) => ({ names: names(`h${host}`, count) }));
    expect(isListedWhole(size === undefined ? {} : { size }, asked)).toBe(isWhole);
  });

  test('names in several requests count once', () => {
    const same = Array.from({ length: 100 }, (): AgentsOf => ({ names: names('h', 8) }));
    expect(isListedWhole({ size: 1000 }, same)).toBe(false);
  });
});

const agent = (id: number, name: string, owner?: string): AzureAgent => ({
  id,
  name,
  enabled: true,
  status: 'online',
  userCapabilities: owner === undefined ? {} : { 'azp-fleet.owner': owner },
});
const pool = [agent(1, 'a-0', 'A'), agent(2, 'a-1', 'A'), agent(3, 'B-0', 'B'), agent(4, 'c-0')];

/** Returns the requests for a pool of so many agents, and the found agents. */
async function found(wanted: readonly AgentsOf[], size = 1000, reads = true) {
  const asked: string[] = [];
  const client = {
    listAgents: async (_: number, { owner }: { owner?: string } = {}) => {
      asked.push(owner === undefined ? 'all' : `of ${owner}`);
      return pool.filter(
        ({ userCapabilities }) =>
          !reads || owner === undefined || userCapabilities?.['azp-fleet.owner'] === owner,
      );
    },
    findAgent: async (_: number, name: string) => {
      asked.push(name);
      return pool.find((each) => each.name.toLowerCase() === name.toLowerCase());
    },
  };
  const agents = await findAgents(client, { id: 7, size }, wanted);
  return { asked, names: agents.map(({ name }) => name).sort() };
}

describe('requests', () => {
  test('none without names', async () => {
    expect(await found([])).toEqual({ asked: [], names: [] });
    expect(await found([{ names: [], owner: 'A' }])).toEqual({ asked: [], names: [] });
  });

  test('one call for a whole small pool', async () => {
    expect((await found([{ names: ['a-0'], owner: 'A' }], 4)).asked).toEqual(['all']);
  });

  test('one call for each owner, then by name for missing agents', async () => {
    const wanted = [
      { names: ['A-0', 'a-1'], owner: 'A' },
      { names: ['b-0', 'c-0', 'd-0'], owner: 'B' },
      { names: ['c-0'] },
    ];
    const { asked, names: all } = await found(wanted);
    expect(asked.toSorted()).toEqual(['c-0', 'c-0', 'd-0', 'of A', 'of B']);
    expect(all).toEqual(['B-0', 'a-0', 'a-1', 'c-0']);
  });

  test('a server that ignores the owner filter lists all in the first call', async () => {
    const { asked, names: all } = await found(
      [{ names: ['a-0'], owner: 'A' }, { names: ['b-0', 'c-9'] }],
      1000,
      false,
    );
    expect(asked.filter((what) => what.startsWith('of'))).toEqual(['of A']);
    expect(all).toEqual(['B-0', 'a-0', 'a-1', 'c-0']);
  });
});
