import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

import { expect, test } from 'vitest';

import { smiScript } from '../../../src/health/smi-script.ts';

const context = new URL('../../../dockeragent/', import.meta.url);
const scripts = new Map([
  ...readdirSync(context)
    .filter((name) => name.endsWith('.sh'))
    .map((name) => [name, readFileSync(new URL(name, context), 'utf8')] as const),
  ['the look at the GPUs', smiScript(['0000:18:00.0', '0000:3b:00.0'])],
]);

test.each([...scripts])('%s is valid for the plainest shell', (_, script) => {
  expect(spawnSync('/bin/sh', ['-n'], { input: script, encoding: 'utf8' })).toMatchObject({
    status: 0,
    stderr: '',
  });
});

test.each([...scripts])('%s gives shellcheck nothing to say', (_, script) => {
  const { error, stdout } = spawnSync('shellcheck', ['--shell=sh', '-'], { input: script, encoding: 'utf8' });
  if (error === undefined) expect(stdout).toBe('');
});
