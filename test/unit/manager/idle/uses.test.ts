import { expect, test } from 'vitest';
import type { JobRequest } from '../../../../src/shared/azure/client.ts';
import { jobWaiting, otherContainers, ownUses, type OwnView } from '../../../../src/manager/idle/uses.ts';

const none: OwnView = {
  host: 'h200-1',
  busy: [],
  assigned: [],
  drains: [],
  images: [],
  isRenewing: false,
  otherProcesses: [],
};

test.each<[string, Partial<OwnView>, readonly string[]]>([
  ['nothing', { images: [{ state: 'ready' }] }, []],
  ['a failed image', { images: [{ state: 'failed' }, { state: 'missing' }] }, []],
  ['a job', { busy: [{ agent: 'box-0', job: 'train' }] }, ['box-0 runs train']],
  ['a possible job', { busy: [{ agent: 'box-0' }] }, ['box-0 runs a job']],
  [
    'a job that the server shows',
    { assigned: [{ agent: 'box-0', job: 'train' }] },
    ['the server shows train on box-0'],
  ],
  [
    'a drain',
    { drains: [{ reason: 'new fan', at: '', owner: 'ann@laptop' }] },
    ['it is drained by ann@laptop: new fan'],
  ],
  [
    'an image that is pulled',
    { images: [{ state: 'pulling' }] },
    ['the agent image is being built or pulled'],
  ],
  [
    'an image that is built',
    { images: [{ state: 'building' }] },
    ['the agent image is being built or pulled'],
  ],
  ['a requested image refresh', { isRenewing: true }, ['the agent image is being built or pulled']],
  [
    'another process on a GPU',
    { otherProcesses: [{ code: 'gpu.in-use', what: '15.6 GiB held by alice', next: 'wait' }] },
    ['15.6 GiB held by alice'],
  ],
])('what keeps a machine on: %s', (_, view, expected) => {
  const uses = ownUses({ ...none, ...view });
  expect(uses.map(({ what }) => what)).toEqual(expected);
  expect(uses.every(({ kind }) => kind === 'use')).toBe(true);
});

test.each([
  ['runs: canceling ends it', [{ agent: 'box-0' }], /^let it end, or cancel it in Azure DevOps$/],
  [
    'has ended: canceling does nothing',
    [],
    /^wait: the server gives it up at 2026-11-21T02:15:00Z; canceling .* no sooner/,
  ],
])('a job that the server shows on an agent that %s', (_, busy, expected) => {
  const assigned = [{ agent: 'box-0', job: 'train', until: '2026-11-21T02:15:00Z' }];
  expect(ownUses({ ...none, assigned, busy }).at(-1)?.next).toMatch(expected);
});

test("other users' containers keep a machine on, unless they have the label", () => {
  const running = [
    { name: 'train', labels: {} },
    { name: 'dcgm-exporter', labels: { 'azp-fleet.idle': 'ignore' } },
    { name: 'odd', labels: { 'azp-fleet.idle': 'yes' } },
    { name: 'box-0', labels: { 'azp-fleet.kind': 'agent', 'azp-fleet.owner': 'me' } },
    { name: 'probe', labels: { 'azp-fleet.kind': 'probe' } },
    { name: 'from-our-image', labels: { 'azp-fleet.kind': 'image' } },
    { name: 'theirs-0', labels: { 'azp-fleet.kind': 'agent', 'azp-fleet.owner': 'them' } },
  ];
  expect(otherContainers(running, 'me').map(({ what }) => what)).toEqual([
    'container train is running',
    'container odd is running',
    'container from-our-image is running',
    'container theirs-0 is running',
  ]);
});

const waiting: JobRequest = { requestId: 7, jobName: 'train', queueTime: '2026-11-22T13:00:00Z' };
const matched = (...ids: readonly number[]) => ({ ...waiting, matchedAgents: ids.map((id) => ({ id })) });

test.each<[string, readonly JobRequest[], readonly number[], string | undefined]>([
  ['none', [], [1], undefined],
  ['matched to this host', [matched(1, 2)], [1], 'job train waits in pool gpu'],
  ['matched to other hosts', [matched(2, 3)], [1], undefined],
  ['matched to no agent', [matched()], [1], undefined],
  ['without matched agents in the response', [waiting], [1], 'job train waits in pool gpu'],
  ['the same, without an agent here that accepts jobs', [waiting], [], undefined],
  ['without a name', [{ requestId: 7 }], [1], 'job 7 waits in pool gpu'],
  ['running', [{ ...matched(1), receiveTime: '2026-11-22T13:00:00Z' }], [1], undefined],
  ['with an agent', [{ ...matched(1), reservedAgent: { id: 2, name: 'b' } }], [1], undefined],
  ['ended', [{ ...matched(1), result: 'canceled' }], [1], undefined],
])('a waiting job: %s', (_, requests, agents, expected) => {
  expect(jobWaiting('gpu', requests, new Set(agents))?.what).toBe(expected);
});
