import { expect, test } from 'vitest';
import type { AzureAgent } from '../../../../../src/shared/azure/client.ts';
import { confirmed, leftovers } from '../../../../../src/shared/azure/pools/prune.ts';

const agent = (name: string, more: Partial<AzureAgent> & { owner?: string | null } = {}): AzureAgent => {
  const { owner = 'o1', ...rest } = more;
  return {
    id: 1,
    name,
    enabled: true,
    status: 'offline',
    userCapabilities: owner === null ? {} : { 'azp-fleet.owner': owner },
    ...rest,
  };
};
const host = { host: 'gpu', template: 'gpu-{slot}', configured: new Set(['gpu-0', 'gpu-1']) };

test.each<[string, readonly AzureAgent[], readonly string[]]>([
  ['a removed slot', [agent('gpu-0'), agent('gpu-2')], ['gpu-2']],
  ['a configured slot that is offline', [agent('gpu-1')], []],
  ['online', [agent('gpu-2', { status: 'online' })], []],
  ['with a job', [agent('gpu-2', { assignedRequest: { requestId: 7 } })], []],
  ['not registered by azp-fleet', [agent('gpu-2', { owner: null })], []],
  ['of another owner than the rest of the host', [agent('gpu-0'), agent('gpu-2', { owner: 'o2' })], []],
  ['of a host with the same prefix', [agent('gpu-2-0')], []],
  ['of another host', [agent('other-2')], []],
  ['a named slot', [agent('gpu-big')], ['gpu-big']],
])('%s', (_, agents, names) => {
  expect(leftovers(agents, [host]).map(({ name }) => name)).toEqual(names);
});

const named = (name: string, host: string, more: Parameters<typeof agent>[1] = {}) =>
  agent(name, {
    ...more,
    userCapabilities: { 'azp-fleet.owner': more.owner ?? 'o1', 'azp-fleet.host': host },
  });

test.each<[string, readonly AzureAgent[], readonly string[]]>([
  ['of the same owner, under a former name', [agent('gpu-0'), named('old-0', 'old')], ['old-0 old']],
  ['of the same owner, online', [agent('gpu-0'), named('old-0', 'old', { status: 'online' })], []],
  [
    'of the same owner, with a job',
    [agent('gpu-0'), named('old-0', 'old', { assignedRequest: { requestId: 7 } })],
    [],
  ],
  [
    'of the same owner, named like another host of the inventory',
    [agent('gpu-0'), named('two-0', 'two')],
    [],
  ],
  ['of another owner', [agent('gpu-0'), named('old-0', 'old', { owner: 'o2' })], []],
  ['of a host without an agent of its own', [named('old-0', 'old')], []],
])('a former name: %s', (_, agents, names) => {
  const found = leftovers(agents, [host], ['gpu-{slot}', 'two-{slot}']);
  expect(found.map(({ name, renamedFrom }) => `${name} ${renamedFrom}`)).toEqual(names);
});

test('without the names of the whole inventory no former name is recognized', () => {
  expect(leftovers([agent('gpu-0'), named('old-0', 'old')], [host])).toEqual([]);
});

test('a pattern that fits agents of another configured host removes none of them', () => {
  const gone = { host: 'old', template: 'gpu-{slot}', configured: new Set<string>() };
  const agents = [agent('gpu-0'), agent('gpu-9', { owner: 'o2' })];
  expect(leftovers(agents, [host, gone]).map(({ name }) => name)).toEqual(['gpu-9']);
});

test('a host with unknown slots has no leftovers', () => {
  expect(leftovers([agent('gpu-7')], [{ ...host, configured: undefined }])).toEqual([]);
});

test.each<[string, Partial<AzureAgent> & { owner?: string }, number]>([
  ['the same twice', {}, 1],
  ['it ran a job between the checks', { lastCompletedRequest: { requestId: 9 } }, 0],
  ['it is online at the second check', { status: 'online' }, 0],
  ['another agent replaced it', { id: 2 }, 0],
  ['another owner took it over', { owner: 'o2' }, 0],
])('%s: %#', (_, change, count) => {
  const first = leftovers([agent('gpu-5')], [host]);
  expect(confirmed(first, leftovers([agent('gpu-5', change)], [host]))).toHaveLength(count);
});

test('in a pool without slots, only owners from other pools of this host count', () => {
  const guest = { ...host, configured: new Set<string>(), owners: new Set(['o1']) };
  const agents = [agent('gpu-0'), agent('gpu-1', { owner: 'o2' })];
  expect(leftovers(agents, [guest]).map(({ name }) => name)).toEqual(['gpu-0']);
  expect(leftovers(agents, [{ ...guest, owners: new Set() }])).toEqual([]);
});
