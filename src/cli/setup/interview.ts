import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';

import { usageError } from '../../shared/base/errors.ts';
import {
  type Answer,
  answerText,
  Back,
  mistakeIn,
  type Prompts,
  type Question,
  valuesOf,
  withPreset,
} from './question.ts';
import type { Asker } from './terminal.ts';

/** An answer. `asked`: typed at the terminal, so that the user can go back to it. */
export interface Given {
  readonly key: string;
  readonly answer: Answer;
  readonly asked: boolean;
}

interface InterviewOptions {
  /** Undefined without a terminal. */
  readonly asker: Asker | undefined;
  /** Answers from flags or a file, by the question's key. */
  readonly supplied: ReadonlyMap<string, Answer>;
  /** Answers of an interrupted setup, in order. */
  readonly before: readonly Given[];
  /** Saves all answers after each one. */
  readonly keep: (given: readonly Given[]) => void;
  readonly say: (line: string) => void;
}

/**
 * The answers in order. When the user goes back, the questions run again from the start, and earlier answers are
 * replayed silently. So every question supports going back, and a draft is only the list of answers.
 */
export class Interview implements Prompts {
  readonly #options: InterviewOptions;
  #given: Given[];
  #at = 0;
  /** How many answers of an interrupted setup were not shown yet. */
  #unseen: number;
  #rewinding = false;
  #done = new Map<string, { readonly at: number; readonly result: Promise<unknown> }>();
  readonly #last = new Map<string, Answer>();
  readonly #asked = new Set<string>();
  /** Keys of forgotten answers: answers from flags and files are not used for them again. */
  readonly #refused = new Set<string>();

  constructor(options: InterviewOptions) {
    this.#options = options;
    this.#given = [...options.before];
    this.#unseen = options.before.length;
  }

  /** Returns whether earlier answers are being replayed, so that nothing is printed again. */
  get silent(): boolean {
    return this.#rewinding && this.#at < this.#given.length;
  }

  get canAsk(): boolean {
    return this.#options.asker !== undefined;
  }

  answers(key: string): boolean {
    return this.#options.supplied.has(key);
  }

  refuseInvalid(key: string, check: (text: string) => string | undefined): void {
    const raw = this.#options.supplied.get(key);
    const mistake = raw === undefined || this.canAsk ? undefined : check(String(raw));
    if (mistake !== undefined) throw invalidAnswer(key, String(raw), mistake);
  }

  /** Returns answers from flags and files that no question used. */
  unused(): string[] {
    return [...this.#options.supplied.keys()].filter((key) => !this.#asked.has(key));
  }

  async run<T>(questions: () => Promise<T>): Promise<T> {
    for (;;) {
      this.#at = 0;
      try {
        return await questions();
      } catch (error) {
        if (!(error instanceof Back)) throw error;
        this.#stepBack();
      }
    }
  }

  /** Makes the answers final: the user cannot go back to them. */
  seal(): void {
    this.#given = [];
    this.#at = 0;
    this.#unseen = 0;
    this.#rewinding = false;
    this.#done.clear();
  }

  choose: Prompts['choose'] = async (key, message, choices, preset) => {
    const answer = await this.#answer(
      { kind: 'choose', key, message, choices, ...(preset === undefined ? {} : { preset }) },
      preset,
    );
    const chosen = choices.find(({ value }) => value === answer);
    if (chosen === undefined) throw new RangeError(`${key}: unknown choice`);
    return chosen.value;
  };

  async chooseMany(
    ...[key, message, choices, preset]: Parameters<Prompts['chooseMany']>
  ): Promise<readonly string[]> {
    const answer = await this.#answer({ kind: 'choose-many', key, message, choices, preset }, preset);
    return typeof answer === 'object' ? answer : [];
  }

