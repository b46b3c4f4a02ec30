// Docker fails to return the output of an ended container. The run record is best effort: the container is removed.
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { RunRecord } from '../../../src/shared/contract/status.ts';
import { ask } from '../../../src/manager/serve/control.ts';
import { ManagerRig } from '../../support/manager-rig.ts';
import { fault } from '../../support/fault.ts';

let rig: ManagerRig;
beforeEach(async () => {
  rig = await ManagerRig.create();
});
afterEach(() => rig.close());

const runs = async (): Promise<readonly RunRecord[]> =>
  JSON.parse(await ask(rig.socket, { method: 'GET', path: '/v1/runs?slot=0' })) as RunRecord[];

/** Makes Docker refuse the output of slot 0's container this many times; returns the container's id. */
function refuseOutput(times: number): string {
  const { id = '' } = rig.docker.get('box-0') ?? {};
  rig.docker.fail(new RegExp(`^GET /containers/${id}/logs$`), 500, 'log driver: short read', times);
  return id;
}

fault(
  'output-lost',
  'a container without output from Docker is removed, and its followed output shows how it ended',
  async () => {
    await rig.start();
    await rig.until('idle');
    rig.beginJob('box-0');
    await rig.until('busy', ['0']);
    const first = refuseOutput(Number.POSITIVE_INFINITY);
    rig.endJob('box-0');
    await expect.poll(() => rig.docker.containers.has(first)).toBe(false);
    await rig.until('idle');
    expect(await rig.slot('0')).toMatchObject({ jobsRun: 1 });
    expect(await runs()).toMatchObject([
      {
        job: 'train',
        result: 'succeeded',
        log: [
          expect.stringMatching(
            /^azp-fleet: Docker did not return .*.*: .*log driver: short read$/,
          ) as string,
        ],
      },
    ]);
  },
);

fault('output-of-before', 'the record of a run without output has nothing of the run before it', async () => {
  await rig.start({ agents: { kind: 'count', count: 1 } });
  await rig.until('idle', ['0']);
  rig.beginJob('box-0');
  await rig.until('busy', ['0']);
  const { id } = rig.docker.get('box-0') ?? {};
  rig.endJob('box-0');
  await expect.poll(() => rig.docker.get('box-0')?.id ?? id).not.toBe(id);
  await rig.until('idle', ['0']);
  refuseOutput(Number.POSITIVE_INFINITY);
  rig.docker.end('box-0', 1);
  await expect.poll(async () => (await runs()).length).toBe(2);
  const [second, first] = await runs();
  expect(first).toMatchObject({ job: 'train', result: 'succeeded' });
  expect([second?.job, second?.result, second?.durationS, second?.exitCode]).toEqual([
    undefined,
    undefined,
    undefined,
    1,
  ]);
  expect(second?.log.join()).not.toContain('train');
});

test('output that Docker returns at the second try is kept', async () => {
  await rig.start();
  await rig.until('idle');
  rig.beginJob('box-0');
  await rig.until('busy', ['0']);
  refuseOutput(2);
  rig.endJob('box-0');
  await expect
    .poll(async () => (await runs())[0]?.log)
    .toContain('2026-11-21 02:00:02Z: Job train completed with result: Succeeded');
});

test('a run without any output is not the fault of the image', async () => {
  await rig.start();
  await rig.until('idle');
  await rig.stop();
  const first = refuseOutput(Number.POSITIVE_INFINITY);
  rig.docker.end('box-0', 0);
  await rig.start();
  await expect.poll(() => rig.docker.containers.has(first)).toBe(false);
  await rig.until('idle');
  expect(await runs()).toMatchObject([{ cause: { code: 'run.output-lost' } }]);
});
