import { clip, columnsOf, pieces } from '../../shared/base/columns.ts';
import type { Secret } from '../../shared/base/secret.ts';
import type { SecretSource } from '../inventory/fleet.ts';

/** One question to the user at the terminal. */
export interface Question {
  readonly host: string;
  /** Our text: `Password for ann@h200-1:` */
  readonly text: string;
  /** Cleaned text of the host, shown below and marked as the host's. */
  readonly said?: string;
  /** The answer is not shown. */
  readonly hidden: boolean;
}

/** The sources of answers. `question` undefined: there is no user to ask (no terminal, `--json`, CI). */
export interface Answerers {
  readonly question: ((question: Question) => Promise<Secret>) | undefined;
  readonly resolve: (source: SecretSource) => Promise<Secret>;
}

/** Asks one question at a time, and questions for the whole fleet only once. */
export class Prompter {
  readonly #answerers: Answerers;
  readonly #answers = new Map<string, Promise<Secret | undefined>>();
  readonly #secrets = new Map<string, Promise<Secret>>();
  #queue: Promise<unknown> = Promise.resolve();

  constructor(answerers: Answerers) {
    this.#answerers = answerers;
  }

  get canAsk(): boolean {
    return this.#answerers.question !== undefined;
  }

  /** Asks a question. Resolves with undefined without a terminal. */
  ask(question: Question): Promise<Secret | undefined> {
    const { question: put } = this.#answerers;
    if (put === undefined) return Promise.resolve(undefined);
    const answer = this.#queue.then(() => put(question));
    this.#queue = answer.catch(() => undefined);
    return answer;
  }

  /** Like `ask`, but later calls with the same key share the first one's answer. */
  askOnce(key: string, question: Question): Promise<Secret | undefined> {
    const known = this.#answers.get(key);
    if (known !== undefined) return known;
    const answer = this.ask(question);
    this.#answers.set(key, answer);
    return answer;
  }

  /** Runs `work` while no other question is open; for programs that ask at the terminal themselves. */
  alone<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#queue.then(work);
    this.#queue = done.catch(() => undefined);
    return done;
  }

  /** Resolves each source once: it may be a slow command. */
  resolve(source: SecretSource): Promise<Secret> {
    const key = JSON.stringify(source);
    const secret = this.#secrets.get(key) ?? this.#answerers.resolve(source);
    this.#secrets.set(key, secret);
    return secret;
  }
}

/** Columns of a question's prefix and the cursor. */
const margin = 3;

/**
 * Returns a host's text in a question as rows of a terminal, wrapped here so that each row begins with the host's name:
 * no row can look like our own question, or that of another host.
 */
function quotedRows(host: string, text: string, columns: number): string[] {
  const mark = `${clip(host, Math.max(8, Math.floor(columns / 3)))} │ `;
  const width = Math.max(8, columns - columnsOf(mark) - margin);
  return text.split('\n').flatMap((line) => pieces(line, width).map((piece) => mark + piece));
}

/** Returns a question as a terminal shows it: our text, and below it the text of the host. */
export function questionText({ host, text, said }: Omit<Question, 'hidden'>, columns: number): string {
  return said === undefined ? text : [text, ...quotedRows(host, said, columns)].join('\n');
}
