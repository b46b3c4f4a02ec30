import { describe, expect, it } from 'vitest';

import { debian, ubuntu } from '../../../../../src/fleet/packages/apt/names.ts';
import { driverRows } from '../../../../../src/fleet/packages/apt/driver-names.ts';
import type { Flavor } from '../../../../../src/fleet/packages/names.ts';

const systems = { debian: debian('550'), ubuntu };
const spec = (branch: string) => ({ install: true, branch, flavor: 'auto', method: 'repo' }) as const;

describe('names of NVIDIA’s packages', () => {
  it.each<[keyof typeof systems, string, Flavor, number, string]>([
    ['debian', '570', 'open', 0, 'nvidia-driver-cuda nvidia-kernel-open-dkms'],
    ['debian', '570', 'proprietary', 4, 'nvidia-driver-cuda nvidia-kernel-dkms nvidia-fabricmanager-570'],
    ['debian', '595', 'open', 4, 'nvidia-driver-cuda nvidia-kernel-open-dkms nvidia-fabricmanager'],
    [
      'ubuntu',
      '535',
      'open',
      4,
      'libnvidia-compute-535 nvidia-utils-535 nvidia-dkms-535-open nvidia-fabricmanager-535',
    ],
    [
      'ubuntu',
      '580',
      'open',
      4,
      'libnvidia-compute-580 nvidia-utils-580 nvidia-dkms-580-open nvidia-fabricmanager',
    ],
    ['ubuntu', '580', 'proprietary', 0, 'libnvidia-compute-580 nvidia-utils-580 nvidia-dkms-580'],
    ['ubuntu', '590', 'open', 0, 'libnvidia-compute nvidia-dkms-open'],
    ['ubuntu', '610', 'proprietary', 1, 'libnvidia-compute nvidia-dkms nvidia-fabricmanager'],
  ])('%s, branch %s, %s modules, %i NVSwitches', (system, branch, flavor, switches, names) => {
    expect(systems[system].driver.packages(spec(branch), flavor, switches).join(' ')).toBe(names);
  });

  it.each<[keyof typeof systems, string, Flavor, string, string, string]>([
    [
      'debian',
      '550',
      'open',
      'nvidia-smi libcuda1 nvidia-open-kernel-dkms',
      'nvidia-opencl-icd',
      'nvidia-egl-icd nvidia-vulkan-icd libglx-nvidia0 libgles-nvidia2',
    ],
    [
      'ubuntu',
      '580',
      'proprietary',
      'libnvidia-compute-580-server nvidia-utils-580-server nvidia-dkms-580-server',
      'nvidia-compute-utils-580-server',
      'libnvidia-gl-580-server',
    ],
  ])("%s's own, branch %s, %s modules", (system, branch, flavor, names, optional, graphics) => {
    const { driver } = systems[system];
    const own = { ...spec(branch), method: 'distro' } as const;
    expect(driver.packages(own, flavor, 0).join(' ')).toBe(names);
    expect(driver.optional(own).join(' ')).toBe(optional);
    expect(driver.extras(own, ['graphics']).join(' ')).toBe(graphics);
  });

  it.each<[keyof typeof systems, string, string]>([
    [
      'debian',
      '580',
      'nvidia-egl-icd nvidia-vulkan-icd libglx-nvidia0 libgles-nvidia2 libnvidia-encode1 libnvcuvid1',
    ],
    ['ubuntu', '580', 'libnvidia-gl-580 libnvidia-encode-580 libnvidia-decode-580'],
    ['ubuntu', '595', 'libnvidia-gl libnvidia-encode libnvidia-decode'],
  ])('%s, branch %s, graphics and video', (system, branch, names) => {
    expect(systems[system].driver.extras(spec(branch), ['graphics', 'video']).join(' ')).toBe(names);
  });

  it.each<[keyof typeof systems, string, string]>([
    ['debian', 'nvidia-driver-cuda libnvidia-encode1', 'libnvcuvid1'],
    ['debian', 'nvidia-smi libnvidia-ml1', 'libnvidia-encode1 libnvcuvid1'],
    ['debian', 'nvidia-driver libnvidia-ml1', ''],
    ['ubuntu', 'libnvidia-compute', 'libnvidia-encode libnvidia-decode'],
    ['ubuntu', 'libnvidia-compute-595', 'libnvidia-encode-595 libnvidia-decode-595'],
    ['ubuntu', 'libnvidia-compute-535-server libnvidia-encode-535-server', 'libnvidia-decode-535-server'],
    ['ubuntu', 'libnvidia-ml1', ''],
  ])('%s with %s installed lacks for video: %s', (system, installed, names) => {
    const packages = Object.fromEntries(installed.split(' ').map((name) => [name, '1']));
    expect(systems[system].driver.lacks(packages, ['video']).join(' ')).toBe(names);
  });

  it.each(Object.entries(driverRows))(
    'the table has every branch in ascending order, with sources: %s',
    (_, rows) => {
      expect(rows.map(({ from }) => from)).toEqual(rows.map(({ from }) => from).toSorted((a, b) => a - b));
      expect(rows[0].from).toBe(0);
      for (const { source } of rows) expect(source.length).toBeGreaterThan(20);
    },
  );
});

describe('packages that conflict with a driver', () => {
  const installed =
    'libnvidia-compute-580 nvidia-dkms-580 nvidia-dkms-580-open nvidia-kernel-common-580 nvidia-kernel-source-580 nvidia-kernel-source-580-open nvidia-utils-580 nvidia-headless-580-server libnvidia-compute-570 nvidia-driver-pinning-570 nvidia-driver-pinning-580 nvidia-kernel-source nvidia-container-toolkit';
  it.each<[string, Flavor, string]>([
    [
      '580',
      'open',
      'libnvidia-compute-570 nvidia-dkms-580 nvidia-driver-pinning-570 nvidia-headless-580-server nvidia-kernel-source nvidia-kernel-source-580',
    ],
    [
      '595',
      'proprietary',
      'libnvidia-compute-570 libnvidia-compute-580 nvidia-dkms-580 nvidia-dkms-580-open nvidia-driver-pinning-570 nvidia-driver-pinning-580 nvidia-headless-580-server nvidia-kernel-common-580 nvidia-kernel-source-580 nvidia-kernel-source-580-open nvidia-utils-580',
    ],
  ])('none of branch %s with %s modules', (branch, flavor, expected) => {
    const desired = ubuntu.driver.packages(spec(branch), flavor, 0);
    expect(ubuntu.driver.obsolete(installed.split(' '), spec(branch), desired).join(' ')).toBe(expected);
  });

  // Debian's `nvidia` is the proprietary module if that module's settings are installed.
  it.each<[Flavor, string]>([
    ['open', 'nvidia-driver-cuda nvidia-kernel-dkms nvidia-kernel-support'],
    ['proprietary', 'nvidia-driver-cuda nvidia-open-kernel-dkms'],
  ])("none that would hide Debian's %s modules", (flavor, expected) => {
    const own = { ...spec('535'), method: 'distro' } as const;
    const there =
      'nvidia-smi nvidia-alternative nvidia-kernel-dkms nvidia-kernel-support nvidia-open-kernel-dkms nvidia-open-kernel-support nvidia-driver-cuda';
    const desired = systems.debian.driver.packages(own, flavor, 0);
    expect(systems.debian.driver.obsolete(there.split(' '), own, desired).join(' ')).toBe(expected);
  });
});
