import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ManagerRig } from '../../../support/manager-rig.ts';
import { fault } from '../../../support/fault.ts';

// The daemon with a fake Azure DevOps server and a stand-in dockerd, both over real sockets; what nvidia-smi prints is
// text of a file.
let rig: ManagerRig;
beforeEach(async () => {
  rig = await ManagerRig.create();
  rig.plugIn('0000:83:00.0');
  rig.plugIn('0000:84:00.0');
});
afterEach(() => rig.close());

const answered = {
  code: 0,
  output: readFileSync('test/fixtures/nvidia-smi/h200-pair-v13.xml', 'utf8'),
  timedOut: false,
  stillRunning: () => false,
};
const hanging = { code: -1, output: '', timedOut: true, stillRunning: () => true };

test('nvidia-smi gets the time that cold GPUs need, at any speed of the clock', async () => {
  rig.programs.set('sh', answered);
  await rig.start();
  await rig.until('idle');
  expect(rig.deadlines.get('sh')).toBe(60_000);
});

fault(
  'smi-hangs',
  'an nvidia-smi that hangs in the kernel quarantines the slots, and no second one is started',
  async () => {
    rig.programs.set('sh', answered);
    await rig.start();
    await rig.until('idle');
    rig.programs.set('sh', hanging);
    await rig.until('quarantined');
    expect((await rig.status()).health.state).toBe('hung');
  },
);
