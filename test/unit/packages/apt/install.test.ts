import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { installScript } from '../../../../src/packages/apt/install.ts';
import type { Bound } from '../../../../src/packages/simulation.ts';

/** The script runs for real; apt's programs are the test's own and write down how they were called. */
let folder: string;
const calls = () =>
  existsSync(join(folder, 'calls')) ? readFileSync(join(folder, 'calls'), 'utf8').trim().split('\n') : [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'azp-fleet-apt-'));
  mkdirSync(join(folder, 'bin'));
  command(
    'apt-get',
    `echo "get $*" | sed 's/-q -y.*Recommends=false //' >>${folder}/calls
    case $* in *' -s install'*) cat ${folder}/simulation 2>/dev/null ;; *install*) touch ${folder}/done ;; esac`,
  );
  command('apt-mark', `echo "mark $*" >>${folder}/calls`);
  command('apt-cache', 'printf "tool | 2.1-2 | x\\ntool | 2.0-1 | x\\ntool | 1.9-1 | x\\n"');
  command('dpkg', ':');
  command('dpkg-query', `if [ -e ${folder}/done ]; then echo "installed 2.0-1"; fi`);
  command('sleep', ':');
});
afterEach(() => rmSync(folder, { recursive: true }));

function command(name: string, body: string): void {
  writeFileSync(join(folder, 'bin', name), `#!/bin/sh\n${body}\n`);
  chmodSync(join(folder, 'bin', name), 0o755);
}

function run(release: string, { before, bound }: { before?: string; bound?: Bound } = {}) {
  const script = installScript(
    {
      vendor: 'docker',
      packages: [{ name: 'tool', version: { release } }],
      remove: ['old'],
      mayRemove: ['old-*'],
      proxy: { noProxy: [] },
      ...(before === undefined ? {} : { before }),
    },
    bound,
  );
  return spawnSync('/bin/sh', ['-eu'], {
    // Nobody holds a lock here, whatever goes on on this machine.
    input: script.replaceAll('/run/azp-fleet', folder).replaceAll('/proc/locks', '/dev/null'),
    encoding: 'utf8',
    env: { PATH: `${join(folder, 'bin')}:/usr/bin:/bin` },
  });
}

