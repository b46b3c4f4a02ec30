import { execFileSync } from 'node:child_process';

import { expect, test } from 'vitest';

import { commands } from '../../../../../src/cli/commands.ts';
import { sharedBy, sharedOptions } from '../../../../../src/cli/shared-options.ts';
import { runCommand } from '../../../../support/command.ts';

const script = async (shell: string) => (await runCommand(['completion', shell], { cwd: '/' })).stdout;
const bash = await script('bash');

/** What bash would offer for the words typed so far. */
function offered(words: readonly string[]): string[] {
  const typed = `COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}`;
  const input = `${bash}\n${typed}; _azp_fleet; printf '%s\\n' "\${COMPREPLY[@]}"`;
  return execFileSync('bash', ['--norc'], { input, cwd: '/' }).toString().split('\n').filter(Boolean);
}

const longNames = (options: readonly { readonly flags: string }[]) =>
  options.flatMap(({ flags }) => /--[\w-]+/.exec(flags) ?? []);

test.each([
  ['azp-fleet comp', ['completion']],
  ['azp-fleet --json comp', ['completion']],
  ['azp-fleet -i lab.yaml comp', ['completion']],
  ['azp-fleet --limit status comp', ['completion']],
  ['azp-fleet inventory ch', ['check']],
  ['azp-fleet --json inventory --limit h1 ch', ['check']],
])('%s: the command is offered', (line, words) => {
  expect(offered(line.split(' '))).toEqual(words);
});

test('options are offered before a command', () => {
  expect(offered(['azp-fleet', '--'])).toEqual([...longNames(sharedOptions), '--help']);
});

test('every command offers its own options and the shared ones that it takes', () => {
  for (const command of commands)
    expect(offered(['azp-fleet', ...command.name.split(' '), '--']), command.name).toEqual([
      ...longNames([...(command.options ?? []), ...sharedBy(command)]),
      '--help',
    ]);
});

test.each(['bash', 'zsh'] as const)('the %s script is valid shell', async (shell) => {
  const input = await script(shell);
  expect(() => execFileSync('bash', ['-n'], { input })).not.toThrow();
});
