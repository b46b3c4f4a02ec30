import { describe, expect, test } from 'vitest';
import type { AzureAgent, OneAgentQuery } from '../../../../src/shared/azure/client.ts';
import { AzureError } from '../../../../src/shared/azure/http/errors.ts';
import { OwnAgents } from '../../../../src/manager/pool/own-agents.ts';
import { StillClock } from '../../../support/clock.ts';

const hour = 3_600_000;
const agent = (name: string, owner: string | undefined = 'us'): AzureAgent => ({
  id: name.length,
  name,
  enabled: true,
  status: 'online',
  ...(owner === 'none' ? {} : { userCapabilities: { 'azp-fleet.owner': owner } }),
});
const failure = (code: 'azure.too-long' | 'azure.refused' | 'azure.auth', status?: number) =>
  new AzureError({ code, what: code }, status === undefined ? {} : { status });

/** Returns a pool of our and other agents. `filter`: how the server handles the owner filter. */
function pool(agents: readonly AzureAgent[], filter: 'used' | 'ignored' | AzureError = 'used') {
  const asked: string[] = [];
  const clock = new StillClock();
  const server = {
    filter,
    listAgents: async (_: number, { owner }: { owner?: string } = {}) => {
      asked.push(`of ${owner}`);
      if (server.filter instanceof AzureError) throw server.filter;
      return agents.filter(
        ({ userCapabilities }) =>
          server.filter === 'ignored' || userCapabilities?.['azp-fleet.owner'] === owner,
      );
    },
    /** Agents whose capabilities are too long. */
    tooLong: new Set<string>(),
    findAgent: async (_: number, name: string, { capabilities = true }: OneAgentQuery = {}) => {
      asked.push(capabilities ? name : `${name} alone`);
      if (capabilities && server.tooLong.has(name)) throw failure('azure.too-long');
      return agents.find((each) => each.name.toLowerCase() === name.toLowerCase());
    },
  };
  const own = new OwnAgents(server, 'us', clock);
  return {
    clock,
    server,
    list: async (names: readonly string[], earlier: readonly string[] = []) => {
      asked.length = 0;
      const found = await own.list(7, names, earlier);
      const tooLong = [...found.values()].filter((each) => each.tooLong !== undefined);
      return {
        asked: [...asked],
        found: [...found.keys()].sort(),
        ...(tooLong.length === 0 ? {} : { tooLong: tooLong.map(({ name }) => name) }),
      };
    },
  };
}

describe('a list makes', () => {
  const others = [agent('x-0', 'them'), agent('x-1', 'them')];

  test('one call, with other agents in the pool', async () => {
    const { list } = pool([agent('a-0'), agent('a-1'), ...others]);
    expect(await list(['a-0', 'a-1'])).toEqual({ asked: ['of us'], found: ['a-0', 'a-1'] });
  });

  test('one call for our agents, including those without a slot', async () => {
    const { list } = pool([agent('a-0'), agent('a-9'), ...others]);
    expect(await list(['a-0'], ['a-9'])).toEqual({ asked: ['of us'], found: ['a-0', 'a-9'] });
  });

  test('one call for each name with another owner, without an owner, or without an agent', async () => {
    const { list } = pool([agent('a-0'), agent('a-1', 'them'), agent('a-2', 'none')]);
    expect(await list(['a-0', 'A-1', 'a-2', 'a-3'])).toEqual({
      asked: ['of us', 'a-1', 'a-2', 'a-3'],
      found: ['a-0', 'a-1', 'a-2'],
    });
  });

  test.each([
    ['ignores the owner filter', 'ignored' as const],
    ['ignores the owner filter in a large pool', failure('azure.too-long')],
    ['refuses the owner filter', failure('azure.refused', 400)],
  ])('calls by name for an hour if the server %s', async (_, filter) => {
    const { list, clock, server } = pool([agent('a-0'), agent('a-9'), ...others], filter);
    const found = ['a-0', 'a-9'];
    expect(await list(['a-0'], ['a-9'])).toEqual({ asked: ['of us', 'a-0', 'a-9'], found });
    clock.pass(hour - 1);
    expect(await list(['a-0'], ['a-9'])).toEqual({ asked: ['a-0', 'a-9'], found });
    clock.pass(1);
    server.filter = 'used';
    expect(await list(['a-0'], ['a-9'])).toEqual({ asked: ['of us'], found });
  });

  test('one call more for an agent with any number of capabilities, and the others are read', async () => {
    const { list, server } = pool([agent('a-0'), agent('a-1'), ...others], failure('azure.too-long'));
    server.tooLong.add('a-1');
    expect(await list(['a-0', 'a-1'])).toEqual({
      asked: ['of us', 'a-0', 'a-1', 'a-1 alone'],
      found: ['a-0', 'a-1'],
      tooLong: ['a-1'],
    });
  });

  test('no further calls after another failure', async () => {
    await expect(pool([], failure('azure.auth', 401)).list(['a-0'])).rejects.toThrow('azure.auth');
    await expect(pool([], failure('azure.refused', 500)).list(['a-0'])).rejects.toThrow('azure.refused');
  });
});
