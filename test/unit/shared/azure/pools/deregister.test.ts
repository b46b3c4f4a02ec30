import { describe, expect, test } from 'vitest';

import { FleetError } from '../../../../../src/shared/base/errors.ts';
import type { AzureAgent } from '../../../../../src/shared/azure/client.ts';
import { countedJobs, deregister } from '../../../../../src/shared/azure/pools/agents.ts';

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
    findPool: (name: string) =>
      Promise.resolve(name === 'gone' ? undefined : { id: name === 'dark' ? 2 : 1, name }),
    // This server ignores the owner filter.
    listAgents: (pool: number) => {
      if (pool === 2) return Promise.reject(new FleetError({ code: 'azure.unreachable', what: 'no answer' }));
      return Promise.resolve([
        {
          ...agent(1, 'a-0', 'me'),
          ...(busy === 1 ? { assignedRequest: { requestId: 7, jobName: 'train' } } : {}),
        },
        agent(2, 'a-1', 'other'),
        agent(3, 'a-2'),
        agent(4, 'b', 'me'),
      ]);
    },
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
      problem: {
        code: 'remove.agent-busy',
        what: expect.stringContaining('agent a-0 in pool gpu') as string,
      },
    });
    expect(deleted).toEqual([]);
  });

  test('leaves what it cannot delete where told so, with the reason', async () => {
    const { client, deleted } = server(1);
    const staying: string[] = [];
    await deregister(client, { owner: 'me', pools: ['dark', 'gpu'] }, (what) => staying.push(what));
    expect(deleted).toEqual([4]);
    expect(staying).toEqual([
      'agents in pool dark: no answer',
      'agent a-0 in pool gpu: the server still counts a job on it',
    ]);
  });
});

test('counted jobs are those on agents of the owner; a pool that cannot be read is no pool without jobs', async () => {
  const { client } = server(1);
  expect(await countedJobs(client, { owner: 'me', pools: ['gone', 'gpu'] })).toEqual([
    { pool: 'gpu', agent: 'a-0', request: { requestId: 7, jobName: 'train' } },
  ]);
  expect(await countedJobs(client, { owner: 'other', pools: ['gpu'] })).toEqual([]);
  await expect(countedJobs(client, { owner: 'me', pools: ['gpu', 'dark'] })).rejects.toThrow('no answer');
});
