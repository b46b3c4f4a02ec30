import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { countsLost, mountOf } from '../../../../src/manager/docker/btrfs-counts.ts';
import { Sizes } from '../../../../src/manager/docker/sizes.ts';

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
])('%s lies on %s', (path, device) => {
  expect(mountOf(path, mountinfo)).toBe(device);
});

test('of two mounts on one point the later one is on top', () => {
  const over = '40 21 0:50 / /srv rw - btrfs /dev/sdc rw\n41 40 0:51 / /srv rw - btrfs /dev/sdd rw\n';
  expect(mountOf('/srv', mountinfo + over)).toBe('/dev/sdd');
});

describe('whether btrfs counts', () => {
  let prefix = '';
  beforeEach(() => {
    prefix = mkdtempSync('/tmp/azp-btrfs-');
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
    ['it does', '0', false],
    ['it has stopped', '1', true],
    ['quota is not on', undefined, false],
  ])('below the root directory: %s', async (_, inconsistent, lost) => {
    filesystem('one', 'loop0', inconsistent);
    filesystem('another', 'loop2', '1');
    expect(await countsLost('/var/lib/docker', { prefix })).toBe(lost);
  });

  test('where there is no btrfs nothing has stopped', async () => {
    expect(await countsLost('/var/lib/docker', { prefix })).toBe(false);
  });
});

test.each([
  ['btrfs', true],
  ['overlay2', false],
])('the storage %s is asked about it: %s', async (driver, uncounted) => {
  const sizes = new Sizes({ driver, byContainerd: false });
  expect(sizes.uncounted).toBe(false);
  await sizes.look(() => Promise.resolve(true));
  expect(sizes.uncounted).toBe(uncounted);
});
