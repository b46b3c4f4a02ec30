import { clip, columnsOf, pieces } from '../../shared/base/columns.ts';
import type { Secret } from '../../shared/base/secret.ts';
import type { SecretSource } from '../inventory/fleet.ts';

/** One question to the person at the terminal. */
export interface Question {
  readonly host: string;
  /** In our words: `Password for ann@h200-1:` */
  readonly text: string;
  /** What the host says itself, below that: clean text, shown as the host's. */
  readonly said?: string;
  /** The answer is not shown. */
  readonly hidden: boolean;
}

/** The sources of answers. `question` undefined: no person can be asked (no terminal, `--json`, CI). */
export interface Answerers {
  readonly question: ((question: Question) => Promise<Secret>) | undefined;
  readonly resolve: (source: SecretSource) => Promise<Secret>;
}

/** Questions go to the terminal one at a time, and what is asked once for the fleet is asked once. */
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

  /** Undefined when no person can be asked. */
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

  /** Works only while no other question is open; for programs that ask at the terminal themselves. */
  alone<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#queue.then(work);
    this.#queue = done.catch(() => undefined);
    return done;
  }

  /** Each source is resolved once: it may be a command that takes its time. */
  resolve(source: SecretSource): Promise<Secret> {
    const key = JSON.stringify(source);
    const secret = this.#secrets.get(key) ?? this.#answerers.resolve(source);
    this.#secrets.set(key, secret);
    return secret;
  }
}

/** Columns that a question's own mark and the cursor take. */
const margin = 3;

/**
 * What a host says where a person is asked for an answer, as rows of a terminal. Each row has the host's name before it,
 * those too that the terminal would have begun by itself: no row can look like a question of ours, or of another host.
 */
function quotedRows(host: string, text: string, columns: number): string[] {
  const mark = `${clip(host, Math.max(8, Math.floor(columns / 3)))} │ `;
  const room = Math.max(8, columns - columnsOf(mark) - margin);
  return text.split('\n').flatMap((line) => pieces(line, room).map((piece) => mark + piece));
}

/** Returns a question as a terminal shows it: our text, and below it the text of the host. */
export function questionText({ host, text, said }: Omit<Question, 'hidden'>, columns: number): string {
  return said === undefined ? text : [text, ...quotedRows(host, said, columns)].join('\n');
}
