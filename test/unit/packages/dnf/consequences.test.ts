import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';

import { consequenceFilters } from '../../../../src/packages/dnf/consequences.ts';
import { conflict, dead, downgrade, held, narrow, nothing, unmet } from './dnf-words.ts';

function filter(command: string, input: string): string[] {
  const script = `uname() { echo x86_64; }\n${consequenceFilters}\n${command}`;
  const { stdout, stderr } = spawnSync('/bin/sh', ['-euc', script], { input, encoding: 'utf8' });
  expect(stderr).toBe('');
  return stdout.split('\n').filter(Boolean);
}

describe('what dnf says that it would do', () => {
  it('an engine in the place of Podman’s, line by line', () => {
    expect(filter('effects', conflict)).toEqual([
      'install containerd.io 1.7.27-3.1.el9',
      'remove runc 4:1.1.12-1.el9',
      'install docker-ce 3:29.7.2-1.el9',
      'remove podman-docker 4:4.9-1.el9',
      'remove buildah 2:1.33-1.el9',
    ]);
    expect(filter('removals', conflict)).toEqual(['runc', 'podman-docker', 'buildah']);
    expect(filter('room', conflict)).toEqual(['room 18432 0']);
    expect(filter('troubles', conflict)).toEqual([]);
  });

  it('an older version', () => {
    expect(filter('effects', downgrade)).toEqual(['downgrade docker-ce 3:29.7.1-1.el9']);
    expect(filter('downgrades', downgrade)).toEqual(['docker-ce']);
    expect(filter('removals', downgrade)).toEqual([]);
    expect(filter('room', downgrade)).toEqual(['room 6144 0']);
  });

  it('a table that is broken because a name is long, and another architecture', () => {
    expect(filter('effects', narrow)).toEqual([
      'install a-package-whose-name-is-longer-than-any-column 1.0.0-1.module_el9.6.0+123+abcdef',
      'upgrade glibc:i686 2.34-168.el9',
      'remove glibc-gconv-extra:i686 2.34-100.el9',
      'upgrade dkms 3.1.8-1.el9',
    ]);
    expect(filter('room', narrow)).toEqual(['room 104857600 2147483648']);
  });

  it('nothing', () => {
    for (const command of ['effects', 'removals', 'downgrades', 'room', 'troubles']) {
      expect(filter(command, nothing)).toEqual([]);
    }
  });

  it('that it cannot, and why', () => {
    expect(filter('troubles', unmet)).toEqual([
      'conflicting requests nothing provides dkms needed by kmod-nvidia-open-dkms-3:580.95.05-1.el9.noarch ',
    ]);
    expect(filter('troubles', held)).toEqual(['Unable to find a match: docker-ce-29.10.0 ']);
    expect(filter('troubles', dead + downgrade)).toEqual([]);
  });
});
