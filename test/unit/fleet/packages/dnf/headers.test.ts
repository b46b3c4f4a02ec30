import { describe, expect, it } from 'vitest';

import { headersOf, kernelBuild } from '../../../../../src/fleet/packages/dnf/headers.ts';
import { testSuite } from '../../../../support/scratch/suite-tests.ts';
import { headersSuite } from './headers-cases.ts';

testSuite(headersSuite);

const running = '5.14.0-503.11.1.el9_5.x86_64';
const newer = '5.14.0-570.12.1.el9_6.x86_64';
const host = {
  kernels: [
    { release: running, headers: false, driver: false },
    { release: newer, headers: false, driver: false },
  ],
  lacksToBuild: ['gcc', 'make', 'gcc-11'],
  packages: { [`kernel-core-${newer}`]: '5.14.0-570.12.1.el9_6' },
  held: [],
};

describe('packages that build modules', () => {
  it.each([
    ['4.18.0-553.el8_10.x86_64', ['kernel-devel-4.18.0-553.el8_10.x86_64']],
    ['6.12.0-55.9.1.el10_0.aarch64', ['kernel-devel-6.12.0-55.9.1.el10_0.aarch64']],
    ['5.15.0-304.171.4.el9uek.x86_64', ['kernel-uek-devel-5.15.0-304.171.4.el9uek.x86_64']],
    ['5.14.0-570.12.1.el9_6.aarch64+64k', ['kernel-64k-devel-5.14.0-570.12.1.el9_6.aarch64']],
    ['5.14.0-570.12.1.el9_6.x86_64+rt', ['kernel-rt-devel-5.14.0-570.12.1.el9_6.x86_64']],
    [
      '6.1.141-155.222.amzn2023.x86_64',
      [
        'kernel-devel-6.1.141-155.222.amzn2023.x86_64',
        'kernel-modules-extra-6.1.141-155.222.amzn2023.x86_64',
      ],
    ],
    [
      '6.12.30-39.101.amzn2023.aarch64',
      [
        'kernel6.12-devel-6.12.30-39.101.amzn2023.aarch64',
        'kernel6.12-modules-extra-6.12.30-39.101.amzn2023.aarch64',
      ],
    ],
  ])('for Linux %s', (release, names) => {
    expect(headersOf(release)).toEqual(names);
  });

  it('are the headers of the running kernel and of the next one, and tools', () => {
    const { packages, script, next } = kernelBuild(host, 'all');
    expect(packages).toEqual([`kernel-devel-${running}`, `kernel-devel-${newer}`, 'gcc', 'make']);
    expect(next?.release).toBe(newer);
    expect(script).toContain(
      `need kernel-devel-${running} 'the headers of Linux ${running}' 'reboot into Linux ${newer}`,
    );
  });

  it('are those of the next kernel only, if only that matters', () => {
    expect(kernelBuild(host, 'next').packages).toEqual([`kernel-devel-${newer}`, 'gcc', 'make']);
  });

  it('are none for a kernel that no package installed', () => {
    const { packages, next } = kernelBuild({ ...host, packages: {} }, 'all');
    expect(next).toBeUndefined();
    expect(packages).toEqual([`kernel-devel-${running}`, 'gcc', 'make']);
  });

  it.each([
    ['5.15.0-307.178.5.el8uek.x86_64', ['gcc-toolset-11-gcc']],
    ['6.12.0-103.40.4.el9uek.aarch64', ['gcc-toolset-14-gcc']],
    ['5.15.0-307.178.5.el9uek.x86_64', []],
    ['6.12.0-103.40.4.el10uek.x86_64', []],
    ['5.4.17-2136.el8uek.x86_64', []],
  ])('include another compiler than the system’s if it built Linux %s', (release, compilers) => {
    const { packages } = kernelBuild(
      { ...host, kernels: [{ release, headers: false, driver: false }], lacksToBuild: [] },
      'all',
    );
    expect(packages).toEqual([`kernel-uek-devel-${release}`, ...compilers]);
  });

  it('are none if all are installed and DKMS is configured', () => {
    const release = '5.15.0-307.178.5.el8uek.x86_64';
    const there = { ...host, kernels: [{ release, headers: true, driver: true }], lacksToBuild: [] };
    expect(kernelBuild(there, 'all').packages).toEqual([]);
  });

  it('are none if all are installed', () => {
    const there = { ...host, kernels: [{ release: running, headers: true, driver: true }], lacksToBuild: [] };
    expect(kernelBuild(there, 'all')).toEqual({ packages: [], script: '', next: undefined });
  });
});
