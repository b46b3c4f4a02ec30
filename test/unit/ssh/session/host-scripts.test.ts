import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import {
  bootCommand,
  bootProgram,
  type BootRequest,
  scriptLine,
} from '../../../../src/ssh/session/bootstrap.ts';
import { followChangeScript, startChangeScript } from '../../../../src/ssh/session/durable-script.ts';
import { frameScript } from '../../../../src/ssh/session/frames.ts';
import { lockScript } from '../../../../src/ssh/session/lock.ts';
import { pipeScript } from '../../../../src/ssh/session/socket-agent.ts';
import { uploadScript } from '../../../../src/ssh/session/upload.ts';

const owner = { who: "ann@o'hara", command: 'azp-fleet provision "a b".yaml', since: '2026-11-21T00:00:00Z' };
const change = {
  id: 'x-1',
  title: `it's "100 %"`,
  owner: 'ann',
  script: 'echo $HOME',
  limitS: 9,
  run: 'r',
  since: 's',
};

function boot(parts: Partial<BootRequest> = {}): BootRequest {
  return {
    nonce: 'n0',
    as: 'root',
    elevation: 'unknown',
    canAnswer: true,
    limitS: 70,
    input: false,
    ...parts,
  };
}

const scripts = {
  frames: frameScript([{ name: 'a', script: "echo 'x'" }]),
  upload: uploadScript("/opt/it's/file", 'ab'.repeat(32), 10, 0o755, true),
  lock: lockScript(owner, 'id', 'any'),
  start: startChangeScript(change, 0),
  follow: followChangeScript('x-1', 12, true),
  pipe: pipeScript('/run/a.sock'),
  boot: bootProgram(boot()),
};

describe('every script for a host', () => {
  test('is valid for the plainest shell there is', () => {
    const broken = Object.entries(scripts).filter(
      ([, input]) => spawnSync('/bin/sh', ['-n'], { input }).status !== 0,
    );
    expect(broken).toEqual([]);
  });

  test('gives shellcheck nothing to say', ({ annotate }) => {
    const folder = mkdtempSync(join(tmpdir(), 'azp-check-'));
    for (const [name, text] of Object.entries(scripts)) writeFileSync(join(folder, `${name}.sh`), text);
    const files = Object.keys(scripts).map((name) => join(folder, `${name}.sh`));
    const { error, stdout } = spawnSync('shellcheck', ['-s', 'sh', '-S', 'warning', ...files], {
      encoding: 'utf8',
    });
    rmSync(folder, { recursive: true });
    if (error !== undefined) return annotate('shellcheck is not installed: only the syntax was checked');
    expect(stdout).toBe('');
    return undefined;
  });
});

describe('the command of an exec', () => {
  test('has nothing that a login shell could take differently', () => {
    const command = bootCommand(boot());
    expect(command).toMatch(/^exec \/bin\/sh -c '[A-Za-z0-9+/=$()"| -]*'$/);
  });

  test('holds neither script nor password', () => {
    expect(bootCommand(boot())).toBe(bootCommand(boot()));
    expect(scriptLine('a\nb\n')).toBe('a\u0001b\u0001\n');
    expect(() => scriptLine('a\u0001b')).toThrow(TypeError);
  });

  test.each([
    ['the login user', { as: 'login' as const }, /^exec timeout -k 5 70 \/bin\/sh -c /],
    ['root', { elevation: 'none' as const }, /; exec timeout /],
    ['sudo without a password', { elevation: 'free' as const }, /; exec sudo -n -H \/bin\/sh -c /],
    [
      'sudo with one',
      { elevation: 'password' as const },
      /; exec sudo -S -H -p '@n0 password:' \/bin\/sh -c /,
    ],
  ])('for %s', (_case, parts, expected) => {
    expect(bootProgram(boot(parts))).toMatch(expected);
  });

  test('asks for no password where none could be given', () => {
    expect(bootProgram(boot({ canAnswer: false }))).not.toContain('sudo -S');
  });
});
