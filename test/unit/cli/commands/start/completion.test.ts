import { execFileSync } from 'node:child_process';

import { expect, test } from 'vitest';

import { commands } from '../../../../../src/cli/commands.ts';
import { completionScript } from '../../../../../src/render/completion.ts';

/** What bash would offer for the words typed so far. */
function offered(words: readonly string[]): string[] {
  const script = `${completionScript('bash', commands)}
COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}; _azp_fleet; printf '%s\\n' "\${COMPREPLY[@]}"`;
  return execFileSync('bash', ['--norc'], { input: script, cwd: '/' }).toString().split('\n').filter(Boolean);
}

test('commands are offered', () => {
  expect(offered(['azp-fleet', 'comp'])).toEqual(['completion']);
});

test('every command offers its own options', () => {
  for (const command of commands) {
    const flags = (command.options ?? []).flatMap((option) => /--[\w-]+/.exec(option.flags) ?? []);
    expect(offered(['azp-fleet', ...command.name.split(' '), '--'])).toEqual(expect.arrayContaining(flags));
  }
});

test.each(['bash', 'zsh'] as const)('the %s script is valid shell', (shell) => {
  expect(() => execFileSync('bash', ['-n'], { input: completionScript(shell, commands) })).not.toThrow();
});
