/** What is kept of an answer: text, yes or no, or several names. Never a secret. */
export type Answer = string | boolean | readonly string[];

export interface Choice<T extends string> {
  readonly name: string;
  /** What stays on the screen once it is chosen; default: the name. */
  readonly short?: string;
  readonly value: T;
}

interface TextOptions {
  readonly default?: string;
  /** What is wrong with the text, or undefined. */
  readonly check?: (text: string) => string | undefined | Promise<string | undefined>;
  /** Several lines may be pasted: they are taken as one, with blanks between. */
  readonly list?: boolean;
}

interface Asked {
  /** Names the question in drafts, flags and files of answers; the same wherever it is asked again. */
  readonly key: string;
  readonly message: string;
}

/** One question as data. `preset` is what Enter alone gives. */
export type Question =
  | (Asked & {
      readonly kind: 'choose';
      readonly choices: readonly Choice<string>[];
      readonly preset?: string;
    })
  | (Asked & {
      readonly kind: 'choose-many';
      readonly choices: readonly Choice<string>[];
      readonly preset: readonly string[];
    })
  | (Asked & { readonly kind: 'text'; readonly options: TextOptions })
  | (Asked & { readonly kind: 'confirm'; readonly preset: boolean });

/** What is wrong with this answer to this question, or undefined. Checks of texts are asked, too. */
export async function mistakeIn(question: Question, answer: Answer): Promise<string | undefined> {
  switch (question.kind) {
    case 'choose':
      return isChoice(question, answer) ? undefined : `one of: ${valuesOf(question)}`;
    case 'choose-many':
      return Array.isArray(answer) && answer.every((each) => isChoice(question, each))
        ? undefined
        : `a list of: ${valuesOf(question)}`;
    case 'text':
      return typeof answer === 'string' ? await question.options.check?.(answer) : 'text';
    default:
      return typeof answer === 'boolean' ? undefined : 'true or false';
  }
}

type WithChoices = Extract<Question, { readonly choices: unknown }>;

function isChoice({ choices }: WithChoices, answer: unknown): boolean {
  return choices.some(({ value }) => value === answer);
}

/** The answers that there are: `add, new`. */
export function valuesOf({ choices }: WithChoices): string {
  return choices.map(({ value }) => value).join(', ');
}

/** An answer as it is shown. */
export function answerText(question: Question, answer: Answer): string {
  if (typeof answer === 'boolean') return answer ? 'Yes' : 'No';
  if (typeof answer !== 'string') return answer.join(', ');
  if (question.kind !== 'choose') return answer;
  const choice = question.choices.find(({ value }) => value === answer);
  return choice?.short ?? choice?.name ?? answer;
}

/** The same question with another answer for Enter, where that is one. */
export function withPreset(question: Question, answer: Answer | undefined): Question {
  if (answer === undefined) return question;
  if (question.kind === 'text')
    return typeof answer === 'string'
      ? { ...question, options: { ...question.options, default: answer } }
      : question;
  if (question.kind === 'confirm')
    return typeof answer === 'boolean' ? { ...question, preset: answer } : question;
  if (question.kind === 'choose')
    return isChoice(question, answer) ? { ...question, preset: String(answer) } : question;
  return Array.isArray(answer) ? { ...question, preset: answer.map(String) } : question;
}

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
