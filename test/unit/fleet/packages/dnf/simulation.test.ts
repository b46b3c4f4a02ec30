import { describe, expect, it } from 'vitest';

import { dnf } from '../../../../../src/fleet/packages/dnf/dnf.ts';
import { testSuite } from '../../../../support/scratch/suite-tests.ts';
import { simulationSuite } from './simulation-cases.ts';

testSuite(simulationSuite);

const transaction = {
  vendor: 'docker',
  packages: [],
  remove: [],
  mayRemove: [],
  proxy: { noProxy: [] },
} as const;
const answer = (...lines: readonly string[]) =>
  dnf.simulator.parse([...lines, ''].join('\n'), [{ key: 'docker-install', transaction }])['docker-install'];

describe('the answer of dnf', () => {
  it('has names and versions', () => {
    expect(
      answer(
        'begin docker-install',
        'version 29.7.2',
        'install containerd.io 1.7.27-3.1.el9',
        'remove runc 4:1.1.12-1.el9',
        'upgrade docker-ce 3:29.7.1-1.el9 3:29.7.2-1.el9',
        'downgrade NetworkManager-libnm:i686 1:1.48.0-1.el9 1:1.46.0-1.el9',
        'space 18432 0',
        'end',
      ),
    ).toEqual({
      kind: 'value',
      value: {
        version: '29.7.2',
        installs: [{ name: 'containerd.io', to: '1.7.27-3.1.el9' }],
        removes: [{ name: 'runc', from: '4:1.1.12-1.el9' }],
        upgrades: [{ name: 'docker-ce', from: '3:29.7.1-1.el9', to: '3:29.7.2-1.el9' }],
        downgrades: [{ name: 'NetworkManager-libnm:i686', from: '1:1.48.0-1.el9', to: '1:1.46.0-1.el9' }],
        kept: [],
        room: { downloadBytes: 18432, installedBytes: 0 },
      },
    });
  });

  it('names the versions that its sources offer', () => {
    expect(
      answer('begin docker-install', 'missing', 'offer 3:29.10.0-1.el9', 'offer 3:29.7.1-1.el9', 'end'),
    ).toEqual({ kind: 'not-offered', offered: ['29.10.0', '29.7.1'] });
  });

  it('is impossible if a versionlock of the owner prevents it', () => {
    expect(answer('begin docker-install', 'version 29.7.2', 'held runc ', 'end')).toEqual({
      kind: 'impossible',
      what: 'runc would have to change, and is held on this host',
      next: 'sudo dnf versionlock delete runc where nothing needs that version, or remove this host from the inventory',
    });
  });

  it('is impossible with a dependency that no repository has', () => {
    const words =
      'conflicting requests nothing provides dkms needed by kmod-nvidia-open-dkms-3:580.95.05-1.el9.noarch';
    expect(answer('begin docker-install', `words ${words}`, 'end')).toEqual({
      kind: 'impossible',
      what: 'kmod-nvidia-open-dkms-3:580.95.05-1.el9.noarch needs dkms, which no package source of the host offers',
      next: 'enable the repository that has it (CRB or CodeReady Builder, EPEL), or complete the mirror, and run again',
    });
  });

  it('is unknown if a repository that a package adds could not be read', () => {
    const why = 'http://epel/repodata/repomd.xml cannot be read: Status code: 404';
    expect(
      answer('begin docker-install', `partial ${why}`, 'words nothing provides dkms needed by x', 'end'),
    ).toEqual({ kind: 'unknown', why });
  });

  it('is impossible for a certain failure, whatever could not be read', () => {
    expect(
      answer(
        'partial x',
        'begin docker-install',
        'partial y',
        'certain',
        'what no dkms',
        'next bring it',
        'end',
      ),
    ).toEqual({ kind: 'impossible', what: 'no dkms', next: 'bring it' });
  });

  it('is unknown if the vendor does not answer, or dnf ended early', () => {
    const silent = 'http://mirror/repodata/repomd.xml cannot be read: Status code: 404';
    expect(answer(`silent docker ${silent}`, 'begin docker-install', 'end')).toEqual({
      kind: 'unknown',
      why: silent,
    });
    expect(answer('begin docker-install', 'broken 3', 'end')).toEqual({
      kind: 'unknown',
      why: 'dnf ended with exit code 3',
    });
  });
});
