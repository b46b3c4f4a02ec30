import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  btrfsStoppedCounting,
  mountOf,
  mountsBelow,
  shortfalls,
  SizeLimits,
} from '../../../../src/manager/docker/engine-abilities.ts';
import { plainSlot } from '../../../support/slot.ts';
import { agentMounts, readsOnlyBelow } from '../../../../src/manager/docker/mounts.ts';

const datasets = ['/data/i', '/data/m'].map((host) => ({
  name: host.slice(-1).toUpperCase(),
  host,
  container: host,
  requireMount: false,
}));
const none = { below: [], sizes: undefined, uncounted: false };

test('finds mounts below a dataset only', () => {
  const points = ['/', '/data/i', '/data/i2', '/data/i/b', '/data/i/a', '/data'];
  expect(mountsBelow(datasets, points)).toEqual([{ name: 'I', mounts: ['/data/i/a', '/data/i/b'] }]);
});

test('mounts that an older engine leaves writable are named', () => {
  const [found] = shortfalls([plainSlot], {
    ...none,
    below: [{ name: 'I', mounts: ['/data/i/a', '/data/i/b'] }],
  });
  expect(found).toMatchObject({ code: 'dataset.writable-below', severity: 'warn' });
  expect(found?.what).toContain('dataset I: mounts below it (/data/i/a and 1 more) stay writable');
});

test('enforced sizes, and slots without sizes, have no finding', () => {
  const sized = { ...plainSlot, limits: { disk: '1g' } };
  expect(shortfalls([plainSlot], { ...none, sizes: 'no' })).toEqual([]);
  expect(shortfalls([sized], none)).toEqual([]);
});

test('with mode: host a size limit has no effect', () => {
  const bare = { ...plainSlot, name: 'bare', mode: 'host', limits: { disk: '1g' } } as const;
  expect(shortfalls([bare, plainSlot], none).map(({ what }) => what)).toEqual([
    'limits.disk has no effect with mode: host (bare)',
  ]);
});

test('sizes that btrfs no longer counts are reported as not enforced', () => {
  const sized = { ...plainSlot, limits: { disk: '1g' } };
  expect(shortfalls([plainSlot], { ...none, uncounted: true })).toEqual([]);
  expect(shortfalls([sized], { ...none, uncounted: true })).toMatchObject([
    {
      code: 'slot.no-size-limit',
      what: 'limits.disk is not enforced (0): btrfs stopped counting the size of containers',
      next: expect.stringContaining('btrfs quota rescan') as unknown,
    },
  ]);
});

const mountinfo = `21 1 0:19 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 21 0:44 / /var rw shared:2 - btrfs /dev/sdb1 rw,space_cache=v2
31 30 0:44 /docker /var/lib/docker rw shared:3 master:1 - btrfs /dev/loop0 rw
32 30 0:45 / /var/lib/dock\\040er rw - btrfs /dev/loop1 rw
33 30 0:46 / /var/lib/docker2 rw - btrfs /dev/loop2 rw
`;

test.each([
  ['/var/lib/docker', '/dev/loop0'],
  ['/var/lib/docker/btrfs', '/dev/loop0'],
  ['/var/lib/dock er', '/dev/loop1'],
  ['/var/lib/docker2', '/dev/loop2'],
  ['/var/lib', '/dev/sdb1'],
  ['/srv', '/dev/sda1'],
])('%s is on %s', (path, device) => {
  expect(mountOf(path, mountinfo)).toBe(device);
});

test('the later one of two mounts on one point counts', () => {
  const over = '40 21 0:50 / /srv rw - btrfs /dev/sdc rw\n41 40 0:51 / /srv rw - btrfs /dev/sdd rw\n';
  expect(mountOf('/srv', mountinfo + over)).toBe('/dev/sdd');
});

describe('whether btrfs counts', () => {
  let prefix = '';
  beforeEach(() => {
    prefix = mkdtempSync(join(tmpdir(), 'azp-btrfs-'));
    mkdirSync(join(prefix, 'proc/self'), { recursive: true });
    writeFileSync(join(prefix, 'proc/self/mountinfo'), mountinfo);
  });
  afterEach(() => rmSync(prefix, { recursive: true }));
  function filesystem(id: string, device: string, inconsistent?: string): void {
    const folder = join(prefix, 'sys/fs/btrfs', id);
    mkdirSync(join(folder, 'devices', device), { recursive: true });
    if (inconsistent === undefined) return;
    mkdirSync(join(folder, 'qgroups'));
    writeFileSync(join(folder, 'qgroups/inconsistent'), `${inconsistent}\n`);
  }

  test.each([
    ['counting', '0', false],
    ['stopped', '1', true],
    ['without quota', undefined, false],
  ])('below the root directory: %s', async (_, inconsistent, lost) => {
    filesystem('one', 'loop0', inconsistent);
    filesystem('another', 'loop2', '1');
    expect(await btrfsStoppedCounting('/var/lib/docker', { prefix })).toBe(lost);
  });

  test('without btrfs the answer is no', async () => {
    expect(await btrfsStoppedCounting('/var/lib/docker', { prefix })).toBe(false);
  });
});

test.each([
  ['btrfs', true],
  ['overlay2', false],
])('the storage %s is checked for it: %s', async (driver, uncounted) => {
  const sizes = new SizeLimits({ driver, byContainerd: false });
  expect(sizes.uncounted).toBe(false);
  await sizes.check(() => Promise.resolve(true));
  expect(sizes.uncounted).toBe(uncounted);
});

test.each([
  ['Engine 25 on Linux 5.12', '1.44', '5.12.0', ['rro'], true],
  ['later versions', '1.52', '6.8.0-45-generic', ['ro', 'rro'], true],
  ['the next major version of the engine', '2.0', '7.0', ['rro'], true],
  ['an older engine', '1.43', '6.8.0', ['rro'], false],
  ['an older kernel', '1.48', '5.4.0-200-generic', ['rro'], false],
  ['a runtime without the feature', '1.48', '6.8.0', ['ro'], false],
  ['a runtime that does not report its features', '1.48', '6.8.0', undefined, false],
  ['empty versions', '', '', ['rro'], false],
])('mounts below a folder are read-only with it: %s', (_, apiVersion, kernel, mountOptions, expected) => {
  expect(readsOnlyBelow({ apiVersion, kernel, mountOptions })).toBe(expected);
});

test('an older engine gets only options that it supports', () => {
  const datasets = [{ name: 'D', host: '/d', container: '/data', requireMount: false }];
  expect(agentMounts({ datasets, jobs: { sudo: false, docker: false } }, false)).toEqual([
    { Type: 'bind', Source: '/d', Target: '/data', ReadOnly: true },
  ]);
});
