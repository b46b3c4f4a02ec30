import { globSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { commands } from '../../../src/cli/commands.ts';
import { sourceStrings } from '../../support/source-strings.ts';

const known = new Set(commands.map(({ name }) => name));
// shown-commands.test.ts checks the pages.
const files = globSync(['src/**/*.ts', 'dockeragent/*', 'examples/**/*.tf', 'inventory.example.yaml']);

/** Words after the program's name in a sentence about it; any other word is a command to type. */
const prose = new Set(
  'never runs opens takes goes itself is on was needs registered made makes manages warns works lives says knows again reaches installs do does disabled agent neither saved installed from'.split(
    ' ',
  ),
);

function unknownCommands(text: string): readonly string[] {
  return [...text.matchAll(/(?<![\w/.-])azp-fleet ([a-z]+)(?: ([a-z]+))?/g)]
    .filter(([, verb = '', object]) => {
      const exists = known.has(verb) || known.has(`${verb} ${object}`);
      return !exists && !prose.has(verb);
    })
    .map(([whole]) => whole);
}

describe('commands named in texts', () => {
  test('an unknown command is found; a sentence about the program is not', () => {
    expect(unknownCommands('make one, then: azp-fleet token list')).toEqual(['azp-fleet token list']);
    expect(unknownCommands('`azp-fleet pool rename`')).toEqual(['azp-fleet pool rename']);
    expect(unknownCommands('azp-fleet needs Node; run azp-fleet pool list, or azp-fleet plan')).toEqual([]);
  });

  test('messages, examples and the agent image name only existing commands', () => {
    const wrong = files.flatMap((file) =>
      unknownCommands(file.endsWith('.ts') ? sourceStrings(file).join('\n') : readFileSync(file, 'utf8')).map(
        (command) => `${file}: ${command}`,
      ),
    );
    expect(wrong).toEqual([]);
  });
});
