import { globSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { commands } from '../../../src/cli/commands.ts';
import { sourceStrings } from '../../support/source-strings.ts';

const known = new Set(commands.map(({ name }) => name));
// Pages are held by shown-commands.test.ts.
const files = globSync(['src/**/*.ts', 'dockeragent/*', 'examples/**/*.tf', 'inventory.example.yaml']);

/** What follows the name of the program where a sentence is about it; anything else is a command to type. */
const prose = new Set(
  'never opens takes goes itself is on was needs registered made makes manages warns works lives says knows again reaches installs do does disabled agent neither saved installed from'.split(
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

describe('commands that people are sent to', () => {
  test('a command that does not exist is noticed, a sentence about the program is not', () => {
    expect(unknownCommands('make one, then: azp-fleet token rotate')).toEqual(['azp-fleet token rotate']);
    expect(unknownCommands('`azp-fleet pool rename`')).toEqual(['azp-fleet pool rename']);
    expect(unknownCommands('azp-fleet needs Node; run azp-fleet pool list, or azp-fleet plan')).toEqual([]);
  });

  test('messages, examples and the agent image name only those that exist', () => {
    const wrong = files.flatMap((file) =>
      unknownCommands(file.endsWith('.ts') ? sourceStrings(file).join('\n') : readFileSync(file, 'utf8')).map(
        (command) => `${file}: ${command}`,
      ),
    );
    expect(wrong).toEqual([]);
  });
});
