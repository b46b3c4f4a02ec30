import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { CommandResult } from '../../../../src/manager/machine/command.ts';
import { ManagerRig, printed } from '../../../support/manager-rig.ts';
import { fault } from '../../../support/fault.ts';

// The daemon with a fake Azure DevOps server and a stand-in dockerd, both over real sockets; what nvidia-smi, the
// kernel and a probe container print is text of this file.
let rig: ManagerRig;
beforeEach(async () => {
  rig = await ManagerRig.create();
  rig.plugIn('0000:83:00.0');
  rig.plugIn('0000:84:00.0');
  rig.programs.set('sh', printed(healthy));
  rig.programs.set('dmesg', printed(''));
});
afterEach(() => rig.close());

const healthy = readFileSync('test/fixtures/nvidia-smi/h200-pair-v13.xml', 'utf8');
const xid = '[ 12.000001] NVRM: Xid (PCI:0000:84:00): 79, pid=1, GPU has fallen off the bus.';

/** Returns the output with a change for the second GPU. */
function second(pattern: RegExp, replacement: string): CommandResult {
  const at = healthy.lastIndexOf('<gpu id=');
  const part = healthy.slice(at).replace(pattern, replacement);
  if (part === healthy.slice(at)) throw new Error(`${pattern} is not in the fixture`);
  return printed(healthy.slice(0, at) + part);
}

const agent = async (name: string) => {
  const found = await rig.azure.findAgent(rig.poolId, name);
  return { enabled: found?.enabled, reason: found?.userCapabilities?.['azp-fleet.disabled'] };
};

describe('a bad GPU closes only its slot, with the reason in the pool, until the GPU is healthy', () => {
  const fix = (): void => void rig.programs.set('sh', printed(healthy));
  test.each([
    [
      'an uncorrected memory error',
      () => rig.programs.set('sh', second(/(<dram_uncorrectable>)0/, '$11')),
      fix,
      'GPU: 1 uncorrected memory error(s) since the last reset',
    ],
    [
      'a recovery action',
      () => rig.programs.set('sh', second(/(<gpu_recovery_action>)None/, '$1Reset')),
      fix,
      'GPU: the driver asks for: Reset',
    ],
    [
      'a lost GPU',
      () => rig.programs.set('sh', second(/(<gpu_temp>)28 C/, '$1GPU is lost')),
      fix,
      'GPU is lost',
    ],
    [
      'a fatal XID',
      () => rig.kernelSays(xid),
      () => rig.post('/v1/repaired', { gpu: '84:00.0' }),
      'GPU: XID 79 in the kernel log',
    ],
  ])('%s', async (_, fail, repair, reason) => {
    await rig.start();
    await rig.until('idle');
    fail();
    await rig.until('quarantined', ['1']);
    expect(await agent('box-1')).toEqual({
      enabled: false,
      reason: expect.stringContaining(reason) as string,
    });
    expect((await rig.slot('1')).cause).toContain(reason);
    expect((await rig.slot('0')).state).toBe('idle');
    expect(await agent('box-0')).toEqual({ enabled: true, reason: undefined });
    await repair();
    await rig.until('idle');
    expect(await agent('box-1')).toEqual({ enabled: true, reason: undefined });
  });

  fault('gpu-fails', 'its job finishes, and no agent starts after it', async () => {
    await rig.start();
    await rig.until('idle');
    rig.beginJob('box-1');
    await rig.until('busy', ['1']);
    rig.kernelSays(xid);
    await expect.poll(() => agent('box-1')).toMatchObject({ enabled: false });
    expect((await rig.slot('1')).state).toBe('busy');
    rig.endJob('box-1');
    await rig.until('quarantined', ['1']);
    expect(rig.docker.get('box-1')).toBeUndefined();
  });
});

test('a card for screens gets no slot, and its XIDs close none', async () => {
  rig.kernelSays(xid);
  await rig.start({ ignoredGpus: ['84:00.0'], agents: { kind: 'one-per-gpu' } });
  await rig.until('idle', ['0']);
  const { slots, health } = await rig.status();
  expect(slots.map(({ slot, gpus }) => [slot, gpus.length])).toEqual([['0', 1]]);
  expect(health.findings.filter(({ severity }) => severity !== 'info')).toEqual([]);
  expect(health.gpus?.length).toBe(1);
  await rig.stop();
  await rig.start({ ignoredGpus: ['83:00.0'] });
  await expect
    .poll(async () => (await rig.status()).health.findings.map(({ code }) => code))
    .toContain('xid.79');
});

test('after a boot /dev/nvidia-uvm is created, and no slot waits for it', async () => {
  rig.programs.set('sh', printed(`${healthy}\nazp-fleet: no /dev/nvidia-uvm\n`));
  await rig.start();
  await rig.until('idle');
  expect(rig.deadlines.has('nvidia-modprobe')).toBe(true);
});

