import { foreignLine, foreignLines } from './foreign-text.ts';
import type { Secret } from './secret.ts';

const stars = '***';

/**
 * Characters from which on a secret is replaced wherever it stands. What is shorter is part of ordinary words: its stars
 * would make everything unreadable, JSON included, and show by the words around them what the secret is.
 */
export const shortestHidden = 4;

/** Whether a secret is so short that running text may show it. */
export function isTooShort(secret: Secret): boolean {
  const { length } = secret.reveal();
  return length > 0 && length < shortestHidden;
}

/**
 * Replaces registered secrets by `***`. One instance serves every sink (screen, JSON, log file), so that a
 * secret registered once is hidden everywhere, in each form in which it travels (`forms.ts`).
 * One that is too short is hidden only where it can be nothing else: in a Basic header and as the password in a URL.
 */
export class Redactor {
  /** Text and its replacement. */
  #forms = new Map<string, string>();
  #sorted = true;
  readonly #known = new Set<string>();

  add(secret: Secret): void {
    const value = secret.reveal();
    if (value === '' || this.#known.has(value)) return;
    this.#known.add(value);
    const forms = isTooShort(secret) ? certainForms(value) : allForms(value);
    for (const [form, instead] of forms) this.#forms.set(form, instead);
    this.#sorted = false;
  }

  /** A secret that contains another one is replaced whole. */
  get #longestFirst(): ReadonlyMap<string, string> {
    if (!this.#sorted) this.#forms = new Map([...this.#forms].sort(([a], [b]) => b.length - a.length));
    this.#sorted = true;
    return this.#forms;
  }

  text(text: string): string {
    let result = text;
    for (const [form, instead] of this.#longestFirst) result = result.replaceAll(form, instead);
    return result;
  }

  /** For text that comes in chunks: a secret cut by a chunk boundary is found too. */
  stream(): RedactStream {
    return new RedactStream(this, () => [...this.#longestFirst.keys()]);
  }
}

function allForms(value: string): [form: string, instead: string][] {
  return secretForms(value, shortestHidden).map((form) => [form, stars]);
}

function certainForms(value: string): [form: string, instead: string][] {
  return [
    [`Basic ${Buffer.from(`:${value}`).toString('base64')}`, `Basic ${stars}`],
    [`:${encodeURIComponent(value)}@`, `:${stars}@`],
  ];
}

/** Holds back the end of what came when it may be the beginning of a secret. */
class RedactStream {
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
 * Where the control sequence ends in the midst of which this place is; undefined: it is in none. Half a sequence must
 * not wait: what another stream writes meanwhile would end it.
 */
function endOfSequence(text: string, place: number): number | undefined {
  const start = place === 0 ? -1 : text.lastIndexOf('\u001b[', place - 1);
  if (start === -1) return undefined;
  const [sequence = ''] = /^\u001b\[[0-?]*[ -/]*[@-~]/u.exec(text.slice(start)) ?? [];
  return start + sequence.length > place ? start + sequence.length : undefined;
}

/** Characters from which on a line of a secret is a secret of its own: a shorter one is a bracket, or a word. */
const shortestLine = 8;
/** Lines of a secret that are hidden each on its own: a private key has some 50. */
const mostLines = 200;

/**
 * The texts in which a secret travels, it itself among them: URL- and form-encoded, in JSON (as several programs write it,
 * and within a text of JSON once more), cleaned as what others said is, in base64 (of it alone, as user or password of HTTP
 * Basic, and amid anything else, then without the characters that depend on what stands beside it), and all of that of each
 * of its lines. None is shorter than `shortest`; it itself is always there.
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

/** What is escaped in JSON, its writers decide: Go what HTML knows, Python what is not ASCII, PHP slashes too, .NET all of it. */
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
  const all = [...alone, ...[0, 1, 2].map((before) => amid(text, before))];
  return [...all, ...all.map(urlSafe)];
}

/** What base64 makes of it behind so many bytes (of three), whatever those are and whatever follows. */
function amid(text: string, before: number): string {
  const whole = Buffer.concat([Buffer.alloc(before), Buffer.from(text)]);
  const from = Math.ceil((before * 8) / 6);
  const to = Math.floor((whole.length * 8) / 6);
  return whole.toString('base64').slice(from, to);
}

function urlSafe(text: string): string {
  return text.replaceAll('+', '-').replaceAll('/', '_');
}
