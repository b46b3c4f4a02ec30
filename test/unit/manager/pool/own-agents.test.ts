import { describe, expect, test } from 'vitest';
import type { AzureAgent } from '../../../../src/shared/azure/client.ts';
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

/** A pool of ours and others; `marks`: what the server makes of them. */
function pool(agents: readonly AzureAgent[], marks: 'read' | 'unread' | AzureError = 'read') {
  const asked: string[] = [];
  const clock = new StillClock();
  const server = {
    marks,
    listAgents: async (_: number, { owner }: { owner?: string } = {}) => {
      asked.push(`of ${owner}`);
      if (server.marks instanceof AzureError) throw server.marks;
      return agents.filter(
        ({ userCapabilities }) =>
          server.marks === 'unread' || userCapabilities?.['azp-fleet.owner'] === owner,
      );
    },
    findAgent: async (_: number, name: string) => {
      asked.push(name);
      return agents.find((each) => each.name.toLowerCase() === name.toLowerCase());
    },
  };
  const own = new OwnAgents(server, 'us', clock);
  return {
    clock,
    server,
    look: async (names: readonly string[], earlier: readonly string[] = []) => {
      asked.length = 0;
      const found = await own.list(7, names, earlier);
      return { asked: [...asked], found: [...found.keys()].sort() };
    },
  };
}

describe('what a look asks for', () => {
  const others = [agent('x-0', 'them'), agent('x-1', 'them')];

  test('one call, whoever else is in the pool', async () => {
    const { look } = pool([agent('a-0'), agent('a-1'), ...others]);
    expect(await look(['a-0', 'a-1'])).toEqual({ asked: ['of us'], found: ['a-0', 'a-1'] });
  });

  test('agents of ours that no slot has any more are in it', async () => {
    const { look } = pool([agent('a-0'), agent('a-9'), ...others]);
    expect(await look(['a-0'], ['a-9'])).toEqual({ asked: ['of us'], found: ['a-0', 'a-9'] });
  });

  test('names that our mark does not show are asked for: another owner, nobody, or not registered', async () => {
    const { look } = pool([agent('a-0'), agent('a-1', 'them'), agent('a-2', 'none')]);
    expect(await look(['a-0', 'A-1', 'a-2', 'a-3'])).toEqual({
      asked: ['of us', 'a-1', 'a-2', 'a-3'],
      found: ['a-0', 'a-1', 'a-2'],
    });
  });

  test.each([
    ['does not read marks', 'unread' as const],
    ['does not read marks, in a large pool', failure('azure.too-long')],
    ['refuses the question', failure('azure.refused', 400)],
  ])('a server that %s is asked by name from then on, and again after an hour', async (_, marks) => {
    const { look, clock, server } = pool([agent('a-0'), agent('a-9'), ...others], marks);
    const found = ['a-0', 'a-9'];
    expect(await look(['a-0'], ['a-9'])).toEqual({ asked: ['of us', 'a-0', 'a-9'], found });
    clock.pass(hour - 1);
    expect(await look(['a-0'], ['a-9'])).toEqual({ asked: ['a-0', 'a-9'], found });
    clock.pass(1);
    server.marks = 'read';
    expect(await look(['a-0'], ['a-9'])).toEqual({ asked: ['of us'], found });
  });

  test('what has nothing to do with the question is a failure', async () => {
    await expect(pool([], failure('azure.auth', 401)).look(['a-0'])).rejects.toThrow('azure.auth');
    await expect(pool([], failure('azure.refused', 500)).look(['a-0'])).rejects.toThrow('azure.refused');
  });
});
