import { stripVTControlCharacters } from 'node:util';
import stringWidth from 'string-width';

import type { Context, OutputStream } from '../../shared/base/context.ts';
import { foreignLines } from '../../shared/base/foreign-text.ts';

/**
 * Matches texts whose characters take one column each: Latin, punctuation, arrows, lines and our own signs. A test
 * compares each with string-width, which takes longer to load than most commands to run.
 */
const oneColumnEach =
  /^[ -~\u00a1-\u00ac\u00ae-\u02ff\u2010-\u2027\u2190-\u21ff\u2500-\u25a1\u25cb\u25cf\u2264\u2265\u2713\u2714\u2717\u2800-\u28ff]*$/;

/** Returns the columns of a text on a terminal: ideographs and emoji take two, combining marks and colors none. */
export function widthOf(text: string): number {
  const plain = text.includes('\u001b') ? stripVTControlCharacters(text) : text;
  return oneColumnEach.test(plain) ? plain.length : stringWidth(text);
}

/** Returns `1 host`, `3 hosts`. */
export function count(number: number, word: string): string {
  return `${number} ${word}${number === 1 ? '' : 's'}`;
}

/** Returns the first line of `status --check`. A cause may have several lines: an answer of a host. */
export function checkLine(state: string, text: string): string {
  return `AZP-FLEET ${state} - ${withoutBars(text.replaceAll(/\s+/g, ' '))}`;
}

/** Performance data of a plugin begins at the first bar, so bars of texts become broken ones. */
export function withoutBars(text: string): string {
  return text.replaceAll('|', '¦');
}

/** Pads a text with spaces to a number of columns. */
export function padded(text: string, columns: number): string {
  return text + ' '.repeat(Math.max(0, columns - widthOf(text)));
}

interface Line {
  readonly indent: number;
  readonly text: string;
  /** Columns of the text. */
  readonly columns: number;
}

/**
 * Wraps text at spaces into lines of at most `width` columns. The first line follows a prefix of `firstIndent` columns
 * and is empty if its first word does not fit there; the others begin with `indent` spaces, or fewer if a word needs
 * the space. A word longer than the width stays whole, so that a command can be copied.
 */
export function wrap(text: string, width: number, firstIndent: number, indent: number): string[] {
  const lines: Line[] = [];
  for (const paragraph of text.split('\n')) {
    let line: Line = { indent: lines.length === 0 ? firstIndent : indent, text: '', columns: 0 };
    for (const word of paragraph.split(' ')) {
      const own = widthOf(word);
      const columns = line.text === '' ? own : line.columns + 1 + own;
      if (line.indent + columns <= width) {
        line = { ...line, text: line.text === '' ? word : `${line.text} ${word}`, columns };
        continue;
      }
      const fits = own <= width;
      const isBelow = line.text === '' && (lines.length > 0 || !fits);
      if (!isBelow) lines.push(line);
      line = {
        indent: isBelow && lines.length === 0 ? firstIndent : indentFor(indent, own, width),
        text: word,
        columns: own,
      };
    }
    lines.push(line);
  }
  return lines.map((line, at) => (at === 0 ? line.text : ' '.repeat(line.indent) + line.text));
}

/** Returns the indent, reduced so that a word of this many columns fits; a word that never fits keeps it. */
function indentFor(indent: number, word: number, width: number): number {
  return word > width ? indent : Math.min(indent, width - word);
}

