/** An answer: text, yes or no, or several names. Never a secret. */
export type Answer = string | boolean | readonly string[];

export interface Choice<T extends string> {
  readonly name: string;
  /** Shown after the choice; default: the name. */
  readonly short?: string;
  readonly value: T;
}

interface TextOptions {
  readonly default?: string;
  /** Returns the mistake in the text, or undefined. */
  readonly check?: (text: string) => string | undefined | Promise<string | undefined>;
  /** True if several lines may be pasted: they are joined with spaces. */
  readonly list?: boolean;
}

interface QuestionBase {
  /** Key of the question in drafts, flags and answers files. */
  readonly key: string;
  readonly message: string;
}

/** One question as data. `preset` is the answer of Enter. */
export type Question =
  | (QuestionBase & {
      readonly kind: 'choose';
      readonly choices: readonly Choice<string>[];
      readonly preset?: string;
    })
  | (QuestionBase & {
      readonly kind: 'choose-many';
      readonly choices: readonly Choice<string>[];
      readonly preset: readonly string[];
    })
  | (QuestionBase & { readonly kind: 'text'; readonly options: TextOptions })
  | (QuestionBase & { readonly kind: 'confirm'; readonly preset: boolean });

/** Returns the mistake in an answer to a question, or undefined; runs the checks of texts. */
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

/** Returns the valid answers: `add, new`. */
export function valuesOf({ choices }: WithChoices): string {
  return choices.map(({ value }) => value).join(', ');
}

/** Returns an answer as shown. */
export function answerText(question: Question, answer: Answer): string {
  if (typeof answer === 'boolean') return answer ? 'Yes' : 'No';
  if (typeof answer !== 'string') return answer.join(', ');
  if (question.kind !== 'choose') return answer;
  const choice = question.choices.find(({ value }) => value === answer);
  return choice?.short ?? choice?.name ?? answer;
}

/** Returns the question with another preset, if the answer is valid. */
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

/** Thrown when the user goes back to the previous question. */
export class Back extends Error {
  override readonly name = 'Back';
}

/**
 * The questions of setup, each with a key. Each rejects with Back on Escape, ExitPromptError on Ctrl-C, AbortPromptError
 * when stopped, and a usage error without a terminal and without an answer from a flag or file.
 */
export interface Prompts {
  /** False: answers are taken only from flags and files. */
  readonly canAsk: boolean;
  /** Returns whether a flag or a file answers this. */
  answers(key: string): boolean;
  /** Rejects an invalid answer from a flag or file before its question, where no user can correct it. */
  refuseInvalid(key: string, check: (text: string) => string | undefined): void;
  choose<T extends string>(
    key: string,
    message: string,
    choices: readonly Choice<T>[],
    /** The answer of Enter and without a terminal; undefined: the first for Enter, none without a terminal. */
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
  /** Asks for a secret, which is not shown and not saved. */
  hidden(message: string): Promise<string>;
  /**
   * Runs work once while the answers before it are unchanged, so that going back does not repeat it. `key` distinguishes
   * it from other work at the same position.
   */
  once<T>(key: string, work: () => Promise<T>): Promise<T>;
  /** Removes the newest answer to this question and all later ones: they are asked again. */
  forget(key: string): void;
  /** Replaces the last answer by the answers that result from it. */
  settle(answers: Readonly<Record<string, string>>): void;
}
