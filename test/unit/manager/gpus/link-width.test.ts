// A PCIe link with fewer lanes than its card has had in this host.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { silentLogger } from '../../../../src/shared/base/log.ts';
import { checkGpu, conclude } from '../../../../src/shared/health/checkup.ts';
import { History } from '../../../../src/manager/history/history.ts';
import { Ring } from '../../../../src/manager/history/ring.ts';
import { withLostLanes } from '../../../../src/manager/gpus/link-width.ts';
import { StillClock } from '../../../support/clock.ts';
import { gpuFrom, healthyGpu } from '../../../support/gpu-values.ts';
import { ManagerRig, printed } from '../../../support/manager-rig.ts';
import { RingDisk } from '../../../support/ring-disk.ts';

const lanes = 'pci.pci_gpu_link_info.link_widths.current_link_width';

describe('a card', () => {
  let folder: string;
  let history: History;
  const disk = new RingDisk();
  const clock = new StillClock();
  const start = async (): Promise<void> => {
    history = await History.open(
      { ring: new Ring('ring', disk), clock, log: silentLogger },
      { prefix: folder },
    );
  };
  beforeEach(async () => {
    folder = mkdtempSync(`${tmpdir()}/width-`);
    disk.files.clear();
    await start();
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  /** The findings about the link of a card with a number of lanes; the card supports 16. */
  function found(width: string, { uuid = 'GPU-1', bus = '00000000:01:00.0' } = {}): readonly string[] {
    const gpu = gpuFrom({ ...healthyGpu, uuid, 'pci.pci_bus_id': bus, [lanes]: width });
    const checkup = conclude(checkGpu(gpu), { driverVersion: '', gpus: [gpu] });
    const { findings, verdict } = withLostLanes(checkup, history, 'h1');
    return [verdict.state, ...findings.map(({ code, severity }) => `${code} ${severity}`)];
  }
  const info = ['healthy', 'gpu.pcie-width info'];
  const warning = ['degraded', 'gpu.pcie-width-lost warn'];

  test('that has always had fewer lanes than it supports is a remark', () => {
    expect([found('8x'), found('8x')]).toEqual([info, info]);
  });

  test('that has had more here is a warning, until it has them again', () => {
    expect([found('16x'), found('8x'), found('16x')]).toEqual([['healthy'], warning, ['healthy']]);
    expect([found('4x'), found('8x')]).toEqual([warning, warning]);
  });

  test('at another address, and another card at its address, have no earlier width', () => {
    found('16x');
    expect(found('8x', { bus: '00000000:02:00.0' })).toEqual(info);
    expect(found('8x', { uuid: 'GPU-2' })).toEqual(info);
  });

  test.each(['N/A', '64x', '0x', '[Unknown Error]'])('whose width reads %s is not remembered', (width) => {
    found(width);
    expect(found('8x')).toEqual(info);
  });

  test('is remembered over restarts, and for longer than anything else', async () => {
    found('16x');
    await history.write();
    clock.pass(100 * 24 * 3_600_000);
    await history.write();
    await start();
    expect(found('8x')).toEqual(warning);
  });

  test('that was repaired is forgotten, also over a restart; others are not', async () => {
    found('16x');
    found('16x', { uuid: 'GPU-2', bus: '00000000:02:00.0' });
    history.forgetWidths('0000:01:00.0');
    await history.write();
    await start();
    expect(found('8x')).toEqual(info);
    expect(found('8x', { uuid: 'GPU-2', bus: '00000000:02:00.0' })).toEqual(warning);
    history.forgetWidths('all');
    expect(found('8x', { uuid: 'GPU-2', bus: '00000000:02:00.0' })).toEqual(info);
  });
});

test('the status of a host shows it with the next action, and that action ends it', async () => {
  const rig = await ManagerRig.create();
  try {
    const healthy = readFileSync('test/fixtures/nvidia-smi/h200-pair-v13.xml', 'utf8');
    for (const address of ['0000:83:00.0', '0000:84:00.0']) rig.plugIn(address);
    rig.programs.set('sh', printed(healthy));
    rig.programs.set('dmesg', printed(''));
    await rig.start();
    await rig.until('idle');
    expect((await rig.status()).health.state).toBe('healthy');
    rig.programs.set('sh', printed(healthy.replace(/(?<=<current_link_width>)16x/, '8x')));
    await expect.poll(async () => (await rig.status()).health.state).toBe('degraded');
    const [finding] = (await rig.status()).health.findings;
    expect(finding).toMatchObject({
      code: 'gpu.pcie-width-lost',
      what: 'PCIe lanes: 8, and this card has had 16 here',
      next: expect.stringContaining('azp-fleet repaired box --gpu 0000:83:00.0'),
    });
    // A job may still run on it.
    await rig.until('idle');
    await rig.post('/v1/repaired', { gpu: '0000:83:00.0' });
    await expect.poll(async () => (await rig.status()).health.state).toBe('healthy');
  } finally {
    await rig.close();
  }
});