describe('the kernel log', () => {
  test('a fatal XID causes a check at once', async () => {
    // On this clock the next check is due in 20 s.
    rig.clock.speed = 1;
    await rig.start();
    await rig.until('idle');
    await expect.poll(() => rig.isFollowed).toBe(true);
    rig.kernelSays(xid);
    const codes = async () => (await rig.status()).health.findings.map(({ code }) => code);
    await expect.poll(codes).toContain('xid.79');
  });

  test('a fatal error of an NVSwitch stops all slots with GPUs, until a repair of the host', async () => {
    await rig.start();
    await rig.until('idle');
    const line = 'nvidia-nvswitch1: SXid (PCI:0000:06:00.0): 20034,';
    rig.programs.set('dmesg', printed(`[ 12.000001] ${line} Non-fatal, Link 48 x\n`));
    const codes = async () => (await rig.status()).health.findings.map(({ code }) => code);
    await expect.poll(codes).toEqual(['nvswitch.sxid']);
    await rig.until('idle');
    rig.programs.set('dmesg', printed(`[ 13.000001] ${line} Fatal, Link 48 LTSSM Fault Up\n`));
    await rig.until('quarantined');
    expect((await rig.slot('0')).cause).toContain('NVSwitch 0000:06:00.0 reported SXid 20034, Fatal');
    rig.programs.set('dmesg', printed(''));
    await rig.stop();
    await rig.start();
    await rig.until('quarantined');
    await rig.post('/v1/repaired', { gpu: 'all' });
    await rig.until('idle');
  });

  test('errors that it no longer has are kept, also over restarts', async () => {
    await rig.start();
    await rig.until('idle');
    rig.kernelSays(xid);
    await rig.until('quarantined', ['1']);
    rig.programs.set('dmesg', printed('[ 99.000001] docker0: port 1(veth1) entered forwarding state\n'));
    await rig.stop();
    await rig.start();
    await rig.until('quarantined', ['1']);
    await rig.until('idle', ['0']);
  });
});

describe('checks continue', () => {
  const smiFailed = {
    ...printed("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."),
    code: 9,
  };

  test('while a pull of the image hangs', async () => {
    rig.docker.stall = /POST \/images\/create/;
    await rig.start({ image: { kind: 'registry', reference: 'registry.example/agent:new' } });
    await rig.until('waiting');
    await expect.poll(async () => (await rig.status()).image.state).toBe('pulling');
    rig.programs.set('sh', smiFailed);
    await rig.until('quarantined');
  });

  test('while a probe container hangs', async () => {
    await rig.start();
    await rig.until('idle');
    await expect.poll(() => probes().length).toBe(1);
    rig.programs.set('sh', smiFailed);
    await rig.until('quarantined');
    expect(probes().map(({ state }) => state)).toEqual(['running']);
  });

  test('and while one takes too long, slots wait and the status shows why', async () => {
    await rig.start();
    await rig.until('idle');
    const { promise, resolve } = Promise.withResolvers<CommandResult>();
    rig.programs.set('sh', promise);
    rig.clock.passed = 31_000;
    rig.endJob('box-0');
    await rig.until('waiting', ['0']);
    expect((await rig.slot('0')).cause).toBe('the latest check of the GPUs is more than 30 s old');
    rig.programs.set('sh', printed(healthy));
    resolve(printed(healthy));
    await rig.until('idle');
  });
});

const probes = () =>
  [...rig.docker.containers.values()].filter(({ body }) => body.Labels?.['azp-fleet.kind'] === 'probe');

describe('the probe from a container', () => {
  /** Sets the outputs of the next probe containers; the last one repeats. */
  function fromInside(...outputs: readonly { readonly text: string; readonly code: number }[]): () => number {
    let at = 0;
    rig.docker.onStart = (container) => {
      if (container.body.Labels?.['azp-fleet.kind'] !== 'probe') return rig.listen(container);
      const output = outputs[Math.min(at, outputs.length - 1)] ?? { text: '', code: 0 };
      at += 1;
      for (const line of output.text.split('\n')) rig.docker.say(container.id, line);
      rig.docker.end(container.id, output.code);
    };
    return () => at;
  }
  const good = { text: healthy, code: 0 };
  const blind = { text: 'Failed to initialize NVML: Unknown Error', code: 255 };

  test('that fails once closes no slot', async () => {
    const count = fromInside(blind, good);
    await rig.start();
    await rig.until('idle');
    await expect.poll(count).toBe(2);
    await rig.until('idle');
    expect(rig.logged.filter(({ message }) => message === 'the GPUs fail in a container')).toHaveLength(1);
    expect(await agent('box-0')).toEqual({ enabled: true, reason: undefined });
  });

  test('that fails twice closes the slots until it succeeds', async () => {
    const count = fromInside(blind);
    await rig.start();
    await rig.until('quarantined');
    expect(count()).toBeGreaterThan(1);
    expect((await agent('box-0')).reason).toMatch(/^GPU: /);
    fromInside(good);
    await rig.until('idle');
    expect(await agent('box-0')).toEqual({ enabled: true, reason: undefined });
  });
});
