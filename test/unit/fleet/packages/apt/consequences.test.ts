import { spawnSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { sh } from '../../../../../src/shared/base/shell.ts';
import { consequenceFilters } from '../../../../../src/fleet/packages/apt/prelude.ts';

function filter(command: string, input: string): string[] {
  const script = `${consequenceFilters}\n${command}`;
  const { stdout, stderr } = spawnSync('/bin/sh', ['-euc', script], { input, encoding: 'utf8' });
  expect(stderr).toBe('');
  return stdout.split('\n').filter(Boolean);
}

const name = fc.stringMatching(/^[a-z0-9][a-z0-9+.-]{1,12}(:i386)?$/);

describe('removals in apt’s simulation', () => {
  it.each([
    ['nothing to do', 'Reading package lists...\nBuilding dependency tree...\n', []],
    [
      'an engine for another',
      `Reading package lists...
The following packages will be REMOVED:
  containerd docker.io runc
The following NEW packages will be installed:
  containerd.io docker-ce
0 upgraded, 2 newly installed, 3 to remove and 0 not upgraded.
Remv docker.io [20.10.24+dfsg1-1+deb12u1+b6]
Remv containerd [1.6.20~ds1-1+deb12u1] [docker.io:amd64 ]
Remv runc [1.1.5+ds1-1+deb12u1]
Inst containerd.io (1.7.27-1 Docker CE:bookworm [amd64])
Inst docker-ce (5:29.7.2-1~debian.12~bookworm Docker CE:bookworm [amd64])
Conf containerd.io (1.7.27-1 Docker CE:bookworm [amd64])
`,
      ['docker.io', 'containerd', 'runc'],
    ],
    [
      'another architecture, and a purge',
      'Remv libcuda1:i386 [570.86.10-1]\nPurg old [1]\n',
      ['libcuda1:i386', 'old'],
    ],
    ['an upgrade, which removes nothing', 'Inst libc6 [2.36-9] (2.36-10 Debian:12 [amd64])\n', []],
    ['similar text', ' NOTE: Remv is a word\nRemove nothing\nRemvx [1]\n', []],
  ])('%s', (_, simulation, expected) => {
    expect(filter('removals', simulation)).toEqual(expected);
  });

  it('are found, name by name, among any other output', () => {
    const other = fc.oneof(
      fc.constantFrom('Reading package lists...', '', '  docker.io runc', 'The following packages:'),
      name.map((each) => `Inst ${each} (1.0)`),
      name.map((each) => `Conf ${each} (1.0)`),
    );
    const line = fc.oneof(
      name.map((each) => ({ text: `Remv ${each} [1.0] [other:amd64 ]`, gone: [each] })),
      other.map((text) => ({ text, gone: [] })),
    );
    fc.assert(
      fc.property(fc.array(line, { maxLength: 40 }), (lines) => {
        const simulation = lines.map(({ text }) => `${text}\n`).join('');
        expect(filter('removals', simulation)).toEqual(lines.flatMap(({ gone }) => gone));
      }),
      { numRuns: 50 },
    );
  });
});

describe('downgrades in apt’s simulation', () => {
  it.each([
    ['nothing', 'The following packages will be upgraded:\n  libc6\n1 upgraded\n', []],
    [
      'several lines of names, and no others',
      `The following packages will be upgraded:
  libc6
The following packages will be DOWNGRADED:
  libcuda1 libnvidia-ml1:i386
  nvidia-driver-cuda
1 upgraded, 0 newly installed, 3 downgraded, 0 to remove and 94 not upgraded.
Inst libcuda1 [595.71.05-1] (580.95.05-1 NVIDIA CUDA:localhost [amd64])
`,
      ['libcuda1', 'libnvidia-ml1:i386', 'nvidia-driver-cuda'],
    ],
  ])('%s', (_, simulation, expected) => {
    expect(filter('downgrades', simulation)).toEqual(expected);
  });
});

describe('packages that were not announced', () => {
  it.each([
    [['docker.io', 'runc'], ['docker.io'], ['runc']],
    [['docker.io', 'docker-cli'], ['docker*'], []],
    [['libcuda1:i386'], ['libcuda*'], []],
    [['runc:i386'], ['runc'], []],
    [['dockerXio'], ['docker.io'], ['dockerXio']],
    [['xserver-xorg-video-nvidia', 'xserver-xorg'], ['*nvidia*'], ['xserver-xorg']],
    [['kubeadm'], [], ['kubeadm']],
    [[], ['docker*'], []],
  ])('of %j with %j: %j', (names, patterns, expected) => {
    const input = names.map((each) => `${each}\n`).join('');
    expect(filter(sh`unforeseen ${patterns}`, input)).toEqual(expected);
  });

  it('are all names that differ from those of the plan', () => {
    fc.assert(
      fc.property(fc.array(name), fc.array(name, { maxLength: 5 }), (names, plan) => {
        const input = names.map((each) => `${each}\n`).join('');
        const bare = (each: string) => each.replace(/:.*/, '');
        const foreseen = plan.map(bare);
        const expected = names.filter((each) => !foreseen.includes(bare(each)));
        expect(filter(sh`unforeseen ${foreseen}`, input)).toEqual(expected);
      }),
      { numRuns: 50 },
    );
  });
});
