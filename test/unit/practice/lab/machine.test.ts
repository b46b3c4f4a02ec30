import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { refusal, SharedByLabs } from '../../../../practice/lab/machine.ts';

const able = { isRoot: true, hasApt: true, missing: [], kernelLacks: [] };

test.each([
  ['root on Debian with all packages', able, undefined],
  ['root on Debian, which installs what is missing', { ...able, missing: ['runc'] }, undefined],
  ['root elsewhere with all packages', { ...able, hasApt: false }, undefined],
  ['no right to install', { ...able, isRoot: false, missing: ['docker.io'] }, 'run it as root'],
  [
    'no Docker Engine, and no Debian',
    { ...able, hasApt: false, missing: ['docker.io', 'runc'] },
    'needs docker.io, runc',
  ],
  ['a kernel without overlayfs', { ...able, kernelLacks: ['overlayfs'] }, 'kernel lacks overlayfs'],
])('%s', (_name, machine, expected) => {
  const line = refusal(machine);
  if (expected === undefined) expect(line).toBeUndefined();
  else {
    expect(line).toContain(expected);
    expect(line).toContain('Next: ');
    expect(line).not.toContain('\n');
  }
});

describe('two labs on one machine', () => {
  let folder: string;
  let first: SharedByLabs;
  let second: SharedByLabs;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'labs-'));
    for (const lab of ['one', 'two']) mkdirSync(join(folder, lab));
    first = new SharedByLabs(join(folder, 'shared'), join(folder, 'one'));
    second = new SharedByLabs(join(folder, 'shared'), join(folder, 'two'));
    first.join();
    second.join();
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  test('the first to leave keeps the other in mind, and the last one finds the packages of both', () => {
    first.noteInstalled(['runc', 'docker.io']);
    second.noteInstalled(['tmux']);
    expect(first.leave()).toEqual([join(folder, 'two')]);
    expect(second.leave()).toEqual([]);
    expect(second.installed()).toEqual(['runc', 'docker.io', 'tmux']);
  });

  test('a lab whose folder was removed by hand does not count', () => {
    rmSync(join(folder, 'two'), { recursive: true });
    expect(first.leave()).toEqual([]);
  });

  test('the last one restores the setting that the first one found', () => {
    const setting = join(folder, 'ip_forward');
    writeFileSync(setting, '0\n');
    first.raise({ [setting]: 1 });
    second.raise({ [setting]: 1 });
    expect(readFileSync(setting, 'utf8')).toBe('1');
    second.restore();
    expect(readFileSync(setting, 'utf8')).toBe('0');
  });

  test('a setting that is high enough is left alone', () => {
    const setting = join(folder, 'instances');
    writeFileSync(setting, '8192\n');
    first.raise({ [setting]: 2048 });
    expect(readFileSync(setting, 'utf8')).toBe('8192\n');
    expect(existsSync(join(folder, 'shared', 'settings.json'))).toBe(false);
  });
});
