import type { CommandSpec, OptionSpec } from '../command.ts';
import { valueOf, type Kind } from '../arguments.ts';
import { sharedBy, sharedOptions } from '../shared-options.ts';

/** What has been typed before the word that is completed. */
export interface Typed {
  readonly command?: CommandSpec;
  /** The first word, where it is that of several commands. */
  readonly group?: string;
  /** Help is asked for. */
  readonly topic: boolean;
  /** The last word is an option, and this belongs behind it. */
  readonly pending?: Kind;
  /** Arguments that are no inventory. */
  readonly given: readonly string[];
  readonly inventory?: string;
  /** What comes is not ours: it stands after `--`. */
  readonly isOver: boolean;
}

export function readWords(words: readonly string[], specs: readonly CommandSpec[]): Typed {
  let typed: Typed = { topic: false, given: [], isOver: false };
  for (const word of words) {
    if (typed.isOver) break;
    typed = next(typed, word, specs);
  }
  return typed;
}

function next(typed: Typed, word: string, specs: readonly CommandSpec[]): Typed {
  const { pending, ...rest } = typed;
  if (pending !== undefined) return pending === 'inventory' ? { ...rest, inventory: word } : rest;
  if (word === '--') return { ...rest, isOver: true };
  if (word.startsWith('-')) return withOption(rest, word);
  if (typed.command !== undefined) return withArgument(rest, word, typed.command);
  if (word === 'help') return { ...rest, topic: true };
  const name = [typed.group, word].filter(Boolean).join(' ');
  const command = specs.find((spec) => spec.name === name);
  if (command !== undefined) return { ...rest, command };
  return specs.some((spec) => spec.name.startsWith(`${name} `))
    ? { ...rest, group: word }
    : { ...rest, isOver: true };
}

function withOption(typed: Typed, word: string): Typed {
  const [name = '', value] = word.split('=', 2);
  const option = optionsOf(typed).find(({ flags }) => flags.split(/[ ,]+/).includes(name));
  const kind = option === undefined ? undefined : valueOf(option.flags);
  if (kind === undefined) return typed;
  if (value === undefined) return { ...typed, pending: kind };
  return kind === 'inventory' ? { ...typed, inventory: value } : typed;
}

function optionsOf({ command }: Typed): readonly OptionSpec[] {
  return command === undefined ? sharedOptions : [...(command.options ?? []), ...sharedBy(command)];
}

function withArgument(typed: Typed, word: string, command: CommandSpec): Typed {
  const isFile = command.inventory !== false && /\.ya?ml$/.test(word);
  return isFile ? { ...typed, inventory: word } : { ...typed, given: [...typed.given, word] };
}
