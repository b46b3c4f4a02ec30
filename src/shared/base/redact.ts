import { foreignLine, foreignLines } from './foreign-text.ts';
import type { Secret } from './secret.ts';

const stars = '***';

/**
 * The shortest secret, in characters, that is replaced everywhere. A shorter one is part of ordinary words: its stars would
 * make all text unreadable, JSON included, and the words around them would show the secret.
 */
export const shortestHidden = 4;

/** Returns whether a secret is too short to be replaced in running text. */
export function isTooShort(secret: Secret): boolean {
  const { length } = secret.reveal();
  return length > 0 && length < shortestHidden;
}

/**
 * Replaces registered secrets by `***`. One instance serves every sink (screen, JSON, log file), so that a
 * secret registered once is hidden everywhere, in each form that programs give it (`secretForms`). A secret that is too
 * short is hidden only in a Basic header and as the password in a URL, where it is certain. `most`: of so many
 * characters of forms only the secrets that were registered last are kept, because a program that runs for months gets new
 * tokens all the time.
 */
export class Redactor {
  /** Secret → its forms with their replacements; the one that was registered last is the last. */
  readonly #secrets = new Map<string, Forms>();
  readonly #most: number;
  #length = 0;
  #sorted: ReadonlyMap<string, string> | undefined;

  constructor(most = Number.POSITIVE_INFINITY) {
    this.#most = most;
  }

  add(secret: Secret): void {
    const value = secret.reveal();
    if (value === '') return;
    const known = this.#secrets.get(value);
    const forms = known ?? (isTooShort(secret) ? certainForms(value) : allForms(value));
    this.#secrets.delete(value);
    this.#secrets.set(value, forms);
    if (known !== undefined) return;
    this.#length += lengthOf(forms);
    for (const [oldest, its] of this.#secrets) {
      if (this.#length <= this.#most || oldest === value) break;
      this.#secrets.delete(oldest);
      this.#length -= lengthOf(its);
    }
    this.#sorted = undefined;
  }

  /** Form → its replacement. Longest first, so that a secret that contains another one is replaced whole. */
  get #longestFirst(): ReadonlyMap<string, string> {
    this.#sorted ??= new Map([...this.#secrets.values()].flat().sort(([a], [b]) => b.length - a.length));
    return this.#sorted;
  }

