import { describe, expect, test } from 'vitest';

import type { AzureAgent } from '../../../../../src/shared/azure/client.ts';
import { deregister } from '../../../../../src/shared/azure/pools/agents.ts';

const agent = (id: number, name: string, owner?: string): AzureAgent => ({
  id,
  name,
  enabled: false,
  status: 'offline',
  userCapabilities: owner === undefined ? {} : { 'azp-fleet.owner': owner },
});

/** A server with one pool; it refuses to delete the agent `busy`. */
function server(busy?: number) {
  const deleted: number[] = [];
  const client = {
    findPool: (name: string) => Promise.resolve(name === 'gone' ? undefined : { id: 1, name }),
    // This server ignores the owner filter.
    listAgents: () =>
      Promise.resolve([
        agent(1, 'a-0', 'me'),
        agent(2, 'a-1', 'other'),
        agent(3, 'a-2'),
        agent(4, 'b', 'me'),
      ]),
    deleteAgent: (_: number, id: number) => {
      if (id === busy) return Promise.resolve(false);
      deleted.push(id);
      return Promise.resolve(true);
    },
  };
  return { client, deleted };
}

describe('deleting agents from pools', () => {
  test('is by owner id, not by name; a missing pool has none', async () => {
    const { client, deleted } = server();
    expect(await deregister(client, { owner: 'me', pools: ['gone', 'gpu'] })).toEqual(['a-0', 'b']);
    expect(deleted).toEqual([1, 4]);
  });

  test('stops when the server reports a job on an agent', async () => {
    const { client, deleted } = server(1);
    await expect(deregister(client, { owner: 'me', pools: ['gpu'] })).rejects.toMatchObject({
      problem: { code: 'remove.agent-busy', what: expect.stringContaining('a-0 in pool gpu') as string },
    });
    expect(deleted).toEqual([]);
  });
});
