import { ForeignScanner } from './foreign-scanner.ts';

/** Characters that one line, and one text of several lines, may have where nothing else is said. */
const longestLine = 2_000;
const longestText = 16_384;
const longestName = 200;
/** How deep a value may be: ours are never half as deep. */
const deepest = 40;
/** So much is read at once: a text that is far too long is not read to its end. */
const piece = 65_536;

/**
 * What somebody else said (a host, a job, a server, a file) as one line: without control characters and what they lead,
 * without marks that turn the writing round or hide in it; line breaks and tabs are a space. Cut at `limit` characters.
 */
export function foreignLine(text: string, limit = longestLine): string {
  return scanned(text, 'line', limit);
}

/** The same with its line breaks; tabs are spaces up to the next stop. */
export function foreignLines(text: string, limit = longestText): string {
  return scanned(text, 'lines', limit);
}

/** For text that comes in chunks: what the chunks together give does not depend on where they were cut. */
export function foreignStream(): ForeignScanner {
  return new ForeignScanner('lines');
}

/**
 * A value as JSON has it, every text and key in it cleaned. `clean` gets the key that a text stands under, in a list the
 * list's. Objects with a class of their own stay as they are.
 */
export function foreignValue<T>(value: T, clean: Clean = (text) => foreignLines(text)): T {
  return cleaned(value, '', clean, deepest) as T;
}

type Clean = (text: string, key: string) => string;

/** JSON that somebody else wrote; undefined: it is none, or deeper than a function that calls itself for each level goes. */
export function foreignJson(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return isDeeper(value, deepest) ? undefined : value;
  } catch {
    return undefined;
  }
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((item) => isDeeper(item, levels - 1));
}

function cleaned(value: unknown, key: string, clean: Clean, depth: number): unknown {
  if (typeof value === 'string') return clean(value, key);
  if (typeof value !== 'object' || value === null) return value;
  if (!Array.isArray(value) && !isPlain(value)) return value;
  if (depth === 0) return '…';
  if (Array.isArray(value)) return value.map((item) => cleaned(item, key, clean, depth - 1));
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [
      foreignLine(name, longestName),
      cleaned(item, name, clean, depth - 1),
    ]),
  );
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function scanned(text: string, form: 'line' | 'lines', limit: number): string {
  if (text.length <= limit && /^[\x20-\x7e]*$/.test(text)) return text;
  const scanner = new ForeignScanner(form);
  let result = '';
  // Of a text that is far too long no more is read than is shown.
  const size = Math.min(piece, limit + 1);
  for (let at = 0; at < text.length && result.length <= limit; at += size)
    result += scanner.push(text.slice(at, at + size));
  return cut(result + scanner.end(), limit);
}

/** Never through the middle of a character. */
function cut(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const end = text.charCodeAt(limit - 2) >> 10 === 0xd800 >> 10 ? limit - 2 : limit - 1;
  return `${text.slice(0, end)}…`;
}
