import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ManagerConfig } from '../../../../src/shared/contract/config.ts';
import { examine } from '../../../../src/shared/health/checkup.ts';
import {
  isOutdated,
  mergeCapabilities,
  published as toPublish,
  userCapabilities,
} from '../../../../src/manager/pool/capabilities.ts';
import { resolveSlots } from '../../../../src/manager/slots/resolve.ts';
import { ManagerRig } from '../../../support/manager-rig.ts';
import { config } from '../../../support/manager-config.ts';

/** Returns the capabilities of the first slot of a host with an A100 in MIG mode, from a recorded output of nvidia-smi. */
function published(gpu: string | number, changes: Partial<ManagerConfig> = {}) {
  const output = readFileSync('test/fixtures/nvidia-smi/a100-mig-v12-with-listing.txt', 'utf8');
  const { report } = examine({ code: 0, output, timedOut: false }, 'host', { pci: [] });
  if (report === undefined) throw new Error('no report');
  const slots = [{ gpus: [gpu], share: false, limits: {}, capabilities: [], mode: 'container' as const }];
  const whole = config({ agents: { kind: 'slots', slots }, ...changes });
  const [slot] = resolveSlots(whole, report.gpus);
  if (slot === undefined) throw new Error('no slot');
  return userCapabilities(whole, slot, report, 'us');
}

describe('published capabilities', () => {
  test('of a MIG device: its GPU model, its memory, its profile', () => {
    expect(published('MIG-bbbbbbbb-0000-5000-8000-000000000001')).toMatchObject({
      'gpu.count': '1',
      'gpu.model': 'NVIDIA A100-SXM4-80GB',
      'gpu.memoryMiB': '19968',
      'gpu.computeCapability': '8.0',
      'gpu.mig': '2g.20gb',
      'driver.version': expect.stringMatching(/^\d+\./) as string,
    });
  });

  test('of a whole GPU: no profile', () => {
    expect(published(0)).not.toHaveProperty(['gpu.mig']);
  });
});

describe('capabilities in the pool', () => {
  const owner = { 'azp-fleet.owner': 'us' };
  const team = { ...owner, 'azp-fleet.capabilities': 'team', team: 'red' };
  const cases: [string, Record<string, string>, Record<string, string>, Record<string, string>][] = [
    ['a new one is added', owner, team, team],
    ['a changed one is replaced', { ...team, team: 'blue' }, team, team],
    ['one that is no longer desired is removed', team, owner, owner],
    ['one that a person added stays', { ...owner, desk: '4' }, team, { ...team, desk: '4' }],
    ['ours replaces one of a person', { ...owner, team: 'theirs' }, team, team],
    ['that of a removed GPU is removed', { ...owner, 'gpu.model': 'x' }, owner, owner],
    [
      'the reason of a drain stays',
      { ...owner, 'azp-fleet.disabled': 'drained' },
      team,
      { ...team, 'azp-fleet.disabled': 'drained' },
    ],
  ];
  test.each(cases)('%s', (_, known, desired, result) => {
    expect(mergeCapabilities(known, desired)).toEqual(result);
    expect(isOutdated({ enabled: false, userCapabilities: known }, desired)).toBe(true);
    expect(isOutdated({ enabled: false, userCapabilities: result }, desired)).toBe(false);
  });

  test('the reason of a drain is removed from an enabled agent', () => {
    const agent = { enabled: true, userCapabilities: { ...team, 'azp-fleet.disabled': 'drained' } };
    expect(isOutdated(agent, team)).toBe(true);
    expect(toPublish(agent, team)).toEqual(team);
    expect(isOutdated({ ...agent, enabled: false }, team)).toBe(false);
  });

  test("another owner's agent is not changed", () => {
    expect(isOutdated({ enabled: true, userCapabilities: { 'azp-fleet.owner': 'them' } }, team)).toBe(false);
    expect(isOutdated(undefined, team)).toBe(false);
  });
});

describe('the daemon', () => {
  let rig: ManagerRig;
  beforeEach(async () => {
    rig = await ManagerRig.create();
  });
  afterEach(() => rig.close());

  const inPool = async (name: string) => (await rig.azure.findAgent(rig.poolId, name))?.userCapabilities;

  test('writes changed capabilities of idle and busy agents without a restart', async () => {
    await rig.start({ capabilities: { team: 'red', room: 'b12' } });
    await rig.until('idle');
    rig.beginJob('box-1');
    await rig.until('busy', ['1']);
    const before = [...rig.docker.containers.keys()];
    await rig.stop();
    const known = await inPool('box-0');
    const { id } = (await rig.azure.findAgent(rig.poolId, 'box-0')) ?? { id: 0 };
    await rig.azure.setUserCapabilities(rig.poolId, id, { ...known, desk: '4' });
    await rig.start({ capabilities: { team: 'blue', license: 'yes' } });
    await expect.poll(() => inPool('box-0')).toMatchObject({ team: 'blue', license: 'yes', desk: '4' });
    await expect.poll(() => inPool('box-1')).toMatchObject({ team: 'blue' });
    expect(await inPool('box-0')).not.toHaveProperty('room');
    expect([...rig.docker.containers.keys()]).toEqual(before);
  });

  test('writes them once, although the pool shows the earlier ones until it is read again', async () => {
    await rig.start({ capabilities: { team: 'red' } });
    await rig.until('idle');
    await rig.stop();
    rig.logged.length = 0;
    await rig.start({ capabilities: { team: 'blue' } });
    for (const name of ['box-0', 'box-1'])
      await expect.poll(() => inPool(name)).toMatchObject({ team: 'blue' });
    // Checks of all slots, by what the list of then shows.
    for (const slot of ['0', '1']) {
      rig.beginJob(`box-${slot}`);
      await rig.until('busy', [slot]);
    }
    const published = rig.logged.flatMap(({ message, fields }) =>
      message === 'publish' ? [(fields as { readonly slot: string }).slot] : [],
    );
    expect(published).toHaveLength(2);
    expect(new Set(published)).toEqual(new Set(['0', '1']));
  });
});
