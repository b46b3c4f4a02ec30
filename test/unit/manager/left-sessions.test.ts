// Sessions and jobs that a killed agent leaves on the server: the daemon, a
// fake Azure DevOps server and a stand-in dockerd over real sockets, agents that log in and hold sessions.
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { RunRecord } from '../../../src/shared/contract/status.ts';
import { ask } from '../../../src/manager/serve/control.ts';
import { LiveAgents } from '../../support/live-agents.ts';
import { ManagerRig } from '../../support/manager-rig.ts';
import { fault } from '../../support/fault.ts';

let rig: ManagerRig;
let live: LiveAgents;
const begin = async (speed: number): Promise<void> => {
  rig = await ManagerRig.create(speed);
  live = new LiveAgents(rig);
};
// A session lives 15 s.
beforeEach(() => begin(20));
/** The server gives a job up after 14 min, here 3.5: not before a busy machine has shown that it still has it. */
const beginSlower = async (): Promise<void> => {
  await rig.close();
  await begin(4);
};
afterEach(() => rig.close());

const one = { agents: { kind: 'count', count: 1 } } as const;
const entry = async (name = 'box-0') => rig.azure.findAgent(rig.poolId, name);
const newest = async (): Promise<RunRecord | undefined> =>
  (JSON.parse(await ask(rig.socket, { method: 'GET', path: '/v1/runs' })) as RunRecord[])[0];

/** Records the codes and next actions in the slot's status. */
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

fault(
  'session-left',
  'after a killed agent its entry is created again, with its values, instead of a wait of 5 min',
  async () => {
    await rig.start(one);
    await rig.until('idle', ['0']);
    const before = await entry();
    const id = before?.id ?? 0;
    await rig.azure.setUserCapabilities(rig.poolId, id, { ...before?.userCapabilities, room: 'B12' });
    live.kill('box-0');
    await expect.poll(async () => (await entry())?.id).not.toBe(id);
    await rig.until('idle', ['0']);
    expect(await entry()).toMatchObject({
      enabled: true,
      status: 'online',
      userCapabilities: { room: 'B12' },
    });
    expect(await newest()).toMatchObject({ exitCode: 137, cause: { code: 'agent.killed' } });
  },
);

test('an agent that a user disabled stays disabled when its entry is created again', async () => {
  await rig.start(one);
  await rig.until('idle', ['0']);
  const id = (await entry())?.id ?? 0;
  await rig.azure.setAgentEnabled(rig.poolId, id, false);
  live.kill('box-0');
  await expect.poll(async () => (await entry())?.id).not.toBe(id);
  await rig.until('idle', ['0']);
  expect(await entry()).toMatchObject({ enabled: false });
});

test('a crash between deleting and creating the entry loses no values', async () => {
  await rig.start(one);
  await rig.until('idle', ['0']);
  const before = await entry();
  await rig.azure.setUserCapabilities(rig.poolId, before?.id ?? 0, {
    ...before?.userCapabilities,
    room: 'B12',
  });
  await rig.azure.setAgentEnabled(rig.poolId, before?.id ?? 0, false);
  await rig.control.fail({ count: 10_000, method: 'POST', path: '/agents$', status: 503 });
  live.kill('box-0');
  await expect.poll(() => entry(), { interval: 5 }).toBeUndefined();
  await rig.kill();
  await rig.control.clearFaults();
  await rig.start(one);
  await rig.until('idle', ['0']);
  expect(await entry()).toMatchObject({ enabled: false, userCapabilities: { room: 'B12' } });
});

test('while a job waits for only this agent the entry stays, and the status shows the end of the session', async () => {
  await rig.start(one);
  await rig.until('idle', ['0']);
  const id = (await entry())?.id;
  const { seen, end } = watch();
  await rig.azure.setAgentEnabled(rig.poolId, id ?? 0, false);
  await rig.control.queue({ pool: 'gpu-lab', name: 'only-here', demands: ['Agent.Name -equals box-0'] });
  live.kill('box-0');
  await expect
    .poll(() => seen.get('agent.session-left'))
    .toMatch(
      /keeps the session until \d{4}-.*Z; job only-here waits for this agent alone; wait at most (?:\d min )?\d+ s/,
    );
  end();
  await rig.control.endSession('box-0');
  await rig.until('idle', ['0']);
  expect((await entry())?.id).toBe(id);
});

test('an unexpected conflict: the container is replaced, the entry created again', async () => {
  await rig.start(one);
  await rig.until('idle', ['0']);
  const id = (await entry())?.id;
  const { seen, end } = watch();
  // Docker has lost the container with its exit code; its process ended without output.
  live.forgetContainer('box-0');
  live.killForgotten();
  await expect.poll(() => seen.has('agent.session-conflict')).toBe(true);
  await expect.poll(async () => (await entry())?.id).not.toBe(id);
  await rig.until('idle', ['0']);
  end();
});

fault(
  'worker-killed',
  'a killed worker with exit code 0: status and run record show that the server still has its job',
  async () => {
    await beginSlower();
    await rig.start(one);
    await rig.until('idle', ['0']);
    await rig.control.queue({ pool: 'gpu-lab', name: 'train' });
    await rig.until('busy', ['0']);
    live.killWorker('box-0');
    const slot = async () => rig.slot('0');
    await expect.poll(async () => (await slot()).code).toBe('agent.job-assigned');
    expect((await slot()).cause).toMatch(/job train .*gives it up at \d{4}-\d\d-\d\dT[\d:]+Z$/);
    await expect.poll(async () => (await newest())?.unfinished).toMatchObject({ job: 'train' });
    expect(await newest()).toMatchObject({
      exitCode: 0,
      result: 'failed',
      cause: { code: 'run.result-missing' },
      unfinished: { until: expect.stringMatching(/^\d{4}-.*Z$/) as string },
    });
  },
);

test('a drained slot shows that the server still has its job, also after a restart of the manager', async () => {
  await beginSlower();
  await rig.start(one);
  await rig.until('idle', ['0']);
  await rig.control.queue({ pool: 'gpu-lab', name: 'train' });
  await rig.until('busy', ['0']);
  await rig.post('/v1/drain', { reason: 'new disk' });
  live.killWorker('box-0');
  await rig.until('drained', ['0']);
  const said = async () => (await rig.slot('0')).cause;
  const both = /new disk.*; the server still counts job train as running on agent box-0/;
  await expect.poll(said).toMatch(both);
  await rig.kill();
  await rig.start(one);
  await rig.until('drained', ['0']);
  await expect.poll(said).toMatch(both);
});
