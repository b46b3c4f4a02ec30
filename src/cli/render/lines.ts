import { stripVTControlCharacters } from 'node:util';
import stringWidth from 'string-width';

import type { Context, OutputStream } from '../../shared/base/context.ts';
import { foreignLines } from '../../shared/base/foreign-text.ts';

/** Columns that a text takes on a terminal: ideographs and emoji two, marks on a letter none, colours none. */
export function widthOf(text: string): number {
  return stringWidth(text);
}

/** The text, and spaces up to so many columns. */
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
 * Text in lines of at most `width` columns, broken at spaces. The first line comes behind what has `firstIndent` columns,
 * and is empty where its first word only fits below; the others begin with `indent` spaces. A word that does not fit
 * behind these gets as many as it leaves; one longer than the width stays whole, so that a command can be copied.
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

/** As far in as wanted, or as a word of so many columns leaves room for; one that fits nowhere is not moved. */
function indentFor(indent: number, word: number, width: number): number {
  return word > width ? indent : Math.min(indent, width - word);
}

/** Programs that a next action calls. */
const program =
  /(?:^|: )(?=(?:azp-fleet|chmod|curl|journalctl|ls -l|nvidia-ctk|openssl|ping|read -rs|ssh|ssh-add|ssh-copy-id|ssh-keygen|sudo|systemctl|usermod|\(umask) |echo ')/;
/** What comes behind a command: its comment, or words for people. */
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
 * What is to be done, in lines as `wrap` makes them, whose command can be copied: it is not broken where it fits on a line of
 * its own, else by backslashes, and every line of a comment behind it is one.
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

/** A command in lines that a shell takes as one. */
function continued(command: string, broken: (part: string, less?: number) => string[]): string[] {
  const whole = broken(command);
  if (whole.length === 1) return whole;
  const lines = broken(command, 2);
  return lines.map((line, at) => (at === lines.length - 1 ? line : `${line} \\`));
}

/** Of a script or a file that is shown as it is. */
const exact = /^\s*│/;

/**
 * Breaks lines that are longer than a terminal at spaces, where it would break them within words; what follows is two
 * columns further in than the line. A word longer than the terminal stays whole. Colours take no columns.
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

/** Writes text for people; a terminal gets it in lines that it has columns for. */
export function say(stream: OutputStream, text: string): void {
  stream.write(stream.isTTY === true ? fold(text, stream.columns ?? 80) : text);
}

/**
 * Where output goes that the user asked a host or a job for, and what becomes of it before: it stays as it is where no
 * terminal reads it.
 */
export function askedOutput({ stdout, unfiltered }: Pick<Context, 'stdout' | 'unfiltered'>): {
  readonly to: OutputStream;
  readonly clean: (text: string) => string;
} {
  if (stdout.isTTY !== true) return { to: unfiltered.stdout, clean: (text) => text };
  return { to: stdout, clean: (text) => foreignLines(text, Number.POSITIVE_INFINITY) };
}
