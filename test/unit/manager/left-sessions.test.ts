// What an agent leaves with the server when it ends without a word, and what the slot makes of it: the whole daemon, a
// fake Azure DevOps server and a stand-in dockerd over real sockets, agents that log in and hold sessions.
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { RunRecord } from '../../../src/shared/contract/status.ts';
import { ask } from '../../../src/manager/serve/control.ts';
import { LiveAgents } from '../../support/live-agents.ts';
import { ManagerRig } from '../../support/manager-rig.ts';

let rig: ManagerRig;
let live: LiveAgents;
beforeEach(async () => {
  // A session lives 15 s.
  rig = await ManagerRig.create(20);
  live = new LiveAgents(rig);
});
afterEach(() => rig.close());

const one = { agents: { kind: 'count', count: 1 } } as const;
const patience = { timeout: 50_000 };
const entry = async (name = 'box-0') => rig.azure.findAgent(rig.poolId, name);
const newest = async (): Promise<RunRecord | undefined> =>
  (JSON.parse(await ask(rig.socket, { method: 'GET', path: '/v1/runs' })) as RunRecord[])[0];

/** Every code and next action that the slot's status has shown. */
function watch(): { readonly seen: ReadonlyMap<string, string>; readonly end: () => void } {
  const seen = new Map<string, string>();
  const timer = setInterval(() => {
    void rig.slot('0').then(
      ({ code, cause = '', next = '' }) => code !== undefined && seen.set(code, `${cause}; ${next}`),
      () => undefined,
    );
  }, 10);
  return { seen, end: () => clearInterval(timer) };
}

test('a killed agent costs its slot no five minutes: the entry is made anew, and what it carried stays', async () => {
  await rig.start(one);
  await rig.until('idle', ['0']);
  const before = await entry();
  const id = before?.id ?? 0;
  await rig.azure.setUserCapabilities(rig.poolId, id, { ...before?.userCapabilities, room: 'B12' });
  live.die('box-0');
  await expect.poll(async () => (await entry())?.id, patience).not.toBe(id);
  await rig.until('idle', ['0']);
  expect(await entry()).toMatchObject({ enabled: true, status: 'online', userCapabilities: { room: 'B12' } });
  expect(await newest()).toMatchObject({ exitCode: 137, cause: { code: 'agent.killed' } });
});

test('an agent that somebody disabled by hand stays disabled when its entry is made anew', async () => {
  await rig.start(one);
  await rig.until('idle', ['0']);
  const id = (await entry())?.id ?? 0;
  await rig.azure.setAgentEnabled(rig.poolId, id, false);
  live.die('box-0');
  await expect.poll(async () => (await entry())?.id, patience).not.toBe(id);
  await rig.until('idle', ['0']);
  expect(await entry()).toMatchObject({ enabled: false });
});

test('a manager that dies between deleting and registering loses nothing of the entry', async () => {
  await rig.start(one);
  await rig.until('idle', ['0']);
  const before = await entry();
  await rig.azure.setUserCapabilities(rig.poolId, before?.id ?? 0, {
    ...before?.userCapabilities,
    room: 'B12',
  });
  await rig.azure.setAgentEnabled(rig.poolId, before?.id ?? 0, false);
  await rig.control.fail({ count: 10_000, method: 'POST', path: '/agents$', status: 503 });
  live.die('box-0');
  await expect.poll(() => entry(), { ...patience, interval: 5 }).toBeUndefined();
  await rig.kill();
  await rig.control.clearFaults();
  await rig.start(one);
  await rig.until('idle', ['0']);
  expect(await entry()).toMatchObject({ enabled: false, userCapabilities: { room: 'B12' } });
});

test('while a job waits for this agent alone the entry stays: the slot says how long the session does', async () => {
  await rig.start(one);
  await rig.until('idle', ['0']);
  const id = (await entry())?.id;
  const { seen, end } = watch();
  await rig.azure.setAgentEnabled(rig.poolId, id ?? 0, false);
  await rig.control.queue({ pool: 'gpu-lab', name: 'only-here', demands: ['Agent.Name -equals box-0'] });
  live.die('box-0');
  await expect
    .poll(() => seen.get('agent.session-left'), patience)
    .toMatch(
      /keeps the session until \d{4}-.*Z; job only-here waits for this agent alone; wait: (?:\d min )?\d+ s are left/,
    );
  end();
  await rig.control.endSession('box-0');
  await rig.until('idle', ['0']);
  expect((await entry())?.id).toBe(id);
});

test('a conflict that nobody foresaw: the container is given up, the entry made anew', async () => {
  await rig.start(one);
  await rig.until('idle', ['0']);
  const id = (await entry())?.id;
  const { seen, end } = watch();
  // Docker has lost the container with its exit code; its process dies without a word.
  live.lose('box-0');
  live.killLost();
  await expect.poll(() => seen.has('agent.session-conflict'), patience).toBe(true);
  await expect.poll(async () => (await entry())?.id, patience).not.toBe(id);
  await rig.until('idle', ['0']);
  end();
});

test('a killed worker: exit code 0, and the server still counts its job, which status and evidence say', async () => {
  await rig.start(one);
  await rig.until('idle', ['0']);
  await rig.control.queue({ pool: 'gpu-lab', name: 'train' });
  await rig.until('busy', ['0']);
  live.killWorker('box-0');
  const slot = async () => rig.slot('0');
  await expect.poll(async () => (await slot()).code, patience).toBe('agent.job-assigned');
  expect((await slot()).cause).toMatch(/job train .*gives it up at \d{4}-\d\d-\d\dT[\d:]+Z$/);
  await expect.poll(async () => (await newest())?.unfinished, patience).toMatchObject({ job: 'train' });
  expect(await newest()).toMatchObject({
    exitCode: 0,
    result: 'failed',
    cause: { code: 'run.result-missing' },
    unfinished: { until: expect.stringMatching(/^\d{4}-.*Z$/) as string },
  });
});

test('a drained slot says that the server still counts its job, also after a restart of the manager', async () => {
  await rig.start(one);
  await rig.until('idle', ['0']);
  await rig.control.queue({ pool: 'gpu-lab', name: 'train' });
  await rig.until('busy', ['0']);
  await rig.post('/v1/drain', { reason: 'new disk' });
  live.killWorker('box-0');
  await rig.until('drained', ['0']);
  const said = async () => (await rig.slot('0')).cause;
  const both = /new disk.*; the server still counts job train as running on agent box-0/;
  await expect.poll(said, patience).toMatch(both);
  await rig.kill();
  await rig.start(one);
  await rig.until('drained', ['0']);
  await expect.poll(said, patience).toMatch(both);
});
