import type { Command } from 'commander';

import { FleetError, usageError } from '../shared/base/errors.ts';
import { completed, nearest } from '../shared/base/nearest.ts';

/** `help WORDS` beside the commands of a program or group. */
export function declareHelp(parent: Command): void {
  parent
    .helpCommand(false)
    .command('help [command...]')
    .description('help for one command')
    .action((words: readonly string[]) => found(parent, words).help())
    .copyInheritedSettings(parent);
}

function found(parent: Command, words: readonly string[]): Command {
  return words.reduce((from, word) => {
    const command = from.commands.find((each) => each.name() === word);
    if (command === undefined) throw unknownCommand(from, word);
    return command;
  }, parent);
}

/** A word where a command belongs: with those that may have been meant. */
export function unknownCommand(parent: Command, word: string): FleetError {
  const path = pathOf(parent);
  const known = parent.commands;
  const names = known.map((command) => command.name());
  const near = nearest(word, names) ?? completed(word, names);
  const meant =
    near === undefined
      ? known.flatMap((group) => group.commands.filter((command) => command.name() === word))
      : known.filter((command) => command.name() === near);
  return usageError({
    code: 'usage.arguments',
    what: `there is no command "${[...path.slice(1), word].join(' ')}"`,
    next: meant.length === 0 ? seeHelp(path, known.length > 0) : `did you mean ${oneOf(meant)}?`,
  });
}

/** `azp-fleet`, `pool`, `list`. */
function pathOf(command: Command): readonly string[] {
  return [...(command.parent === null ? [] : pathOf(command.parent)), command.name()];
}

function seeHelp(path: readonly string[], isGroup: boolean): string {
  return `see ${isGroup ? 'the commands: ' : ''}${path.join(' ')} --help`;
}

function oneOf(commands: readonly Command[]): string {
  const names = commands.map((command) => `"${pathOf(command).join(' ')}"`);
  return [names.slice(0, -1).join(', '), names.at(-1)].filter(Boolean).join(' or ');
}
