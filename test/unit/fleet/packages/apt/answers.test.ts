import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { apt } from '../../../../../src/fleet/packages/apt/apt.ts';
import type { Answer, Asked } from '../../../../../src/fleet/packages/simulation.ts';

const asked: readonly Asked[] = [
  {
    key: 'docker-install-0',
    transaction: { vendor: 'docker', packages: [], remove: [], mayRemove: [], proxy: { noProxy: [] } },
  },
];
const said = (lines: readonly string[], head: readonly string[] = []): Answer | undefined =>
  apt.simulator.parse([...head, 'begin docker-install-0', ...lines, ''].join('\n'), asked)[
    'docker-install-0'
  ];

const none = { removes: [], installs: [], upgrades: [], downgrades: [], kept: [] };
const nothing = { kind: 'value', value: none };

describe('the answer of apt', () => {
  it.each<[string, string[], string[], unknown]>([
    ['nothing', ['end'], [], nothing],
    [
      'the disk space',
      ['space 23445 -12500', 'end'],
      [],
      { kind: 'value', value: { ...none, room: { downloadBytes: 23_445, installedBytes: -12_500 } } },
    ],
    [
      'the archive components that it adds',
      ['source /etc/apt/sources.list.d/azp-fleet-non-free.sources contrib non-free', 'end'],
      [],
      {
        kind: 'value',
        value: { ...none, sources: ['/etc/apt/sources.list.d/azp-fleet-non-free.sources contrib non-free'] },
      },
    ],
    [
      'the repositories that it adds',
      ['repository azp-fleet-epel', 'repository crb', 'end'],
      [],
      { kind: 'value', value: { ...none, repositories: ['azp-fleet-epel', 'crb'] } },
    ],
    ['an invalid repository', ['repository $(x)', 'repository', 'end'], [], nothing],
    ['an invalid source', ['source /etc/$(x) y', 'source', 'source /a', 'end'], [], nothing],
    ['invalid disk space', ['space 1e9 x', 'end'], [], nothing],
    [
      'each kind',
      [
        'version 5:29.7.2-1~debian.12~bookworm',
        'remove docker.io 20.10.24+dfsg1-1',
        'remove libcuda1:i386 570.86.10-1',
        'install docker-ce 5:29.7.2-1',
        'upgrade libc6 2.36-9 2.36-10',
        'downgrade libcuda1 595.71.05-1 580.95.05-1',
        'kept gdm3',
        'end',
      ],
      [],
      {
        kind: 'value',
        value: {
          version: '29.7.2',
          removes: [
            { name: 'docker.io', from: '20.10.24+dfsg1-1' },
            { name: 'libcuda1:i386', from: '570.86.10-1' },
          ],
          installs: [{ name: 'docker-ce', to: '5:29.7.2-1' }],
          upgrades: [{ name: 'libc6', from: '2.36-9', to: '2.36-10' }],
          downgrades: [{ name: 'libcuda1', from: '595.71.05-1', to: '580.95.05-1' }],
          kept: ['gdm3'],
        },
      },
    ],
    [
      'the offered versions, newest first',
      ['missing', 'offer 570.86.10-1', 'offer 5:580.95.05-1', 'offer 580.95.05-2', 'offer 580.9.1-1', 'end'],
      [],
      { kind: 'not-offered', offered: ['580.95.05', '580.9.1', '570.86.10'] },
    ],
    [
      'a failed prerequisite',
      ['what no headers (expected linux-headers-6.1; seen: none)', 'next reboot', 'end'],
      [],
      { kind: 'impossible', what: 'no headers (expected linux-headers-6.1; seen: none)', next: 'reboot' },
    ],
    [
      'packages held by the owner',
      ['held gdm3 ', 'end'],
      [],
      {
        kind: 'impossible',
        what: 'gdm3 would have to change, and is held on this host',
        next: 'sudo apt-mark unhold gdm3 where nothing needs that version, or remove this host from the inventory',
      },
    ],
    [
      'no solution',
      ['words tool : Depends: other (= 2) but 1 is to be installed', 'end'],
      [],
      {
        kind: 'impossible',
        what: 'apt found no solution: tool : Depends: other (= 2) but 1 is to be installed',
        next: 'complete the mirror, or check the pins in /etc/apt/preferences.d of the host',
      },
    ],
    [
      'a dkms that is too old, as apt 2.6 prints it',
      [
        'words nvidia-kernel-open-dkms : Depends: dkms (>= 3.1.8) but it is not going to be installed Unable to correct problems, you have held broken packages.',
        'dkms 3.0.10-8+deb12u1',
        'end',
      ],
      [],
      {
        kind: 'impossible',
        what: 'nvidia-kernel-open-dkms needs dkms 3.1.8 or newer, and the newest that is offered is 3.0.10',
        next: 'put dkms 3.1.8 into a package source of the host, set driver.branch to one that needs less (565 or older), or take a newer release of the system',
      },
    ],
    [
      'no dkms at all',
      ['words nvidia-dkms-580-open : Depends: dkms (>= 3.1.8)', 'dkms ', 'end'],
      [],
      {
        kind: 'impossible',
        what: 'nvidia-dkms-580-open needs dkms 3.1.8 or newer, and the newest that is offered is none',
        next: 'put dkms 3.1.8 into a package source of the host, set driver.branch to one that needs less (565 or older), or take a newer release of the system',
      },
    ],
    [
      'no solution while an archive does not answer',
      ['words tool : Depends: other (= 2)', 'end'],
      ['partial Failed to fetch http://archive/ Connection refused'],
      { kind: 'unknown', why: 'Failed to fetch http://archive/ Connection refused' },
    ],
    [
      "a vendor that does not answer, despite the host's own lists",
      ['install docker-ce 1', 'end'],
      ['silent docker Failed to fetch http://mirror/ Connection refused:'],
      { kind: 'unknown', why: 'Failed to fetch http://mirror/ Connection refused' },
    ],
    ['another vendor that does not answer', ['end'], ['silent nvidia no route'], nothing],
    [
      'incomplete output',
      ['remove docker.io 1'],
      [],
      { kind: 'unknown', why: 'the simulation ended early on the host' },
    ],
    [
      'a function that failed',
      ['broken 100', 'end'],
      [],
      { kind: 'unknown', why: 'apt ended with exit code 100' },
    ],
    [
      'an invalid name',
      ['remove $(reboot) 1', 'end'],
      [],
      { kind: 'unknown', why: 'its output was not understood' },
    ],
    [
      'an invalid version',
      ['upgrade libc6 2.36 \u001b[2J', 'end'],
      [],
      { kind: 'unknown', why: 'its output was not understood' },
    ],
    [
      'too many packages',
      [...Array.from({ length: 2001 }, (_, index) => `remove p${index} 1`), 'end'],
      [],
      { kind: 'unknown', why: 'its output was not understood' },
    ],
  ])('%s', (_, lines, head, expected) => {
    expect(said(lines, head)).toEqual(expected);
  });

  it('is unknown without output', () => {
    expect(apt.simulator.parse('', asked)).toEqual({
      'docker-install-0': { kind: 'unknown', why: 'the simulation ended early on the host' },
    });
  });

  it('never hides a removal among other output', () => {
    const line = fc.oneof(
      fc.string(),
      fc
        .tuple(fc.constantFrom('remove', 'upgrade', 'kept', 'words', 'version', 'begin'), fc.string())
        .map((words) => words.join(' ')),
    );
    fc.assert(
      fc.property(fc.array(line), fc.array(line), (before, after) => {
        const answer = said([...before, 'remove gdm3 43.0', ...after, 'end']);
        if (answer?.kind === 'value') expect(answer.value.removes.map(({ name }) => name)).toContain('gdm3');
      }),
    );
  });

  it('has only valid package names', () => {
    const line = fc
      .tuple(fc.constantFrom('remove', 'install', 'upgrade', 'downgrade', 'kept'), fc.string(), fc.string())
      .map((words) => words.join(' '));
    fc.assert(
      fc.property(fc.array(line), (lines) => {
        const answer = said([...lines, 'end']);
        if (answer?.kind !== 'value') return;
        for (const name of [...answer.value.removes.map((each) => each.name), ...answer.value.kept])
          expect(name).toMatch(/^[a-z0-9][a-z0-9+.:-]+$/);
      }),
    );
  });

  it('suggests no branch that does not support the GPUs', () => {
    const output =
      'begin k\nwords nvidia-kernel-open-dkms : Depends: dkms (>= 3.1.8)\ndkms 3.0.10-8+deb12u1\nend\n';
    const next = (leastBranch: number) => {
      const [{ transaction }] = asked as readonly [Asked];
      const answer = apt.simulator.parse(output, [
        { key: 'k', transaction: { ...transaction, leastBranch } },
      ])['k'];
      return answer?.kind === 'impossible' ? answer.next : undefined;
    };
    expect(next(570)).toBe(
      'put dkms 3.1.8 into a package source of the host, or take a newer release of the system',
    );
    expect(next(525)).toContain('565 or older');
  });

  it('has no version if the system’s sources could not be read', () => {
    const ofTheSystem: readonly Asked[] = [
      {
        key: 'docker-install-0',
        transaction: { packages: [], remove: [], mayRemove: [], proxy: { noProxy: [] } },
      },
    ];
    const output = 'partial no list\nbegin docker-install-0\nmissing\nend\n';
    expect(apt.simulator.parse(output, ofTheSystem)['docker-install-0']).toEqual({
      kind: 'unknown',
      why: 'no list',
    });
    expect(apt.simulator.parse(output, asked)['docker-install-0']).toEqual({
      kind: 'not-offered',
      offered: [],
    });
  });
});
