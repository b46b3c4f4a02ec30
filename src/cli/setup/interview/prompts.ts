import type { Choice, TextOptions } from './question.ts';

/** Thrown by whoever asks when the user wants the question before this one. */
export class Back extends Error {
  override readonly name = 'Back';
}

/**
 * The questions setup asks, each with a key. Each rejects with Back on Escape, ExitPromptError on Ctrl-C, AbortPromptError
 * when stopped, and a usage error where nobody can be asked and nothing was answered beforehand.
 */
export interface Prompts {
  /** False: answers come from flags and files alone. */
  readonly canAsk: boolean;
  /** Whether a flag or a file answers this. */
  answers(key: string): boolean;
  choose<T extends string>(
    key: string,
    message: string,
    choices: readonly Choice<T>[],
    /** What Enter gives, and what is taken where nobody can be asked; undefined: the first, and nothing. */
    preset?: T,
  ): Promise<T>;
  chooseMany(
    key: string,
    message: string,
    choices: readonly Choice<string>[],
    preset: readonly string[],
  ): Promise<readonly string[]>;
  text(key: string, message: string, options?: TextOptions): Promise<string>;
  confirm(key: string, message: string, preset: boolean): Promise<boolean>;
  /** Is not shown, not kept, and asked again wherever it is needed again. */
  hidden(message: string): Promise<string>;
  /**
   * Does something once as long as the answers before it stay as they are: what is said to somebody who goes back is not
   * done again. `key` tells it from others done at the same place.
   */
  once<T>(key: string, work: () => Promise<T>): Promise<T>;
  /** Instead of the last answer, another one counts from now on: what became of it. */
  settle(answers: Readonly<Record<string, string>>): void;
}
