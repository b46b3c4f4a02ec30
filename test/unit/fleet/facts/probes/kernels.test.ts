import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { compareKernels, kernelsProbe } from '../../../../../src/fleet/facts/probes/kernels.ts';

function kernels(...lines: readonly string[]): string[] {
  const stdout = lines.map((line) => `kernel ${line}\n`).join('');
  return kernelsProbe.parse(stdout).kernels.map(({ release }) => release);
}

describe('the kernels of a host', () => {
  it.each([
    ['only the running one', ['6.1.0-18-amd64'], ['6.1.0-18-amd64']],
    [
      'the running one and the newest one',
      ['6.8.0-45-generic', '6.8.0-110-generic', '6.8.0-50-generic'],
      ['6.8.0-45-generic', '6.8.0-110-generic'],
    ],
    ['no older one', ['6.8.0-50-generic', '6.8.0-45-generic', '5.15.0-120-generic'], ['6.8.0-50-generic']],
    [
      'a newer release of Debian 13',
      ['6.12.9+deb13-amd64', '6.12.43+deb13-amd64'],
      ['6.12.9+deb13-amd64', '6.12.43+deb13-amd64'],
    ],
    [
      'one of another flavour',
      ['6.1.0-18-cloud-amd64', '6.1.0-40-amd64'],
      ['6.1.0-18-cloud-amd64', '6.1.0-40-amd64'],
    ],
    [
      'no kernel of another flavour with the same version',
      ['6.8.0-45-generic', '6.8.0-45-generic-64k'],
      ['6.8.0-45-generic'],
    ],
    ['no invalid release', ['6.8.0-45-generic', '9$(reboot)', 'x'], ['6.8.0-45-generic']],
    ['none if the running one is unknown', [], []],
  ])('%s', (_, lines, expected) => {
    expect(kernels(...lines)).toEqual(expected);
  });

  it('reports headers and modules of each, and missing build tools', () => {
    const stdout = 'kernel 6.1.0-18-amd64 headers no-driver\nlacks make\nlacks gcc-12\nlacks $(x)\n';
    expect(kernelsProbe.parse(stdout)).toEqual({
      kernels: [{ release: '6.1.0-18-amd64', headers: true, driver: false }],
      lacksToBuild: ['make', 'gcc-12'],
    });
  });

  it('are compared antisymmetrically', () => {
    const release = fc.stringMatching(/^\d\.\d{1,2}(\.\d{1,2})?(-\d{1,3})?(-(generic|amd64|generic-64k))?$/);
    fc.assert(
      fc.property(release, release, (first, second) => {
        expect(Math.sign(compareKernels(first, second)) + Math.sign(compareKernels(second, first))).toBe(0);
      }),
    );
  });
});
