import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';

import type { Given } from './interview.ts';
import type { Answer } from './question.ts';

/** Answers of a sitting that was not finished. */
export interface Draft {
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
