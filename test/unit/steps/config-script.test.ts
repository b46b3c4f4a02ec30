import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { configScript } from '../../../src/steps/docker/config-script.ts';

/** The script runs for real; only /etc/docker, systemctl, docker and dockerd are the test's own. */
let folder: string;
const file = () => join(folder, 'etc/daemon.json');
const calls = () => (existsSync(join(folder, 'calls')) ? readFileSync(join(folder, 'calls'), 'utf8') : '');

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'azp-fleet-config-'));
  mkdirSync(join(folder, 'bin'));
  mkdirSync(join(folder, 'etc'));
  command('systemctl', `echo "$*" >>${folder}/calls`);
  command('docker', 'echo 29.7.2');
  command('journalctl', 'echo "dockerd says why"');
  command('dockerd', 'if [ "$1" = --help ]; then echo " --validate"; else ! grep bad "$3"; fi');
});
afterEach(() => rmSync(folder, { recursive: true }));

function command(name: string, body: string): void {
  writeFileSync(join(folder, 'bin', name), `#!/bin/sh\n${body}\n`);
  chmodSync(join(folder, 'bin', name), 0o755);
}

function run(config: Parameters<typeof configScript>[0]) {
  const script = configScript(config).replaceAll('/etc/docker', join(folder, 'etc'));
  return spawnSync('/bin/sh', ['-eu'], {
    input: script,
    encoding: 'utf8',
    env: { PATH: `${join(folder, 'bin')}:/usr/bin:/bin` },
  });
}

describe('putting daemon.json in place', () => {
  it('keeps the owner’s file beside the new one, and restarts', () => {
    writeFileSync(file(), 'mine');
    expect(run({ from: 'mine', to: 'new', restart: true }).status).toBe(0);
    expect(readFileSync(file(), 'utf8')).toBe('new');
    expect(run({ from: 'new', to: 'newer', restart: false }).status).toBe(0);
    expect(readFileSync(`${file()}.before-azp-fleet`, 'utf8')).toBe('mine');
    expect(readFileSync(`${file()}.previous`, 'utf8')).toBe('new');
    expect(calls()).toBe('reset-failed docker.service\nrestart docker.service\n');
  });

  it('does not touch a file that somebody changed meanwhile', () => {
    writeFileSync(file(), 'somebody else');
    const { status, stderr } = run({ from: 'mine', to: 'new', restart: true });
    expect(status).toBe(1);
    expect(stderr).toContain('has changed since the plan was made');
    expect(readFileSync(file(), 'utf8')).toBe('somebody else');
    expect(calls()).toBe('');
  });

  it('only restarts when an interrupted run had written the file already', () => {
    writeFileSync(file(), 'new');
    expect(run({ from: 'mine', to: 'new', restart: true }).status).toBe(0);
    expect(calls()).toContain('restart docker.service');
  });

  it('asks dockerd first', () => {
    const { status, stderr } = run({ from: undefined, to: 'bad', restart: true });
    expect(status).toBe(1);
    expect(stderr).toContain('failed: dockerd refuses its new configuration');
    expect(existsSync(file())).toBe(false);
    expect(calls()).toBe('');
  });

  it.each([['mine'], [undefined]])(
    'puts back what was there when the engine does not come up: %s',
    (from) => {
      if (from !== undefined) writeFileSync(file(), from);
      command(
        'systemctl',
        `echo "$*" >>${folder}/calls; case $*-$(cat ${file()}) in restart*-new) exit 1 ;; esac`,
      );
      const { status, stderr } = run({ from, to: 'new', restart: true });
      expect(status).toBe(1);
      expect(stderr).toContain('the old one is back');
      expect(stderr).toContain('seen: dockerd says why');
      expect(existsSync(file()) ? readFileSync(file(), 'utf8') : undefined).toBe(from);
      expect(calls().match(/^restart/gm)).toHaveLength(2);
    },
  );
});
