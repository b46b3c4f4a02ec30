// With fewer parallel jobs permitted than there are agents, agents stay idle while jobs wait.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../../../src/shared/base/clock.ts';
import { fakeControl, type FakeControl } from '../../../../practice/azure/control/control.ts';
import { startFake, type RunningFake } from '../../../../practice/azure/start.ts';
import { idleAgent } from '../../../../practice/azure/world/idle-agent.ts';
import { emptyState } from '../../../../practice/azure/world/new-organization.ts';
import { apiOf } from './api.ts';

const folder = mkdtempSync(join(tmpdir(), 'azure-'));
let server: RunningFake;
let control: FakeControl;
const call = apiOf({
  get server() {
    return server;
  },
});

/** Eight agents that listen. */
function listening() {
  const now = Date.now();
  const ids = Array.from({ length: 8 }, (_, index) => 100 + index);
  return {
    ...emptyState(['vision'], now),
    nextId: 1000,
    agents: ids.map((id) => idleAgent(id, 1, `a-${id}`, { baseUrl: 'http://127.0.0.1/lab', now })),
    sessions: ids.map((agentId) => ({
      id: `session-${agentId}`,
      agentId,
      ownerName: '',
      lastSeen: now,
      key: '',
      messages: [],
      shuttingDown: false,
    })),
  };
}

beforeAll(async () => {
  const stateFile = join(folder, 'state.json');
  writeFileSync(join(folder, 'token'), 'good-token');
  writeFileSync(stateFile, JSON.stringify(listening()));
  const options = { host: '127.0.0.1', port: 0, organization: 'lab', projects: [], stateFile };
  server = await startFake({ ...options, tokenFile: join(folder, 'token'), clock: systemClock(1) });
  control = fakeControl(server.origin);
});
afterAll(async () => {
  await server.close();
  rmSync(folder, { recursive: true });
});

const root = '/_apis/distributedtask';
const usage = async (query = '') =>
  (await call('GET', `${root}/resourceusage?parallelismTag=Private${query}&api-version=7.1-preview.1`)).json;
const states = async () => (await control.jobs()).map(({ state }) => state);

test('without a limit the number is the one for "unlimited"', async () => {
  expect(await usage()).toMatchObject({ usedCount: 0, resourceLimit: { totalCount: 2_147_483_647 } });
});

test.each([1.5, -1])('%s is no limit', async (wrong) => {
  await expect(control.limitJobs(wrong)).rejects.toThrow('parallelJobs: ');
});

test('eight agents, one permitted job: one runs, and the next when it has ended', async () => {
  await control.limitJobs(1);
  const jobs = await control.queue({ pool: 'Default', count: 3 });
  expect(await states()).toEqual(['assigned', 'waiting', 'waiting']);
  expect(await usage('&includeRunningRequests=True')).toMatchObject({
    usedCount: 1,
    runningRequests: [{ requestId: jobs[0]?.id, reservedAgent: { name: 'a-100', status: 'online' } }],
    resourceLimit: { totalCount: 1, isHosted: false, parallelismTag: 'Private' },
  });
  const first = `${root}/pools/1/jobrequests/${jobs[0]?.id}`;
  await call('DELETE', `${first}?lockToken=00000000-0000-0000-0000-000000000000`);
  expect(await states()).toEqual(['done', 'assigned', 'waiting']);
  await control.limitJobs(null);
  expect(await states()).toEqual(['done', 'assigned', 'assigned']);
});

test('the four limits are listed', async () => {
  await control.limitJobs(2);
  const { json } = await call('GET', `${root}/resourcelimits?api-version=7.1-preview.1`);
  expect(json).toMatchObject({
    count: 4,
    value: [
      { parallelismTag: 'Private', isHosted: false, totalCount: 2 },
      { parallelismTag: 'Private', isHosted: true },
      { parallelismTag: 'Public', isHosted: false },
      { parallelismTag: 'Public', isHosted: true },
    ],
  });
});
