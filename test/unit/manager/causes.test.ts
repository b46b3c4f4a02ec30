import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { SlotStatus, RunRecord } from '../../../src/shared/contract/status.ts';
import { ask } from '../../../src/manager/serve/control.ts';
import { ManagerRig } from '../../support/manager-rig.ts';
import { fault } from '../../support/fault.ts';

// Every cause that can close a slot, from the fault to the status, and its end. The server and
// dockerd are stand-ins over real sockets (see manager-rig.ts); the test sets the measured disk space.
let rig: ManagerRig;
beforeEach(async () => {
  rig = await ManagerRig.create();
});
afterEach(() => rig.close());

const one = { agents: { kind: 'count', count: 1 } } as const;

async function problem(): Promise<string | undefined> {
  return (await rig.status()).problems[0]?.code;
}

/** Waits until the slot's status has this code, and returns the cause. */
async function closedBy(code: string, state?: SlotStatus['state']) {
  const seen = async () => {
    const slot = await rig.slot('0');
    return { code: slot.code, state: state === undefined ? undefined : slot.state };
  };
  await expect.poll(seen).toEqual({ code, state });
  const { cause, next } = await rig.slot('0');
  expect(next).toMatch(/\w+/);
  return cause;
}

fault(
  'throttled',
  'throttled: no launches, running agents continue, and launches resume when it ends',
  async () => {
    await rig.start(one);
    await rig.until('idle', ['0']);
    await rig.control.fail({ count: 10_000, status: 429 });
    await expect.poll(problem).toBe('azure.throttled');
    expect(rig.docker.get('box-0')?.state).toBe('running');
    rig.beginJob('box-0');
    rig.endJob('box-0');
    await closedBy('azure.throttled', 'waiting');
    await rig.control.clearFaults();
    await rig.until('idle', ['0']);
    expect((await rig.status()).problems).toEqual([]);
  },
);

test('no permission: the missing role is named', async () => {
  await rig.control.deny(['pools.manage']);
  await rig.start(one);
  await closedBy('azure.permission');
  expect((await rig.slot('0')).next).toContain('Administrator role of the pool');
  await rig.control.deny([]);
  await rig.until('idle', ['0']);
});

test('a full disk: no launches, and a running agent continues', async () => {
  await rig.start(one);
  await rig.until('idle', ['0']);
  rig.disk = { freeBytes: 1024 ** 3, totalBytes: 1000 * 1024 ** 3, freeInodes: 1 };
  await expect.poll(problem).toBe('disk.full');
  expect(rig.docker.get('box-0')?.state).toBe('running');
  rig.beginJob('box-0');
  rig.endJob('box-0');
  await closedBy('disk.full', 'waiting');
  rig.disk = { freeBytes: 500 * 1024 ** 3, totalBytes: 1000 * 1024 ** 3, freeInodes: 1 };
  await rig.until('idle', ['0']);
});

test('a container that lost its GPU is reported and replaced', async () => {
  rig.docker.onStart = ({ id }) => {
    rig.docker.say(id, 'Failed to initialize NVML: Unknown Error');
    rig.docker.end(id, 1);
  };
  await rig.start(one);
  expect(await closedBy('gpu.lost-in-container')).toBe('the container lost its GPU');
  rig.docker.onStart = (container) => rig.listen(container);
  await rig.until('idle', ['0']);
});

test('an image that the registry does not have is reported and pulled again', async () => {
  rig.docker.faults.push({
    path: /^POST \/images\/create$/,
    status: 404,
    message: 'manifest for registry.example/agent:typo not found',
    times: 3,
  });
  await rig.start({ ...one, image: { kind: 'registry', reference: 'registry.example/agent:typo' } });
  await expect.poll(async () => (await rig.status()).image.state).toBe('failed');
  expect((await rig.slot('0')).cause).toContain('not found');
  await rig.until('idle', ['0']);
});

test('a missing dataset: the slot waits, checks again without a back-off, and continues', async () => {
  const host = join(rig.directory, 'data');
  mkdirSync(host);
  await rig.start({
    ...one,
    datasets: [{ name: 'DATA', host, container: '/data', requireMount: false }],
  });
  expect(await closedBy('dataset.unusable', 'waiting')).toBe(`dataset DATA: ${host} is empty`);
  const tries = () => rig.logged.filter(({ message }) => message === 'launch').length;
  await expect.poll(tries).toBeGreaterThan(6);
  writeFileSync(join(host, 'x'), '');
  await rig.until('idle', ['0']);
});

test('an agent that the server asks to update: image outdated, also while it is idle', async () => {
  await rig.start(one);
  await rig.until('idle', ['0']);
  const { id = 0 } = (await rig.azure.findAgent(rig.poolId, 'box-0')) ?? {};
  const order = `${rig.fake.organization}/_apis/distributedtask/pools/${rig.poolId}/messages?agentId=${id}&api-version=7.1`;
  const authorization = `Basic ${Buffer.from(':good-token').toString('base64')}`;
  const answer = await fetch(order, { method: 'POST', headers: { authorization } });
  expect(answer.status).toBe(200);
  await closedBy('image.outdated', 'idle');
  // It still takes jobs.
  expect((await rig.status()).problems).toEqual([]);
  rig.beginJob('box-0');
  await closedBy('image.outdated', 'busy');
});

test('an agent that downloads its update: image outdated, before the pool shows it', async () => {
  await rig.start(one);
  await rig.until('idle', ['0']);
  const { id = '' } = rig.docker.get('box-0') ?? {};
  rig.docker.say(id, 'Agent update in progress, do not shutdown agent.');
  rig.docker.say(id, 'Downloading 5.999.0 agent');
  await closedBy('image.outdated', 'idle');
});

test('run records of a removed slot are deleted after a week, those of others stay', async () => {
  // A fixed limit: with an equal part of the memory, the other agents would restart when a slot is removed.
  const limits = { memory: '8g' };
  await rig.start({ agents: { kind: 'count', count: 2 }, limits });
  await rig.until('idle');
  for (const name of ['box-0', 'box-1']) {
    const { id } = rig.docker.get(name) ?? {};
    rig.beginJob(name);
    rig.endJob(name);
    await expect.poll(() => rig.docker.get(name)?.id).not.toBe(id);
  }
  await rig.stop();
  const kept = async (): Promise<readonly string[]> =>
    (JSON.parse(await ask(rig.socket, { method: 'GET', path: '/v1/runs' })) as RunRecord[]).map(
      ({ slot }) => slot,
    );
  rig.clock.wallAhead = 8 * 24 * 3_600_000;
  await rig.start({ ...one, limits });
  await rig.until('idle', ['0']);
  await expect.poll(kept).toEqual(['0']);
});