  text(text: string): string {
    let result = text;
    for (const [form, instead] of this.#longestFirst) result = result.replaceAll(form, instead);
    return result;
  }

  /** Returns a redactor for text in chunks: it also finds a secret that a chunk boundary cuts. */
  stream(): RedactStream {
    return new RedactStream(this, () => [...this.#longestFirst.keys()]);
  }
}

type Forms = readonly (readonly [form: string, instead: string])[];

function lengthOf(forms: Forms): number {
  return forms.reduce((sum, [form]) => sum + form.length, 0);
}

function allForms(value: string): Forms {
  return secretForms(value, shortestHidden).map((form) => [form, stars]);
}

function certainForms(value: string): Forms {
  return [
    [`Basic ${Buffer.from(`:${value}`).toString('base64')}`, `Basic ${stars}`],
    [`:${encodeURIComponent(value)}@`, `:${stars}@`],
  ];
}

/** Holds back the end of the text while it may be the beginning of a secret. */
class RedactStream {
  readonly #redactor: Redactor;
  readonly #values: () => readonly string[];
  #held = '';

  constructor(redactor: Redactor, values: () => readonly string[]) {
    this.#redactor = redactor;
    this.#values = values;
  }

  /** Returns the text that may be written now. */
  push(chunk: string): string {
    const text = this.#held + chunk;
    const hold = this.#partial(text);
    const cut = text.length - hold;
    this.#held = text.slice(cut);
    return this.#redactor.text(text.slice(0, cut));
  }

  /** Returns the rest, at the end of the stream. */
  end(): string {
    const rest = this.#redactor.text(this.#held);
    this.#held = '';
    return rest;
  }

  /**
   * Returns the length of the end that must wait: from the first position where an incomplete secret may begin. A complete
   * secret that reaches into that part waits whole.
   */
  #partial(text: string): number {
    for (let earliest = 0; ;) {
      const from = this.#begin(text, earliest);
      const past = endOfSequence(text, from) ?? 0;
      if (past <= earliest) return text.length - from;
      earliest = past;
    }
  }

  #begin(text: string, earliest: number): number {
    let from = text.length;
    for (const value of this.#values()) {
      for (let start = Math.max(earliest, text.length - value.length + 1); start < from; start += 1) {
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
    return from;
  }
}

/**
 * Returns the end of the control sequence that contains this position; undefined: none does. Half a sequence must not wait:
 * output of another stream would end it.
 */
function endOfSequence(text: string, position: number): number | undefined {
  const start = position === 0 ? -1 : text.lastIndexOf('\u001b[', position - 1);
  if (start === -1) return undefined;
  const [sequence = ''] = /^\u001b\[[0-?]*[ -/]*[@-~]/u.exec(text.slice(start)) ?? [];
  return start + sequence.length > position ? start + sequence.length : undefined;
}

/** The shortest line of a secret, in characters, that is also hidden alone: a shorter one is a bracket or a word. */
const shortestLine = 8;
/** Maximum number of lines of a secret that are also hidden alone: a private key has about 50. */
const mostLines = 200;

/**
 * Returns the forms of a secret and of each of its lines: unchanged, URL- and form-encoded, in JSON (as several programs
 * write it, and nested in a JSON string), cleaned as foreign text, and in base64 (alone, as user or password of HTTP Basic,
 * and inside other text, without the characters that depend on its neighbours). No form is shorter than `shortest`.
 */
function secretForms(value: string, shortest: number): string[] {
  // A carriage return ends a line for some programs and is a character of the line for others.
  const lines = [/\r\n|\r|\n/, '\n'].flatMap((end) => value.split(end).map((line) => line.trim()));
  const parts = [...new Set(lines)].filter((line) => line.length >= shortestLine && line !== value);
  const forms = [value, ...parts.slice(0, mostLines)].flatMap((text) => [text, ...encoded(text)]);
  return [...new Set(forms)].filter((form) => form.length >= shortest);
}

function encoded(text: string): string[] {
  return [
    ...percentForms(text),
    ...jsonForms(text),
    foreignLine(text),
    foreignLines(text),
    ...base64Forms(text),
  ];
}

function percentForms(text: string): string[] {
  const whole = text.toWellFormed();
  const component = encodeURIComponent(whole);
  const strict = component.replaceAll(/[!'()*]/g, percent);
  const form = new URLSearchParams([['', whole]]).toString().slice(1);
  const upper = [component, strict, form, encodeURI(whole)];
  return [...upper, ...upper.map(lowerPercent)];
}

function percent(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
}

function lowerPercent(text: string): string {
  return text.replaceAll(/%[0-9A-F]{2}/g, (code) => code.toLowerCase());
}

/** Returns JSON as different programs escape it: Go the characters of HTML, Python all but ASCII, PHP slashes too, .NET all of these. */
function jsonForms(text: string): string[] {
  const plain = inJson(text);
  const go = plain.replaceAll(/[&<>]/g, unicode);
  const python = plain.replaceAll(/[^\0-\u007f]/g, unicode);
  const php = python.replaceAll('/', String.raw`\/`);
  const dotnet = plain
    .replaceAll(String.raw`\"`, String.raw`\u0022`)
    .replaceAll(/[^\0-\u007f]|[&'+<>`]/g, upperUnicode);
  return [plain, inJson(plain), go, python, php, dotnet];
}

function inJson(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

function unicode(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

function upperUnicode(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`;
}

function base64Forms(text: string): string[] {
  const alone = [text, `:${text}`, `${text}:`].flatMap((each) => {
    const padded = Buffer.from(each).toString('base64');
    return [padded, padded.replace(/=+$/, '')];
  });
  const all = [...alone, ...[0, 1, 2].map((before) => inside(text, before))];
  return [...all, ...all.map(urlSafe)];
}

/** Returns the base64 of a text after so many other bytes (modulo three), without the characters that depend on neighbours. */
function inside(text: string, before: number): string {
  const whole = Buffer.concat([Buffer.alloc(before), Buffer.from(text)]);
  const from = Math.ceil((before * 8) / 6);
  const to = Math.floor((whole.length * 8) / 6);
  return whole.toString('base64').slice(from, to);
}

function urlSafe(text: string): string {
  return text.replaceAll('+', '-').replaceAll('/', '_');
}
