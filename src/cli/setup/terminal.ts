import { PassThrough } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import inquirer from 'inquirer';

import type { Context } from '../../shared/base/context.ts';
import { foreignLine, foreignLines } from '../../shared/base/foreign-text.ts';
import { type Answer, Back, type Choice, type Question } from './question.ts';

/** Asks questions. Rejects with Back on Escape. */
export interface Asker {
  ask(question: Question): Promise<Answer>;
  hidden(message: string): Promise<string>;
}

type Terminal = Pick<Context, 'stdin' | 'unfiltered' | 'signal'>;
type Ask = ReturnType<typeof inquirer.createPromptModule>;

/** Returns an asker on the terminal. */
export function terminalAsker(terminal: Terminal): Asker {
  return {
    ask: (question) => {
      const several = question.kind === 'text' && question.options.list === true;
      return orBack(terminal, several ? joinPastedLines(terminal.stdin) : undefined, (ask) =>
        put(ask, question),
      );
    },
    hidden: (message) =>
      orBack(terminal, undefined, async (ask) => {
        const { answer } = await ask<{ answer: string }>({
          type: 'password',
          name: 'answer',
          message: foreignLines(message),
          mask: '*',
        });
        return answer;
      }),
  };
}

/** Runs a question; Escape ends it and rejects with Back. Its text stays on the screen. */
async function orBack<T>(
  { stdin, unfiltered, signal }: Terminal,
  pasted: ReturnType<typeof joinPastedLines> | undefined,
  put: (ask: Ask) => Promise<T>,
): Promise<T> {
  const back = new AbortController();
  const input = pasted?.stream ?? stdin;
  const listen = (_: unknown, key?: { readonly name?: string }): void => {
    if (key?.name === 'escape') back.abort();
  };
  input.on('keypress', listen);
  try {
    const stop = AbortSignal.any([signal, back.signal]);
    return await put(inquirer.createPromptModule({ input, output: unfiltered.stdout, signal: stop }));
  } catch (error) {
    if (!back.signal.aborted || signal.aborted) throw error;
    // The ended question releases the terminal a moment later; the next one must not start before.
    await setImmediate();
    throw new Back();
  } finally {
    input.off('keypress', listen);
    pasted?.end();
  }
}

async function put(ask: Ask, question: Question): Promise<Answer> {
  const message = foreignLine(question.message);
  const named = { name: 'answer', message } as const;
  switch (question.kind) {
    case 'choose': {
      const { answer } = await ask<{ answer: number }>({
        ...named,
        type: 'select',
        choices: question.choices.map(seen),
        loop: false,
        pageSize: 12,
        default: Math.max(
          0,
          question.choices.findIndex(({ value }) => value === question.preset),
        ),
      });
      return chosen(question.choices, answer);
    }
    case 'choose-many': {
      const { answer } = await ask<{ answer: number[] }>({
        ...named,
        type: 'checkbox',
        choices: question.choices.map((choice, index) => ({
          ...seen(choice, index),
          checked: question.preset.includes(choice.value),
        })),
        pageSize: 12,
        loop: false,
      });
      return answer.map((index) => chosen(question.choices, index));
    }
    case 'text': {
      const { default: preset, check } = question.options;
      const { answer } = await ask<{ answer: string }>({
        ...named,
        type: 'input',
        ...(preset === undefined ? {} : { default: foreignLine(preset) }),
        validate: async (text: string) => complaint(await check?.(text.trim())),
      });
      return answer.trim();
    }
    default: {
      const { answer } = await ask<{ answer: boolean }>({
        ...named,
        type: 'confirm',
        default: question.preset,
      });
      return answer;
    }
  }
}

/** Returns the message of a check, cleaned: it may contain text of a host or the server. */
function complaint(mistake: string | undefined): string | true {
  return mistake === undefined ? true : foreignLine(mistake);
}

/** Returns a choice for the prompt, cleaned: it may contain text of a host or the server. */
function seen({ name, short = name }: Choice<string>, value: number) {
  return { name: foreignLine(name), short: foreignLine(short), value };
}

function chosen(choices: readonly Choice<string>[], index: number): string {
  const choice = choices[index];
  if (choice === undefined) throw new RangeError(`no choice ${index}`);
  return choice.value;
}

type Input = Context['stdin'];

/** Joins pasted lines: input in one chunk with text after a line break was pasted. */
export function joinLines(text: string): string {
  return /[\r\n]+[^\r\n]/.test(text) ? text.trim().replaceAll(/[\r\n]+/g, ' ') : text;
}

/**
 * Returns an input that joins pasted lines with spaces. Otherwise the first line would be the answer, and the others
 * would answer later questions. Pasted text waits for Enter. `end` releases the terminal.
 */
function joinPastedLines(stdin: Input): { readonly stream: Input; readonly end: () => void } {
  const raw = 'setRawMode' in stdin && typeof stdin.setRawMode === 'function' ? stdin.setRawMode : undefined;
  const stream = Object.assign(new PassThrough(), {
    isTTY: stdin.isTTY === true,
    setRawMode: (mode: boolean): void => void raw?.call(stdin, mode),
  });
  const forward = (chunk: Buffer | string): void => void stream.write(joinLines(chunk.toString()));
  stdin.on('data', forward);
  stdin.resume();
  return {
    stream,
    end: () => {
      stdin.off('data', forward);
      stdin.pause();
      stream.destroy();
    },
  };
}
