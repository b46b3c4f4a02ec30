import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { sha256 } from '../../../../src/shared/base/digest.ts';
import type { ManagerConfig } from '../../../../src/shared/contract/config.ts';
import { portion } from '../../../../src/shared/contract/slots.ts';
import { resolveSlots, settingsOf, type HostGpu } from '../../../../src/manager/slots/resolve.ts';
import { config } from '../../../support/manager-config.ts';

const gpus: readonly HostGpu[] = ['0', '1', '2'].map((n) => ({ busId: `0000:0${n}:00.0`, uuid: `GPU-${n}` }));
const resolve = (changes: Partial<ManagerConfig>, present: readonly HostGpu[] = gpus) =>
  resolveSlots(config(changes), present).map(({ name, agent, gpus: own, missing }) => ({
    name,
    agent,
    own,
    missing,
  }));

test('one per GPU, in PCI order', () => {
  expect(resolve({ agents: { kind: 'one-per-gpu' } })).toEqual([
    { name: '0', agent: 'box-0', own: ['GPU-0'], missing: [] },
    { name: '1', agent: 'box-1', own: ['GPU-1'], missing: [] },
    { name: '2', agent: 'box-2', own: ['GPU-2'], missing: [] },
  ]);
});

test('a number divides the GPUs; the first slots get the remainder', () => {
  expect(resolve({ agents: { kind: 'count', count: 2 } }).map(({ own }) => own)).toEqual([
    ['GPU-0', 'GPU-1'],
    ['GPU-2'],
  ]);
});

test('more agents than GPUs share them only if sharing is allowed', () => {
  const agents = { kind: 'count', count: 4 } as const;
  expect(resolve({ agents, share: true })[3]).toMatchObject({ own: ['GPU-0'], missing: [] });
  expect(resolve({ agents, share: false })[3]).toMatchObject({ own: [], missing: ['GPU 3'] });
});

test('a GPU that the driver does not show keeps its slot, by its address', () => {
  const present = [gpus[0], { busId: '0000:01:00.0' }, gpus[2]].filter((gpu) => gpu !== undefined);
  expect(resolve({ agents: { kind: 'one-per-gpu' } }, present)[1]).toMatchObject({
    own: [],
    missing: ['0000:01:00.0'],
  });
  expect(resolve({ agents: { kind: 'one-per-gpu' } }, present)[2]).toMatchObject({ own: ['GPU-2'] });
});

test('a host with fewer GPUs than configured shows the missing ones', () => {
  expect(resolve({ agents: { kind: 'one-per-gpu' }, gpus: 4 })[3]).toMatchObject({
    own: [],
    missing: ['GPU 3'],
  });
});

test('a host without GPUs runs agents without GPUs', () => {
  expect(resolve({ agents: { kind: 'count', count: 1 } }, [])).toEqual([
    { name: '0', agent: 'box-0', own: [], missing: [] },
  ]);
});

test('a list names GPUs by UUID, by index, and MIG devices', () => {
  const slot = (name: string, gpus: readonly (string | number)[]) => ({
    name,
    gpus,
    share: false,
    limits: { memory: '8g' },
    capabilities: ['compute' as const],
    mode: 'container' as const,
  });
  const agents = {
    kind: 'slots',
    slots: [slot('big', ['gpu-2', 0]), slot('part', ['MIG-1']), slot('gone', ['GPU-9'])],
  } as const;
  expect(resolve({ agents, agentName: 'ci-{host}-{slot}' })).toEqual([
    { name: 'big', agent: 'ci-box-big', own: ['GPU-2', 'GPU-0'], missing: [] },
    { name: 'part', agent: 'ci-box-part', own: ['MIG-1'], missing: [] },
    { name: 'gone', agent: 'ci-box-gone', own: [], missing: ['GPU-9'] },
  ]);
  expect(resolveSlots(config({ agents, limits: { memory: '4g', pids: 10 } }), gpus)[0]?.limits).toEqual({
    memory: '8g',
    pids: 10,
  });
});

describe('dividing', () => {
  test('gives every GPU to exactly one slot, and slots differ by at most one', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 16 }), fc.integer({ min: 1, max: 16 }), (count, present) => {
        fc.pre(count <= present);
        const parts = Array.from({ length: count }, (_, index) => portion(index, count, present, false));
        expect(parts.flat()).toEqual(Array.from({ length: present }, (_, index) => index));
        const sizes = parts.map(({ length }) => length);
        expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(1);
      }),
    );
  });
  test('shared GPUs are used evenly', () => {
    const users = Array.from({ length: 5 }, (_, index) => portion(index, 5, 2, true)[0]);
    expect(users).toEqual([0, 1, 0, 1, 0]);
  });
});

test('the fingerprint changes only with settings of containers', () => {
  const [slot] = resolveSlots(config(), gpus);
  if (slot === undefined) throw new Error('no slot');
  const before = settingsOf(slot, config());
  expect(settingsOf(slot, config({ metricsPort: 1, capabilities: { a: 'b' } }))).toBe(before);
  expect(settingsOf({ ...slot, limits: { memory: '1g' } }, config())).not.toBe(before);
  expect(settingsOf(slot, config({ jobs: { sudo: true, docker: false } }))).not.toBe(before);
  const site = (caSha256: string) => settingsOf(slot, config({ proxy: { noProxy: [], ca: true, caSha256 } }));
  expect(site('one')).not.toBe(site('other'));
});

test.each([
  ['on the host, whose folder has moved', 'host'],
  ['in a container, whose stop signal has changed', 'container'],
] as const)('an agent of manager 0.1 that waits %s, is replaced', (_, mode) => {
  const spec = { gpus: [], share: false, limits: {}, capabilities: [], mode };
  const host = config({ agents: { kind: 'slots', slots: [spec] } });
  const [slot] = resolveSlots(host, []);
  if (slot === undefined) throw new Error('no slot');
  const { pool, image: _image, ...rest } = slot;
  const parts = [rest, host.organization, pool, host.datasets, host.jobs, host.proxy];
  const then = sha256(JSON.stringify(parts)).slice(0, 12);
  expect(settingsOf(slot, host)).not.toBe(then);
});

test('a slot has its own pool and image, or those of the host', () => {
  const own = { gpus: [], share: false, limits: {}, capabilities: [], mode: 'container' } as const;
  const host = config({ agents: { kind: 'slots', slots: [own, { ...own, pool: 'q', image: 'train:7' }] } });
  const [first, second] = resolveSlots(host, []);
  expect(first).toMatchObject({ pool: 'gpu-lab', image: host.image });
  expect(second).toMatchObject({ pool: 'q', image: { kind: 'registry', reference: 'train:7' } });
  const settings = (pool?: string, image?: string) =>
    resolveSlots(
      config({
        agents: { kind: 'slots', slots: [{ ...own, ...(pool && { pool }), ...(image && { image }) }] },
      }),
      [],
    ).map((slot) => settingsOf(slot, host))[0];
  expect(settings('q')).not.toBe(settings());
  // A change of the image is handled separately.
  expect(settings(undefined, 'train:7')).toBe(settings());
});
