import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { SlotStatus, RunRecord } from '../../../src/shared/contract/status.ts';
import { ask } from '../../../src/manager/serve/control.ts';
import { ManagerRig } from '../../support/manager-rig.ts';

// Every cause that a slot can be held up by, from the fault itself to the words in the status, and back. The server and
// dockerd are stand-ins over real sockets (see manager-rig.ts); the full disk is a measurement that the test makes.
let rig: ManagerRig;
beforeEach(async () => {
  rig = await ManagerRig.create();
});
afterEach(() => rig.close());

const patience = { timeout: 50_000 };
const one = { agents: { kind: 'count', count: 1 } } as const;

async function problem(): Promise<string | undefined> {
  return (await rig.status()).problems[0]?.code;
}

/** Until the slot is said to be held up by this; what the reader is told then. */
async function heldUp(code: string, state?: SlotStatus['state']) {
  const seen = async () => {
    const slot = await rig.slot('0');
    return { code: slot.code, state: state === undefined ? undefined : slot.state };
  };
  await expect.poll(seen, patience).toEqual({ code, state });
  const { cause, next } = await rig.slot('0');
  expect(next).toMatch(/\w+/);
  return cause;
}

test('throttled: nothing new is started, running agents go on, and it ends with the throttling', async () => {
  await rig.start(one);
  await rig.until('idle', ['0']);
  await rig.control.fail({ count: 10_000, status: 429 });
  await expect.poll(problem, patience).toBe('azure.throttled');
  expect(rig.docker.get('box-0')?.state).toBe('running');
  rig.beginJob('box-0');
  rig.endJob('box-0');
  await heldUp('azure.throttled', 'waiting');
  await rig.control.clearFaults();
  await rig.until('idle', ['0']);
  expect((await rig.status()).problems).toEqual([]);
});

test('no permission: the role that is missing is named', async () => {
  await rig.control.deny(['pools.manage']);
  await rig.start(one);
  await heldUp('azure.permission');
  expect((await rig.slot('0')).next).toContain('Administrator role of the pool');
  await rig.control.deny([]);
  await rig.until('idle', ['0']);
});

test('a full disk: nothing new is started, a running agent goes on', async () => {
  await rig.start(one);
  await rig.until('idle', ['0']);
  rig.disk = { freeBytes: 1024 ** 3, totalBytes: 1000 * 1024 ** 3, freeInodes: 1 };
  await expect.poll(problem, patience).toBe('disk.full');
  expect(rig.docker.get('box-0')?.state).toBe('running');
  rig.beginJob('box-0');
  rig.endJob('box-0');
  await heldUp('disk.full', 'waiting');
  rig.disk = { freeBytes: 500 * 1024 ** 3, totalBytes: 1000 * 1024 ** 3, freeInodes: 1 };
  await rig.until('idle', ['0']);
});

test('a container that lost its GPU: said, and the slot gets a new one', async () => {
  rig.docker.onStart = ({ id }) => {
    rig.docker.say(id, 'Failed to initialize NVML: Unknown Error');
    rig.docker.end(id, 1);
  };
  await rig.start(one);
  expect(await heldUp('gpu.lost-in-container')).toBe('the container lost its GPU');
  rig.docker.onStart = (container) => rig.listen(container);
  await rig.until('idle', ['0']);
});

test('an image that the registry does not have: said, and asked for again', async () => {
  rig.docker.faults.push({
    path: /^POST \/images\/create$/,
    status: 404,
    message: 'manifest for registry.example/agent:typo not found',
    times: 3,
  });
  await rig.start({ ...one, image: { kind: 'registry', reference: 'registry.example/agent:typo' } });
  await expect.poll(async () => (await rig.status()).image.state, patience).toBe('failed');
  expect((await rig.slot('0')).cause).toContain('not found');
  await rig.until('idle', ['0']);
});

test('a dataset that is missing: the slot waits, is asked for again without a back-off, and goes on', async () => {
  const host = join(rig.directory, 'data');
  mkdirSync(host);
  await rig.start({
    ...one,
    datasets: [{ name: 'DATA', host, container: '/data', requireMount: false }],
  });
  expect(await heldUp('dataset.unusable', 'waiting')).toBe(`dataset DATA: ${host} is empty`);
  const tries = () => rig.logged.filter(({ message }) => message === 'launch').length;
  await expect.poll(tries, patience).toBeGreaterThan(6);
  writeFileSync(join(host, 'x'), '');
  await rig.until('idle', ['0']);
});

test('an agent that the server wants to update: image outdated, also while it waits for jobs', async () => {
  await rig.start(one);
  await rig.until('idle', ['0']);
  const { id = 0 } = (await rig.azure.findAgent(rig.poolId, 'box-0')) ?? {};
  const order = `${rig.fake.organization}/_apis/distributedtask/pools/${rig.poolId}/messages?agentId=${id}&api-version=7.1`;
  const authorization = `Basic ${Buffer.from(':good-token').toString('base64')}`;
  const answer = await fetch(order, { method: 'POST', headers: { authorization } });
  expect(answer.status).toBe(200);
  await heldUp('image.outdated', 'idle');
  await expect.poll(problem, patience).toBe('image.outdated');
});

test('runs of a slot that was taken away are forgotten after a week, those of the others stay', async () => {
  // With their part of the memory the others would start anew when one goes.
  const limits = { memory: '8g' };
  await rig.start({ agents: { kind: 'count', count: 2 }, limits });
  await rig.until('idle');
  for (const name of ['box-0', 'box-1']) {
    const { id } = rig.docker.get(name) ?? {};
    rig.beginJob(name);
    rig.endJob(name);
    await expect.poll(() => rig.docker.get(name)?.id, patience).not.toBe(id);
  }
  await rig.stop();
  const kept = async (): Promise<readonly string[]> =>
    (JSON.parse(await ask(rig.socket, { method: 'GET', path: '/v1/runs' })) as RunRecord[]).map(
      ({ slot }) => slot,
    );
  rig.clock.wallAhead = 8 * 24 * 3_600_000;
  await rig.start({ ...one, limits });
  await rig.until('idle', ['0']);
  await expect.poll(kept, patience).toEqual(['0']);
});
