// A manager in a terminal that a user stops with Ctrl-C. The daemon with a fake Azure DevOps server and a stand-in
// dockerd.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ManagerRig } from '../../support/manager-rig.ts';
import { fault } from '../../support/fault.ts';

let rig: ManagerRig;
beforeEach(async () => {
  rig = await ManagerRig.create();
});
afterEach(() => rig.close());

const names = (): string[] => [...rig.docker.containers.values()].map(({ name }) => name);

fault('ctrl-c', 'it stops idle agents and exits', async () => {
  await rig.start();
  await rig.until('idle');
  await rig.leave();
  expect(names()).toEqual([]);
  expect((await rig.azure.listAgents(rig.poolId)).map(({ enabled }) => enabled)).toEqual([false, false]);
  await rig.start();
  await rig.until('idle');
});

test('a running job finishes, then the manager exits with the run record kept', async () => {
  await rig.start();
  await rig.until('idle');
  rig.beginJob('box-0', 'train');
  await rig.until('busy', ['0']);
  const ended = rig.leave();
  await expect.poll(names).toEqual(['box-0']);
  expect(rig.docker.get('box-0')?.state).toBe('running');
  rig.endJob('box-0', 'train');
  await ended;
  expect(names()).toEqual([]);
  expect(rig.logged.filter(({ message }) => message === 'run ended').at(-1)?.fields).toMatchObject({
    job: 'train',
    result: 'succeeded',
  });
});

test('the second Ctrl-C leaves the job running and names it', async () => {
  await rig.start();
  await rig.until('idle');
  rig.beginJob('box-0', 'train');
  await rig.until('busy', ['0']);
  const ended = rig.leave();
  await expect.poll(names).toEqual(['box-0']);
  await rig.stop();
  await ended;
  expect(rig.docker.get('box-0')?.state).toBe('running');
  const [stopping] = rig.logged.filter(
    ({ message }) => message === 'stopping; agent containers keep running',
  );
  expect(stopping?.fields).toMatchObject({ jobs: ['box-0: train'] });
});
