// The state file over restarts: what an older server saved is still read, what is none is refused.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { scriptLog } from '../../../../../practice/azure/world/job/log.ts';
import { loadState } from '../../../../../practice/azure/world/saved-state.ts';
import { problem } from '../server.ts';

const folder = mkdtempSync(join(tmpdir(), 'state-'));
const file = join(folder, 'state.json');
afterAll(() => rmSync(folder, { recursive: true }));

/** As version 0.9's server saved it: one running job of one agent. */
const older = {
  nextId: 20,
  pools: [{ id: 1, name: 'Default', isHosted: false, autoUpdate: true, autoProvision: true, createdOn: '' }],
  agents: [],
  queues: [],
  projects: [{ id: 'p', name: 'vision' }],
  sessions: [
    { id: 's', agentId: 3, ownerName: 'c', lastSeen: 1, key: '', messages: [], shuttingDown: false },
  ],
  requests: [
    {
      requestId: 9,
      poolId: 1,
      jobName: 'train',
      project: 'vision',
      demands: [],
      script: 'make',
      jobId: 'j',
      planId: 'q',
      lockToken: 't',
      queueTime: 1,
      receiveTime: 2,
      lockedUntil: 3,
      agentId: 3,
      log: 'so far\n',
      runs: [],
    },
  ],
  accessTokens: { token: { agentId: 3, until: 5 } },
};

test('an older file is read: its jobs go on, with what they lacked', () => {
  writeFileSync(file, JSON.stringify(older));
  const state = loadState(file, 1000);
  const [request] = state?.requests ?? [];
  expect(state).toMatchObject({ nextId: 20, sessions: [{ id: 's', lastSeen: 1000 }] });
  expect(request).toMatchObject({
    requestId: 9,
    receiveTime: 2,
    planVersion: 12,
    environment: {},
    secrets: {},
  });
  expect(request?.timelines[request.timelineId]?.records).toMatchObject([
    { id: 'j', type: 'Job', name: 'train' },
  ]);
  expect(request === undefined ? '' : scriptLog(request)).toBe('so far\n');
});

test('no file is no state', () => {
  expect(loadState(join(folder, 'none'), 0)).toBeUndefined();
});

test.each([
  ['{"pools": [', 'no JSON'],
  ['null', 'JSON without the lists pools'],
  ['{"pools": [], "agents": {}}', 'JSON without the lists agents'],
])('%s is refused with what to do', async (content, seen) => {
  writeFileSync(file, content);
  const refused = await problem(Promise.resolve().then(() => loadState(file, 0)));
  expect(refused).toMatchObject({ code: 'azure.fake-state', seen: expect.stringContaining(seen) });
  expect(refused?.next).toContain('--state-file');
});
