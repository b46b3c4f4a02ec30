import type { YAMLError } from 'yaml';

import { escapeHidden } from '../../../shared/base/foreign-text.ts';

/** The first error of the YAML parser, as shown to users. */
export interface YamlError {
  /** Offset into the source. */
  readonly offset: number;
  /** The parser's message, which search engines find. */
  readonly message: string;
  /** The line with a caret below the place; absent if the line may contain a secret. */
  readonly snippet?: string;
}

/** Columns of a line shown around the caret. */
const shownColumns = 60;

/** Returns the parser's first error; later ones are consequences of it. Pure. */
export function firstYamlError(source: string, errors: readonly YAMLError[]): YamlError | undefined {
  const [first] = errors;
  if (first === undefined) return undefined;
  const offset = offsetIn(source, first.pos[0]);
  const start = source.lastIndexOf('\n', offset - 1) + 1;
  const [line = ''] = source.slice(start).split('\n');
  // The rest of the message is for programmers.
  const message = first.message.replace(/; please use YAML\..*$/, '');
  return mayHoldSecret(line)
    ? { offset, message }
    : { offset, message, snippet: snippetOf(line, offset - start) };
}

/** Moves an offset in an empty line to the end of the text above: there, a bracket or quote is missing. */
function offsetIn(source: string, offset: number): number {
  const start = source.lastIndexOf('\n', offset - 1) + 1;
  const [line = ''] = source.slice(start).split('\n');
  return line.trim() === '' ? Math.max(0, source.slice(0, offset).trimEnd().length - 1) : offset;
}

function mayHoldSecret(line: string): boolean {
  return /token|secret|password|[\w+/=-]{32}/i.test(line);
}

function snippetOf(line: string, column: number): string {
  const from = Math.max(0, Math.min(column - shownColumns / 2, line.length - shownColumns));
  const plain = (text: string) => escapeHidden(text.replaceAll('\t', ' '));
  const before = plain(line.slice(from, column));
  return `│ ${before}${plain(line.slice(column, from + shownColumns).trimEnd())}\n│ ${' '.repeat(before.length)}^`;
}