  async text(...[key, message, options = {}]: Parameters<Prompts['text']>): Promise<string> {
    return String(await this.#answer({ kind: 'text', key, message, options }, options.default));
  }

  async confirm(key: string, message: string, preset: boolean): Promise<boolean> {
    return (await this.#answer({ kind: 'confirm', key, message, preset }, preset)) === true;
  }

  async hidden(message: string): Promise<string> {
    const { asker } = this.#options;
    if (asker === undefined) throw noTerminal(message);
    return asker.hidden(message);
  }

  once<T>(key: string, work: () => Promise<T>): Promise<T> {
    const known = this.#done.get(key);
    if (known !== undefined) return known.result as Promise<T>;
    const result = work();
    this.#done.set(key, { at: this.#at, result });
    result.catch(() => this.#done.delete(key));
    return result;
  }

  forget(key: string): void {
    const at = this.#given.findLastIndex((given) => given.key === key);
    if (at === -1) return;
    for (const dropped of this.#given.slice(at)) this.#refused.add(dropped.key);
    this.#cut(at);
    this.#at = at;
  }

  settle(answers: Readonly<Record<string, string>>): void {
    const made = Object.entries(answers).map(([key, answer]) => ({ key, answer, asked: true }));
    this.#given = [...this.#given.slice(0, this.#at - 1), ...made];
    this.#at = this.#given.length;
    this.#options.keep(this.#given);
  }

  async #answer(question: Question, fallback: Answer | undefined): Promise<Answer> {
    this.#asked.add(question.key);
    const known = await this.#known(question);
    if (known !== undefined) return known;
    const supplied = await this.#supplied(question);
    if (supplied !== undefined) return this.#record(question, supplied, false);
    const { asker } = this.#options;
    if (asker !== undefined) {
      const answer = await asker.ask(withPreset(question, this.#last.get(question.key)));
      return this.#record(question, answer, true);
    }
    const mistake = fallback === undefined ? 'nothing' : await mistakeIn(question, fallback);
    if (fallback === undefined || mistake !== undefined) throw noTerminal(question.message, question);
    return this.#record(question, fallback, false);
  }

  /** Returns the earlier answer if it is still valid. */
  async #known(question: Question): Promise<Answer | undefined> {
    const given = this.#given[this.#at];
    if (given === undefined) return undefined;
    const fresh = this.#at >= this.#unseen;
    const fits =
      given.key === question.key &&
      ((fresh && question.kind === 'text') || (await mistakeIn(question, given.answer)) === undefined);
    if (!fits) {
      // Later answers belong to other questions.
      this.#given = this.#given.slice(0, this.#at);
      return undefined;
    }
    if (!fresh) this.#show(question, given.answer);
    if (!fresh && this.#at === this.#unseen - 1) this.#unseen = 0;
    this.#at += 1;
    return given.answer;
  }

  async #supplied(question: Question): Promise<Answer | undefined> {
    const raw = this.#options.supplied.get(question.key);
    if (raw === undefined || (this.canAsk && this.#refused.has(question.key))) return undefined;
    const answer = fitting(question, raw);
    const mistake = await mistakeIn(question, answer);
    if (mistake === undefined) {
      this.#show(question, answer);
      return answer;
    }
    if (this.canAsk) {
      this.#options.say(`✗ ${question.key}: ${mistake}`);
      return undefined;
    }
    throw invalidAnswer(question.key, String(raw), mistake);
  }

  #record(question: Question, answer: Answer, asked: boolean): Answer {
    this.#given = [...this.#given.slice(0, this.#at), { key: question.key, answer, asked }];
    this.#at = this.#given.length;
    this.#rewinding = false;
    // Only texts are proposed again, for correction; a choice for one host does not apply to the next.
    if (question.kind === 'text') this.#last.set(question.key, answer);
    else this.#last.delete(question.key);
    this.#options.keep(this.#given);
    return answer;
  }

  #show(question: Question, answer: Answer): void {
    this.#options.say(`✔ ${question.message} ${answerText(question, answer)}`);
  }

  /** Removes the last typed answer, with the results that depend on it. */
  #stepBack(): void {
    const given = this.#given.slice(0, this.#at);
    const last = given.findLastIndex(({ asked }) => asked);
    const left = last === -1 ? given.length : last;
    if (last === -1) this.#options.say('This is the first question.');
    for (const { key, answer } of given.slice(left)) this.#last.set(key, answer);
    this.#rewinding = true;
    this.#cut(left);
  }

  /** Keeps only the answers before `left`, and the results that depend on no others. */
  #cut(left: number): void {
    this.#given = this.#given.slice(0, left);
    this.#unseen = 0;
    this.#done = new Map([...this.#done].filter(([, { at }]) => at <= left));
    this.#options.keep(this.#given);
  }
}

/** Converts an answer from a flag or file to the kind of the question. */
function fitting(question: Question, raw: Answer): Answer {
  if (question.kind === 'text' && typeof raw !== 'string')
    return typeof raw === 'boolean' ? String(raw) : raw.join(question.options.list === true ? ' ' : ', ');
  if (question.kind === 'choose-many' && typeof raw === 'string')
    return raw.split(/[\s,]+/).filter((word) => word !== '');
  if (question.kind === 'choose' && typeof raw === 'boolean') return raw ? 'yes' : 'no';
  if (question.kind === 'confirm' && (raw === 'yes' || raw === 'no')) return raw === 'yes';
  return raw;
}

function invalidAnswer(key: string, seen: string, mistake: string): Error {
  return usageError({
    code: 'usage.answer',
    what: `invalid answer to "${key}": ${mistake}`,
    seen,
    next: 'correct it in the answers file or in its option',
  });
}

/** Returns the error for a question without a terminal. `question`: one that an option or file can answer. */
function noTerminal(message: string, question?: Question): Error {
  const { key } = question ?? {};
  const values = question?.kind === 'choose' ? `: ${valuesOf(question)}` : '';
  return usageError({
    code: 'usage.no-answer',
    what: `stdin is not a terminal: ${message}`,
    ...(key === undefined ? {} : { expected: `an answer to "${key}"${values}` }),
    next:
      key === undefined
        ? 'run it at a terminal'
        : `put "${key}: …" into a file and name it with --answers FILE, or run it at a terminal`,
  });
}

/** Answers of an interrupted setup. */
interface Draft {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly given: readonly Given[];
}

/** Stores drafts: one for each inventory file, readable by its owner only. */
export class Drafts {
  readonly #file: string;
  #usable = true;

  /** `folder`: the program's state folder. `inventory`: absolute path. */
  constructor(folder: string, inventory: string) {
    const name = createHash('sha256').update(inventory).digest('hex').slice(0, 16);
    this.#file = path.join(folder, 'setup', `${name}.json`);
  }

  /** Returns the draft; undefined if there is none or it cannot be read. */
  read(): Draft | undefined {
    try {
      const found: unknown = JSON.parse(readFileSync(this.#file, 'utf8'));
      return isDraft(found) ? found : undefined;
    } catch {
      return undefined;
    }
  }

  /** Writes a draft atomically. Returns false if the folder cannot be written, which is no error. */
  keep(given: readonly Given[], at: number): boolean {
    if (!this.#usable) return false;
    const written = `${this.#file}.${process.pid}`;
    try {
      mkdirSync(path.dirname(this.#file), { recursive: true, mode: 0o700 });
      writeFileSync(written, JSON.stringify({ at, given }), { mode: 0o600 });
      renameSync(written, this.#file);
    } catch {
      this.#usable = false;
    }
    return this.#usable;
  }

  remove(): void {
    rmSync(this.#file, { force: true });
  }
}

function isDraft(found: unknown): found is Draft {
  const { at, given } = Object(found) as { readonly at?: unknown; readonly given?: unknown };
  return typeof at === 'number' && Array.isArray(given) && given.length > 0 && given.every(isGiven);
}

function isGiven(found: unknown): found is Given {
  const { key, answer, asked } = Object(found) as Readonly<Record<string, unknown>>;
  return typeof key === 'string' && typeof asked === 'boolean' && isAnswer(answer);
}

/** Returns whether a value from a file is a valid answer. */
function isAnswer(found: unknown): found is Answer {
  return (
    typeof found === 'string' ||
    typeof found === 'boolean' ||
    (Array.isArray(found) && found.every((each) => typeof each === 'string'))
  );
}