/** Matches the programs in next actions. */
const program =
  /(?:^|: )(?=(?:azp-fleet|chmod|curl|journalctl|ls -l|nvidia-ctk|openssl|ping|read -rs|ssh|ssh-add|ssh-copy-id|ssh-keygen|sudo|systemctl|usermod|\(umask) |echo ')/;
/** Matches the end of a command: its comment, or prose. */
const behind = /\s+# |, |; then | \((?=[a-z])/;

interface Parts {
  readonly prose: string;
  readonly command: string;
  readonly comment: string;
  readonly rest: string;
}

function partsOf(text: string): Parts | undefined {
  const found = program.exec(text);
  if (found === null) return undefined;
  const from = found.index + found[0].length;
  const end = behind.exec(text.slice(from + 1));
  const to = end === null ? text.length : from + 1 + end.index;
  const after = text.slice(to).trim();
  const isComment = after.startsWith('# ');
  return {
    prose: text.slice(0, from).trim(),
    command: text.slice(from, to),
    comment: isComment ? after.slice(2) : '',
    rest: isComment ? '' : after.replace(/^[,;] /, ''),
  };
}

/**
 * Wraps a next action like `wrap` and keeps its command pasteable: the command stays on one line if it fits, otherwise
 * it is continued with backslashes, and each line of its comment begins with `#`.
 */
export function wrapNext(text: string, width: number, indent: number): string[] {
  const broken = (part: string, less = 0): string[] =>
    part === '' ? [] : wrap(part, width - less, indent, indent).map((line) => line.trimStart());
  const parts = partsOf(text);
  if (parts === undefined || broken(text).length === 1) return wrap(text, width, indent, indent);
  const { prose, command, comment, rest } = parts;
  const together = broken([prose, command].filter(Boolean).join(' '));
  const isWhole = together.at(-1)?.endsWith(command) === true;
  const call = isWhole ? together : [...broken(prose), ...continued(command, broken)];
  const lines = [...call, ...broken(comment, 2).map((line) => `# ${line}`), ...broken(rest)];
  return lines.map((line, at) => (at === 0 ? line : ' '.repeat(indent) + line));
}

/** Breaks a command into lines that a shell joins. */
function continued(command: string, broken: (part: string, less?: number) => string[]): string[] {
  const whole = broken(command);
  if (whole.length === 1) return whole;
  const lines = broken(command, 2);
  return lines.map((line, at) => (at === lines.length - 1 ? line : `${line} \\`));
}

/** Matches a line of a script or file, which is shown unchanged. */
const exact = /^\s*│/;

/**
 * Breaks lines that are wider than the terminal at spaces; continuation lines are indented by two more columns. A word
 * wider than the terminal stays whole. Colors take no columns.
 */
export function fold(text: string, width: number): string {
  return text
    .split('\n')
    .map((line) => foldLine(line, width))
    .join('\n');
}

function foldLine(line: string, width: number): string {
  const plain = stripVTControlCharacters(line);
  if (widthOf(plain) <= width || exact.test(plain)) return line;
  const own = plain.length - plain.trimStart().length;
  const indent = Math.min(own + 2, Math.floor(width / 2));
  const lines: string[] = [];
  const [first = '', ...words] = line.slice(line.length - line.trimStart().length).split(' ');
  let current = ' '.repeat(own) + first;
  let taken = own + widthOf(first);
  for (const word of words) {
    const columns = widthOf(word);
    if (taken + 1 + columns <= width) {
      current += ` ${word}`;
      taken += 1 + columns;
    } else {
      lines.push(current.trimEnd());
      const before = columns > width ? indent : Math.min(indent, width - columns);
      current = ' '.repeat(before) + word;
      taken = before + columns;
    }
  }
  return [...lines, current].join('\n');
}

/** Writes text for people, wrapped to the width of a terminal. */
export function say(stream: OutputStream, text: string): void {
  stream.write(stream.isTTY === true ? fold(text, stream.columns ?? 80) : text);
}

/**
 * Returns the stream for output of a host or a job that the user requested, and the function that cleans it. In a pipe
 * the output is unchanged.
 */
export function requestedOutput({ stdout, unfiltered }: Pick<Context, 'stdout' | 'unfiltered'>): {
  readonly to: OutputStream;
  readonly clean: (text: string) => string;
} {
  if (stdout.isTTY !== true) return { to: unfiltered.stdout, clean: (text) => text };
  return { to: stdout, clean: (text) => foreignLines(text, Number.POSITIVE_INFINITY) };
}
