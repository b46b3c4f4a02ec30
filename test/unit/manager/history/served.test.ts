// The whole daemon: what it recorded, over its control socket.
import { Agent } from 'node:http';
import { connect } from 'node:net';
import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createManagerClient } from '../../../../src/fleet/client/manager-client.ts';
import { readHistory } from '../../../../src/shared/contract/history.ts';
import { managerBefore } from '../../../support/release-before.ts';
import { ManagerRig, printed } from '../../../support/manager-rig.ts';

const healthy = readFileSync('test/fixtures/nvidia-smi/h200-pair-v13.xml', 'utf8');
const [uuid = ''] = /GPU-[\w-]+/.exec(healthy) ?? [];

let rig: ManagerRig;
beforeEach(async () => {
  rig = await ManagerRig.create(30);
  rig.plugIn('0000:83:00.0');
  rig.plugIn('0000:84:00.0');
  rig.programs.set('sh', printed(healthy));
  rig.programs.set('dmesg', printed(''));
  rig.programs.set('nvidia-smi', printed(''));
});
afterEach(() => rig.close());

class SocketAgent extends Agent {
  override createConnection() {
    return connect(rig.socket);
  }
}
const client = () => createManagerClient(new SocketAgent(), 'box');
const since = '2026-01-01T00:00:00Z';

test('drains, jobs and their GPU use, also after a kill and a restart', async () => {
  await rig.start();
  await rig.until('idle');
  await client().drain({ reason: 'fan', owner: 'ann@laptop' }, ['1']);
  await client().undrain({ slots: ['1'], owner: 'ann@laptop' });
  rig.beginJob('box-0');
  await rig.until('busy', ['0']);
  await rig.untilSampled('0');
  rig.endJob('box-0', 'train', 'Failed');
  // The drain may have stopped an agent without a job.
  const ofJob = async () => (await client().runs({ limit: 20 })).find(({ job }) => job === 'train');
  await expect.poll(ofJob).toBeDefined();
  const run = await ofJob();
  expect(run?.use).toMatchObject({ peakMemoryMiB: expect.any(Number), energyWh: expect.any(Number) });
  expect(run?.use?.samples).toBeGreaterThan(2);
  // The end of the job is on the disk within a minute.
  await expect
    .poll(() => readFileSync(`${rig.directory}/state/history.jsonl`, 'utf8'))
    .toContain('train: failed');
  await rig.kill();
  await rig.start();
  const { events, summary } = await client().history(since);
  // A busy machine may lose an agent without a job.
  const shown = events.filter(({ kind, run: ended }) => kind === 'drain' || ended?.job !== undefined);
  expect(shown.map(({ kind, what, who, slot }) => ({ kind, what, who, slot }))).toEqual([
    { kind: 'drain', what: 'slot 1 drained: fan', who: 'ann@laptop', slot: undefined },
    { kind: 'drain', what: 'slot 1: drain ended (ann@laptop: fan)', who: 'ann@laptop', slot: '1' },
    { kind: 'run', what: 'train: failed', who: undefined, slot: '0' },
  ]);
  expect(shown.at(-1)?.run).toMatchObject({ job: 'train', failed: true, gpus: [uuid], use: run?.use });
  expect(summary.jobs).toBe(1);
  expect(summary.failures).toContainEqual({ cause: 'failed', count: 1 });
  const { gpus } = await client().series(24);
  expect(gpus.map(({ gpu, powerW }) => [gpu, powerW.some((watts) => watts !== null)])).toContainEqual([
    uuid,
    true,
  ]);
});

test('events of a later time only, and a time that is none', async () => {
  await rig.start();
  await rig.until('idle');
  await client().drain({ reason: 'fan' });
  expect((await client().history('2099-01-01T00:00:00Z')).events).toEqual([]);
  await expect(client().history('yesterday')).rejects.toMatchObject({
    problem: { code: 'control.bad-request' },
  });
});

test('a manager of the previous release has none: the next action is to update it', async () => {
  const before = await managerBefore();
  try {
    await expect(createManagerClient(before.agent, 'h1').history(since)).rejects.toMatchObject({
      problem: { code: expect.stringMatching(/^(?:manager\.release|control\.not-found)$/u) },
    });
  } finally {
    before.close();
  }
});

test('an answer of a newer manager is read: unknown members and kinds stay', () => {
  const summary = { since, jobs: 1, failures: [], busy: [], new: 1 };
  const answer = {
    schema: 1,
    events: [{ at: since, kind: 'new', what: 'x', more: [1] }],
    omitted: 0,
    summary,
    z: 1,
  };
  expect(readHistory(answer)).toEqual(answer);
  expect(readHistory({ ...answer, events: [{ at: since }] })).toBeUndefined();
});
