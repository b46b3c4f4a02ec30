import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { CommandResult } from '../../../../src/manager/machine/command.ts';
import { failed, ManagerRig, printed } from '../../../support/manager-rig.ts';

// The daemon with a fake Azure DevOps server and a stand-in dockerd, both over real sockets; what nvidia-smi prints is
// text of this file. On this clock a check is due every 0.2 s.
let rig: ManagerRig;
beforeEach(async () => {
  rig = await ManagerRig.create();
  rig.plugIn('0000:83:00.0');
  rig.plugIn('0000:84:00.0');
  rig.programs.set('dmesg', printed(''));
});
afterEach(() => rig.close());

const healthy = readFileSync('test/fixtures/nvidia-smi/h200-pair-v13.xml', 'utf8');
const well = printed(healthy);
const [first = '', second = ''] = healthy.split(/(?=<gpu id="00000000:84)/);
const secondIll = printed(first + second.replace(/(<dram_uncorrectable>)0/, '$11'));
const noFork = failed(-1, 'spawn sh EAGAIN');

/** Sets the results of nvidia-smi for the next checks; the last one repeats. `given`: all were used, the last twice. */
function smi(...answers: readonly CommandResult[]): { readonly given: Promise<void> } {
  let at = 0;
  const { promise, resolve } = Promise.withResolvers<void>();
  rig.programs.set('sh', ([, script = '']) => {
    // The query for all GPUs is the first of a check.
    if (script.startsWith('nvidia-smi')) at += 1;
    if (at > answers.length) resolve();
    return answers[Math.min(at, answers.length) - 1] ?? well;
  });
  return { given: promise };
}

const agent = async (name: string) => {
  const found = await rig.azure.findAgent(rig.poolId, name);
  return { enabled: found?.enabled, reason: found?.userCapabilities?.['azp-fleet.disabled'] };
};
/** Lists the slots with this action. */
const logged = (action: string) =>
  rig.logged.flatMap(({ message, fields }) =>
    message === action ? [(fields as { slot: string }).slot] : [],
  );
const closings = () => logged('disable');
const codes = async () => (await rig.status()).health.findings.map(({ code }) => code);

describe('a failure of the whole host needs two checks', () => {
  test.each([
    ['no process can be created', noFork],
    ['nvidia-smi is out of memory', failed(137, 'Killed')],
    ['nvidia-smi reports another driver, as during an update', failed(18, 'Driver/library version mismatch')],
  ])('once %s: no slot is closed', async (_, failure) => {
    smi(well);
    await rig.start();
    await rig.until('idle');
    await smi(failure, well).given;
    await rig.until('idle');
    expect(closings()).toEqual([]);
    expect((await rig.status()).health.state).toBe('healthy');
  });

  test('the second failure closes all slots, even if it is another one', async () => {
    smi(well);
    await rig.start();
    await rig.until('idle');
    await smi(noFork, failed(18, 'Driver/library version mismatch')).given;
    await rig.until('quarantined');
    expect((await rig.slot('0')).code).toBe('driver.mismatch');
    smi(well);
    await rig.until('idle');
  });

  test('a failed check keeps the last findings, and a closed slot stays closed', async () => {
    smi(secondIll);
    await rig.start();
    await rig.until('quarantined', ['1']);
    await rig.until('idle', ['0']);
    await smi(noFork, secondIll, noFork, secondIll).given;
    expect((await rig.slot('1')).state).toBe('quarantined');
    expect((await rig.slot('0')).state).toBe('idle');
    expect(new Set(closings())).toEqual(new Set(['1']));
    expect(rig.docker.get('box-1')).toBeUndefined();
    expect(logged('launch')).not.toContain('1');
    expect(await agent('box-0')).toEqual({ enabled: true, reason: undefined });
  });

  test('a failed first check has no result', async () => {
    let release = (): void => undefined;
    const second = new Promise<CommandResult>((resolve) => (release = () => resolve(well)));
    let checks = 0;
    rig.programs.set('sh', ([, script = '']) => {
      if (script.startsWith('nvidia-smi')) checks += 1;
      return checks < 2 ? noFork : second;
    });
    await rig.start();
    await expect.poll(() => checks).toBe(2);
    expect((await rig.status()).health.state).toBe('unknown');
    release();
    await rig.until('idle');
    expect(closings()).toEqual([]);
  });
});

describe('a slot that closes repeatedly', () => {
  /** Fails and recovers this many times. */
  async function flap(times: number): Promise<void> {
    for (let time = 0; time < times; time += 1) {
      smi(secondIll);
      await rig.until('quarantined', ['1']);
      smi(well);
      if (time < times - 1) await rig.until('idle', ['1']);
    }
  }

  test('stays closed for a while after the third time, and the status shows until when and why', async () => {
    smi(well);
    await rig.start();
    await rig.until('idle');
    await flap(3);
    await expect.poll(() => rig.slot('1')).toMatchObject({ state: 'quarantined', code: 'gpu.unsteady' });
    const closed = await rig.slot('1');
    expect(closed.cause).toMatch(
      /^GPU: closed 3 times within an hour, last because of: 1 uncorrected memory error.*; stays closed until \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/,
    );
    expect((await rig.slot('0')).state).toBe('idle');
    await expect.poll(async () => (await agent('box-1')).reason).toBe(closed.cause);
    // Ten minutes.
    rig.clock.passed += 6_000;
    await rig.until('idle', ['1']);
    expect(await agent('box-1')).toEqual({ enabled: true, reason: undefined });
  });

  test('opens at once after azp-fleet repaired', async () => {
    smi(well);
    await rig.start();
    await rig.until('idle');
    await flap(3);
    await expect.poll(async () => (await rig.slot('1')).code).toBe('gpu.unsteady');
    await rig.post('/v1/repaired', { gpu: '83:00.0' });
    expect((await rig.slot('1')).code).toBe('gpu.unsteady');
    await rig.post('/v1/repaired', { gpu: '84:00.0' });
    await rig.until('idle', ['1']);
  });
});

describe('an engine failure is no GPU failure', () => {
  test.each([
    ['it cannot pass GPUs to containers', 'could not select device driver "nvidia"', 'engine.no-gpu-driver'],
    ['it fails with an unknown error', 'something else', 'engine.failed'],
  ])('%s: no slot is closed, and the status shows the cause', async (_, words, code) => {
    smi(well);
    const isProbe = (name: string | undefined) => name?.startsWith('azp-fleet-probe') === true;
    rig.docker.onStart = (container) => (isProbe(container.name) ? undefined : rig.listen(container));
    // The next check starts after the end of this one.
    rig.docker.fail(/POST .*\/wait$/, 500, words, 100);
    await rig.start();
    await rig.until('idle');
    await expect
      .poll(async () => (await rig.status()).problems.map((problem) => problem.code))
      .toContain(code);
    expect(await codes()).toEqual([]);
    await rig.until('idle');
    expect(closings()).toEqual([]);
  });
});

describe('a program that hangs in the kernel is not started a second time', () => {
  const hanging = (isGone: () => boolean): CommandResult => ({
    ...failed(-1, ''),
    timedOut: true,
    stillRunning: () => !isGone(),
  });

  test('nvidia-modprobe: slots close until it exits', async () => {
    let gone = false;
    let asked = 0;
    rig.programs.set('sh', () => {
      asked += 1;
      return printed(gone ? healthy : `${healthy}\nazp-fleet: no /dev/nvidia-uvm\n`);
    });
    rig.programs.set(
      'nvidia-modprobe',
      hanging(() => gone),
    );
    await rig.start();
    await rig.until('quarantined');
    expect((await rig.slot('0')).cause).toBe(
      'GPU: nvidia-modprobe does not answer: a GPU or the driver hangs',
    );
    expect((await rig.status()).health.state).toBe('hung');
    expect(asked).toBe(1);
    gone = true;
    await rig.until('idle');
  });
});
