import type { Secret } from './secret.ts';

const stars = '***';

/**
 * Replaces registered secrets by `***`. One instance serves every sink (screen, JSON, log file), so that a
 * secret registered once is hidden everywhere. Also hides the forms in which a secret travels: URL-encoded,
 * JSON-escaped, and base64 alone or as the password of an empty user (HTTP Basic, as Azure DevOps takes a PAT).
 */
export class Redactor {
  /** Longest first: a secret that contains another one is replaced whole. */
  #values: string[] = [];

  add(secret: Secret): void {
    const value = secret.reveal();
    if (value === '') return;
    const forms = [
      value,
      encodeURIComponent(value),
      JSON.stringify(value).slice(1, -1),
      Buffer.from(value).toString('base64'),
      Buffer.from(`:${value}`).toString('base64'),
    ];
    this.#values = [...new Set([...this.#values, ...forms])].sort((a, b) => b.length - a.length);
  }

  text(text: string): string {
    let result = text;
    for (const value of this.#values) result = result.replaceAll(value, stars);
    return result;
  }

  /** For text that comes in chunks: a secret cut by a chunk boundary is found too. */
  stream(): RedactStream {
    return new RedactStream(this, () => this.#values);
  }
}

/** Holds back the end of what came when it may be the beginning of a secret. */
export class RedactStream {
  readonly #redactor: Redactor;
  readonly #values: () => readonly string[];
  #held = '';

  constructor(redactor: Redactor, values: () => readonly string[]) {
    this.#redactor = redactor;
    this.#values = values;
  }

  /** What may be written now. */
  push(chunk: string): string {
    const text = this.#held + chunk;
    const hold = this.#partial(text);
    const cut = text.length - hold;
    this.#held = text.slice(cut);
    return this.#redactor.text(text.slice(0, cut));
  }

  /** The rest, at the end of the stream. */
  end(): string {
    const rest = this.#redactor.text(this.#held);
    this.#held = '';
    return rest;
  }

  /**
   * Length of the part at the end that must wait: from the first place where a secret may have begun and is
   * not complete. A complete secret that reaches into that part is left whole on the waiting side.
   */
  #partial(text: string): number {
    let from = text.length;
    for (const value of this.#values()) {
      for (let start = Math.max(0, text.length - value.length + 1); start < from; start += 1) {
        if (value.startsWith(text.slice(start))) from = start;
      }
    }
    for (let moved = true; moved;) {
      moved = false;
      for (const value of this.#values()) {
        const at = text.indexOf(value, Math.max(0, from - value.length + 1));
        if (at !== -1 && at < from && at + value.length > from) {
          from = at;
          moved = true;
        }
      }
    }
    return text.length - from;
  }
}
