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

/** An answer that was given. `asked`: by somebody at the terminal, who may take it back. */
export interface Given {
  readonly key: string;
  readonly answer: Answer;
  readonly asked: boolean;
}

interface InterviewOptions {
  /** Undefined: nobody can be asked. */
  readonly asker: Asker | undefined;
  /** Answers that flags or a file give, by the question's key. */
  readonly supplied: ReadonlyMap<string, Answer>;
  /** Those of an earlier sitting, in their order. */
  readonly before: readonly Given[];
  /** Told all answers after each one. */
  readonly keep: (given: readonly Given[]) => void;
  readonly say: (line: string) => void;
}

/**
 * The answers in their order. Whoever asks is run from its beginning each time somebody goes back: the answers before are
 * given again, and silently. So every question has its way back, and a draft is nothing but the list.
 */
export class Interview implements Prompts {
  readonly #options: InterviewOptions;
  #given: Given[];
  #at = 0;
  /** How many answers are of an earlier sitting, and were not shown yet. */
  #unseen: number;
  #rewinding = false;
  #done = new Map<string, { readonly at: number; readonly result: Promise<unknown> }>();
  readonly #last = new Map<string, Answer>();
  readonly #asked = new Set<string>();

  constructor(options: InterviewOptions) {
    this.#options = options;
    this.#given = [...options.before];
    this.#unseen = options.before.length;
  }

  /** What was already said to somebody who went back is said again only where they stand. */
  get silent(): boolean {
    return this.#rewinding && this.#at < this.#given.length;
  }

  get canAsk(): boolean {
    return this.#options.asker !== undefined;
  }

  answers(key: string): boolean {
    return this.#options.supplied.has(key);
  }

  /** Answers of flags and files that no question has asked for. */
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

  /** What was answered is done: from here on nobody goes back to it. */
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
    if (chosen === undefined) throw new RangeError(`${key}: no such choice`);
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
    if (asker === undefined) throw nobody(message);
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

  settle(answers: Readonly<Record<string, string>>): void {
    const made = Object.entries(answers).map(([key, answer]) => ({ key, answer, asked: true }));
    this.#given = [...this.#given.slice(0, this.#at - 1), ...made];
    this.#at = this.#given.length;
    this.#options.keep(this.#given);
  }

  async #answer(question: Question, unasked: Answer | undefined): Promise<Answer> {
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
    const mistake = unasked === undefined ? 'nothing' : await mistakeIn(question, unasked);
    if (unasked === undefined || mistake !== undefined) throw nobody(question.message, question);
    return this.#record(question, unasked, false);
  }

  /** What was answered before, where it still is an answer. */
  async #known(question: Question): Promise<Answer | undefined> {
    const given = this.#given[this.#at];
    if (given === undefined) return undefined;
    const fresh = this.#at >= this.#unseen;
    const fits =
      given.key === question.key &&
      ((fresh && question.kind === 'text') || (await mistakeIn(question, given.answer)) === undefined);
    if (!fits) {
      // What follows was said to something else.
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
    if (raw === undefined) return undefined;
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
    throw usageError({
      code: 'usage.answer',
      what: `the answer to "${question.key}" cannot be used: ${mistake}`,
      seen: String(raw),
      next: 'correct it in the file of answers, or in its option',
    });
  }

  #record(question: Question, answer: Answer, asked: boolean): Answer {
    this.#given = [...this.#given.slice(0, this.#at), { key: question.key, answer, asked }];
    this.#at = this.#given.length;
    this.#rewinding = false;
    // What was chosen of one host is no proposal for the next; a text is the beginning of its correction.
    if (question.kind === 'text') this.#last.set(question.key, answer);
    else this.#last.delete(question.key);
    this.#options.keep(this.#given);
    return answer;
  }

  #show(question: Question, answer: Answer): void {
    this.#options.say(`✔ ${question.message} ${answerText(question, answer)}`);
  }

  /** Takes the last answer of a person away, with what was done because of it. */
  #stepBack(): void {
    const given = this.#given.slice(0, this.#at);
    const last = given.findLastIndex(({ asked }) => asked);
    const left = last === -1 ? given.length : last;
    if (last === -1) this.#options.say('There is nothing to go back to.');
    for (const { key, answer } of given.slice(left)) this.#last.set(key, answer);
    this.#given = given.slice(0, left);
    this.#unseen = 0;
    this.#rewinding = true;
    this.#done = new Map([...this.#done].filter(([, { at }]) => at <= left));
    this.#options.keep(this.#given);
  }
}

/** Flags and files write lists, numbers and words; a question wants one kind. */
function fitting(question: Question, raw: Answer): Answer {
  if (question.kind === 'text' && typeof raw !== 'string')
    return typeof raw === 'boolean' ? String(raw) : raw.join(question.options.list === true ? ' ' : ', ');
  if (question.kind === 'choose-many' && typeof raw === 'string')
    return raw.split(/[\s,]+/).filter((word) => word !== '');
  if (question.kind === 'choose' && typeof raw === 'boolean') return raw ? 'yes' : 'no';
  if (question.kind === 'confirm' && (raw === 'yes' || raw === 'no')) return raw === 'yes';
  return raw;
}

/** `question`: one that can be answered beforehand. */
function nobody(message: string, question?: Question): Error {
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

/** Answers of a sitting that was not finished. */
interface Draft {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly given: readonly Given[];
}

/** Where drafts are kept: one for each inventory file, readable by its owner only. */
export class Drafts {
  readonly #file: string;
  #usable = true;

  /** `folder`: what this program remembers between runs. `inventory`: absolute path. */
  constructor(folder: string, inventory: string) {
    const name = createHash('sha256').update(inventory).digest('hex').slice(0, 16);
    this.#file = path.join(folder, 'setup', `${name}.json`);
  }

  /** Undefined where there is none, or none that can be read. */
  read(): Draft | undefined {
    try {
      const found: unknown = JSON.parse(readFileSync(this.#file, 'utf8'));
      return isDraft(found) ? found : undefined;
    } catch {
      return undefined;
    }
  }

  /** Whole or not at all; a folder that cannot be written stops nobody. False: nothing is kept. */
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

/** Whether a value out of a file can be an answer. */
function isAnswer(found: unknown): found is Answer {
  return (
    typeof found === 'string' ||
    typeof found === 'boolean' ||
    (Array.isArray(found) && found.every((each) => typeof each === 'string'))
  );
}
