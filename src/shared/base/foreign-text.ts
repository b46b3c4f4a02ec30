/** Maximum length, in characters, of one line, of a text with several lines, and of a key, where the caller names none. */
const longestLine = 2_000;
const longestText = 16_384;
const longestName = 200;
/** Maximum depth of a value, more than twice that of our own. */
const deepest = 40;
const tabStop = 8;
/** Maximum number of combining marks on one character; scripts and emoji have five or six. */
const mostMarks = 8;
/** Maximum length of a quoted excerpt of a file. */
const longestExcerpt = 72;

/** Invisible characters that emoji and some scripts need: joiners, variation selectors, tags. */
const joiners = String.raw`\u180b-\u180d\u200c\u200d\ufe00-\ufe0f\u{e0020}-\u{e007f}\u{e0100}-\u{e01ef}`;
/** Direction marks, zero-width spaces, fillers, soft hyphens: in a name or a command they only deceive. */
const invisible = String.raw`\p{Default_Ignorable_Code_Point}\ufff9-\ufffb`;
const lineBreaks = String.raw`\n\v\f\r\u0085\u2028\u2029`;

/**
 * One token of foreign text, as a terminal reads it. A control sequence, and a string for the terminal (DCS, SOS, OSC, PM,
 * APC: titles, links, images), end somewhere: what exceeds 64 or 4096 characters is text, and so is a line after a line
 * break, which no string may hide. C1 controls are dropped alone, without what they would introduce: most of them are UTF-8
 * that was encoded twice, and a broken ß must not swallow its line.
 */
const token = new RegExp(
  [
    String.raw`(?<plain>[\x20-\x7e]+)`,
    String.raw`\u001b\[[ -?]{0,64}[@-~]?`,
    String.raw`\u001b[PX\]^_](?:(?![${lineBreaks}\u0007\u0018\u001a\u001b\u009c])[^]){0,4096}(?:[\u0007\u0018\u001a\u009c]|\u001b\\)?`,
    String.raw`\u001b[ -/]*[0-~]?`,
    String.raw`(?<lineBreak>\r\n|[${lineBreaks}])`,
    String.raw`(?<tab>\t)`,
    String.raw`(?<half>\p{Cs})`,
    String.raw`(?<mark>[\p{Mn}\p{Me}${joiners}])`,
    String.raw`[\p{Cc}${invisible}]`,
    '(?<other>[^])',
  ].join('|'),
  'gu',
);
const isJoiner = new RegExp(`^[${joiners}]$`, 'u');
/** What a joiner can follow. After an ASCII letter it would make two names look the same. */
const joinable = /[\P{ASCII}0-9#*]$/u;

/**
 * Returns text of another program (a host, a job, a server, a file) as one line: without control characters and the
 * sequences that they introduce, without marks that reverse the writing or hide in it; line breaks and tabs become one
 * space, none at either end. Cuts it at `limit` characters.
 */
export function foreignLine(text: string, limit = longestLine): string {
  return clean(text, 'line', limit);
}

/** Returns the same with line breaks as `\n`; tabs become spaces up to the next tab stop. */
export function foreignLines(text: string, limit = longestText): string {
  return clean(text, 'lines', limit);
}

function clean(text: string, form: 'line' | 'lines', limit: number): string {
  if (text.length <= limit && /^[\x20-\x7e]*$/.test(text)) return text;
  let out = '';
  let last = '';
  let column = 0;
  let marks = 0;
  let isGap = false;
  const keep = (piece: string, columns = 1): void => {
    out += isGap && out !== '' ? ` ${piece}` : piece;
    last = piece;
    isGap = false;
    marks = 0;
    column += columns;
  };
  for (const { groups = {} } of text.matchAll(token)) {
    // The rest of a long text is not read.
    if (out.length > limit) break;
    const { plain, lineBreak, tab, half, mark, other } = groups;
    if (plain !== undefined) keep(plain, plain.length);
    else if (other !== undefined) keep(other);
    else if (half !== undefined) keep('\ufffd');
    else if (mark !== undefined) {
      if (marks === mostMarks || (isJoiner.test(mark) && (isGap || !joinable.test(last)))) continue;
      const before = marks;
      keep(mark);
      marks = before + 1;
    } else if (form === 'line') isGap ||= lineBreak !== undefined || tab !== undefined;
    else if (lineBreak !== undefined) {
      keep('\n');
      column = 0;
    } else if (tab !== undefined) {
      const width = tabStop - (column % tabStop);
      keep(' '.repeat(width), width);
    }
  }
  return cut(out, limit);
}

/** Cuts between characters, never inside a surrogate pair. */
function cut(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const end = text.charCodeAt(limit - 2) >> 10 === 0xd800 >> 10 ? limit - 2 : limit - 1;
  return `${text.slice(0, end)}…`;
}

/**
 * Returns a value as JSON has it, with every text and key in it cleaned. `clean` gets the key that a text belongs to, for
 * the items of a list the key of the list. Objects of a class stay unchanged.
 */
export function foreignValue<T>(value: T, clean: Clean = (text) => foreignLines(text)): T {
  return cleanValue(value, '', clean, deepest) as T;
}

type Clean = (text: string, key: string) => string;

/** Parses JSON of another program; undefined: it is not JSON, or too deep for a recursive function. */
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

function cleanValue(value: unknown, key: string, clean: Clean, depth: number): unknown {
  if (typeof value === 'string') return clean(value, key);
  if (typeof value !== 'object' || value === null) return value;
  if (!Array.isArray(value) && !isPlain(value)) return value;
  if (depth === 0) return '…';
  if (Array.isArray(value)) return value.map((item) => cleanValue(item, key, clean, depth - 1));
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [
      foreignLine(name, longestName),
      cleanValue(item, name, clean, depth - 1),
    ]),
  );
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** Invisible characters, control characters, and line breaks that only some programs know. */
const hidden = new RegExp(String.raw`(?![\n\t${joiners}])[\p{Cc}\u2028\u2029${invisible}]`, 'gu');

/**
 * Escapes hidden characters, except line feeds, tabs and joiners, as JSON does (`\u001b`): people see them, and a JSON
 * document keeps its value.
 */
export function escapeHidden(text: string): string {
  return text.replaceAll(hidden, (character) =>
    character
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  );
}

/** Returns a short excerpt of a file for a message, with hidden characters escaped, so that people can find them. */
export function excerpt(text: string): string {
  const plain = escapeHidden(text).replaceAll('\n', '\\u000a').replaceAll('\t', '\\u0009');
  return plain.length <= longestExcerpt ? plain : `${plain.slice(0, longestExcerpt)}…`;
}

/** Matches text without control characters and without line breaks that only some programs know: names have none. */
export const noControl = /^[^\u0000-\u001f\u007f-\u009f\u2028\u2029]*$/;

const controlInText = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029]/;

/** Names the first control character that is neither a line feed nor a tab: `U+001B at character 3`. */
export function controlIn(text: string): string | undefined {
  const at = text.search(controlInText);
  if (at === -1) return undefined;
  return `U+${text.charCodeAt(at).toString(16).toUpperCase().padStart(4, '0')} at character ${at + 1}`;
}