describe('installing packages', () => {
  it('takes exactly the wanted version, and holds it', () => {
    expect(run('2.0')).toMatchObject({ status: 0, stderr: '' });
    expect(calls()).toEqual([
      'get update -o APT::Update::Error-Mode=any',
      'mark unhold tool old',
      'get -s install --allow-downgrades tool=2.0-1 old-',
      'get install --allow-downgrades tool=2.0-1 old-',
      'mark hold tool',
    ]);
  });

  it("does not look at a packager's epoch", () => {
    command('apt-cache', 'printf "tool | 5:2.1-2 | x\\ntool | 5:2.0-1 | x\\n"');
    command('dpkg-query', `if [ -e ${folder}/done ]; then echo "installed 5:2.0-1"; fi`);
    expect(run('2.0')).toMatchObject({ status: 0, stderr: '' });
    expect(calls()).toContain('get install --allow-downgrades tool=5:2.0-1 old-');
  });

  it('takes away what was announced', () => {
    writeFileSync(join(folder, 'simulation'), 'Remv old [1.0]\nRemv old-plugin [1.0]\nInst tool (2.0-1)\n');
    expect(run('2.0')).toMatchObject({ status: 0, stderr: '' });
  });

  it('does nothing where something else would go, and says what', () => {
    command('dpkg-query', 'echo "installed 1.9-1"');
    writeFileSync(
      join(folder, 'simulation'),
      'Remv kubeadm [1.31]\nRemv old [1.0]\nRemv kubelet:i386 [1.31]\n',
    );
    const { status, stderr } = run('2.0');
    expect(status).toBe(1);
    expect(stderr).toBe(
      'failed: apt would also remove other packages\nexpected: only old, old-* may go\n' +
        'seen: kubeadm kubelet:i386 \n' +
        'next: remove them by hand if nothing needs them, or leave this host out, and run again\n',
    );
    expect(calls().slice(1)).toEqual([
      'mark unhold tool old',
      'get -s install --allow-downgrades tool=2.0-1 old-',
      'mark hold tool',
    ]);
  });

  const announced = { removes: ['old', 'gdm3'], downgrades: ['libtool'] };

  it('does what was announced, and less', () => {
    writeFileSync(
      join(folder, 'simulation'),
      'The following packages will be DOWNGRADED:\n  libtool\nRemv old [1.0]\nRemv gdm3 [43]\n',
    );
    expect(run('2.0', { bound: announced })).toMatchObject({ status: 0, stderr: '' });
    writeFileSync(join(folder, 'simulation'), 'Inst tool [1.9-1] (2.0-1)\n');
    expect(run('2.0', { bound: announced })).toMatchObject({ status: 0, stderr: '' });
  });

  it.each([
    [
      'removes a package that was not named, though its like may go',
      'Remv old [1.0]\nRemv old-plugin [1.0]\n',
      'failed: apt would also remove other packages\nexpected: only old, gdm3 may go\nseen: old-plugin \n',
    ],
    [
      'downgrades one',
      'The following packages will be DOWNGRADED:\n  libtool libc6\n1 upgraded\n',
      'failed: apt would also downgrade other packages\nexpected: only libtool may get older\nseen: libc6 \n',
    ],
  ])('stops where the real thing %s', (_, simulation, expected) => {
    command('dpkg-query', 'echo "installed 1.9-1"');
    writeFileSync(join(folder, 'simulation'), simulation);
    const { status, stderr } = run('2.0', { bound: announced });
    expect(status).toBe(1);
    expect(stderr).toBe(`${expected}next: run it again, to see the plan as it is now and agree to it\n`);
    expect(calls()).not.toContain('get install --allow-downgrades tool=2.0-1 old-');
    expect(calls().at(-1)).toBe('mark hold tool');
  });

  it('holds what comes before to the same bound', () => {
    writeFileSync(join(folder, 'simulation'), 'Remv gdm3 [43]\nRemv kubelet [1.31]\n');
    const { status, stderr } = run('2.0', { before: 'bring linux-headers-6.1', bound: announced });
    expect(status).toBe(1);
    expect(stderr).toContain('seen: kubelet \n');
    expect(calls()).not.toContain('get install linux-headers-6.1');
  });

  it('names what is offered instead of a version that is not', () => {
    const { status, stderr } = run('3.0');
    expect(status).toBe(1);
    expect(stderr).toBe(
      'failed: no package source offers tool 3.0-\nexpected: a version that begins with 3.0-\n' +
        'seen: 2.1-2 2.0-1 1.9-1 \nnext: correct the version in the inventory, or complete the mirror\n',
    );
    expect(calls().join()).not.toContain('install');
  });

  it('holds again what was there when the installation fails', () => {
    command('dpkg-query', 'echo "installed 1.9-1"');
    command('apt-get', `case $* in *install*) exit 100 ;; esac`);
    expect(run('2.0').status).toBe(100);
    expect(calls()).toEqual(['mark unhold tool old', 'mark hold tool']);
  });

  it('finds out when apt installed something else', () => {
    expect(run('2.1').stderr).toContain(
      'failed: tool has the wrong version after its installation\nexpected: 2.1-\nseen: 2.0-1',
    );
  });

  it('goes on with the lists that it has when an archive does not answer', () => {
    command(
      'apt-get',
      `echo "get $1" >>${folder}/calls; case $* in *update*) exit 100 ;; *) touch ${folder}/done ;; esac`,
    );
    const { status, stdout } = run('2.0');
    expect(status).toBe(0);
    expect(stdout).toContain('not all package lists could be read, trying again in 3 s');
    expect(stdout).toContain('going on with the package lists that could be read');
  });
});
