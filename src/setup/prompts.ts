import inquirer from 'inquirer';

import type { Context } from '../base/context.ts';
import { foreignLine, foreignLines } from '../base/foreign-text.ts';

interface Choice<T> {
  readonly name: string;
  /** What stays on the screen once it is chosen; default: the name. */
  readonly short?: string;
  readonly value: T;
}

interface TextOptions {
  readonly default?: string;
  /** What is wrong with the text, or undefined. */
  readonly check?: (text: string) => string | undefined | Promise<string | undefined>;
}

/** The questions setup asks. Each rejects with ExitPromptError on Ctrl-C and AbortPromptError when stopped. */
export interface Prompts {
  choose<T>(message: string, choices: readonly Choice<T>[], preset?: T): Promise<T>;
  chooseMany<T>(message: string, choices: readonly Choice<T>[], allAtFirst: boolean): Promise<readonly T[]>;
  text(message: string, options?: TextOptions): Promise<string>;
  hidden(message: string): Promise<string>;
  confirm(message: string, preset: boolean): Promise<boolean>;
}

/** Questions on the terminal. */
export function terminalPrompts(context: Pick<Context, 'stdin' | 'unfiltered' | 'signal'>): Prompts {
  const ask = inquirer.createPromptModule({
    input: context.stdin,
    output: context.unfiltered.stdout,
    signal: context.signal,
  });
  return {
    async choose(message, choices, preset) {
      const { answer } = await ask<{ answer: number }>({
        type: 'select',
        name: 'answer',
        message: foreignLine(message),
        choices: choices.map(({ name, short = name }, value) => ({ ...seen(name, short), value })),
        loop: false,
        default: Math.max(
          0,
          choices.findIndex(({ value }) => value === preset),
        ),
      });
      return chosen(choices, answer);
    },
    async chooseMany(message, choices, allAtFirst) {
      const { answer } = await ask<{ answer: number[] }>({
        type: 'checkbox',
        name: 'answer',
        message: foreignLine(message),
        choices: choices.map(({ name, short = name }, value) => ({
          ...seen(name, short),
          value,
          checked: allAtFirst,
        })),
        pageSize: 12,
        loop: false,
      });
      return answer.map((index) => chosen(choices, index));
    },
    async text(message, { default: preset, check } = {}) {
      const { answer } = await ask<{ answer: string }>({
        type: 'input',
        name: 'answer',
        message: foreignLine(message),
        ...(preset === undefined ? {} : { default: foreignLine(preset) }),
        validate: async (text: string) => complaint(await check?.(text.trim())),
      });
      return answer.trim();
    },
    async hidden(message) {
      const { answer } = await ask<{ answer: string }>({
        type: 'password',
        name: 'answer',
        message: foreignLines(message),
        mask: '*',
      });
      return answer;
    },
    async confirm(message, preset) {
      const question = {
        type: 'confirm',
        name: 'answer',
        message: foreignLine(message),
        default: preset,
      } as const;
      const { answer } = await ask<{ answer: boolean }>(question);
      return answer;
    },
  };
}

/** A host or the server can have a say in it. */
function complaint(said: string | undefined): string | true {
  return said === undefined ? true : foreignLine(said);
}

/** Choices can be words of a host or of the server. */
function seen(name: string, short: string): { readonly name: string; readonly short: string } {
  return { name: foreignLine(name), short: foreignLine(short) };
}

function chosen<T>(choices: readonly Choice<T>[], index: number): T {
  const choice = choices[index];
  if (choice === undefined) throw new RangeError(`no choice ${index}`);
  return choice.value;
}
