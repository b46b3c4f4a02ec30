import type { YAMLError } from 'yaml';

import { escapeHidden } from '../../../shared/base/foreign-text.ts';
import { looksLikeSecret } from '../secret.ts';

/** The first error of the YAML parser, as a user reads it. */
export interface YamlError {
  /** Into the source. */
  readonly offset: number;
  /** In the parser's words, which a search engine finds. */
  readonly message: string;
  /** The line with a caret below the place; absent where the line may hold a secret. */
  readonly snippet?: string;
}

/** Columns of a line that are shown around the caret. */
const shownColumns = 60;

/** Returns the parser's first error; what it reports after that follows from the first. Pure. */
export function firstYamlError(source: string, errors: readonly YAMLError[]): YamlError | undefined {
  const [first] = errors;
  if (first === undefined) return undefined;
  const offset = offsetIn(source, first.pos[0]);
  const start = source.lastIndexOf('\n', offset - 1) + 1;
  const [line = ''] = source.slice(start).split('\n');
  // The rest of that message is for programmers.
  const message = first.message.replace(/; please use YAML\..*$/s, '');
  return mayHoldSecret(line)
    ? { offset, message }
    : { offset, message, snippet: snippetOf(line, offset - start) };
}

/** The parser notices a missing bracket or quote at the end: the end of the text above is the place to look. */
function offsetIn(source: string, offset: number): number {
  const start = source.lastIndexOf('\n', offset - 1) + 1;
  const [line = ''] = source.slice(start).split('\n');
  return line.trim() === '' ? Math.max(0, source.slice(0, offset).trimEnd().length - 1) : offset;
}

function mayHoldSecret(line: string): boolean {
  return (
    /token|secret|password|[\w+/=-]{32}/i.test(line) || line.split(/[\s"',:{}[\]]+/).some(looksLikeSecret)
  );
}

function snippetOf(line: string, column: number): string {
  const from = Math.max(0, Math.min(column - shownColumns / 2, line.length - shownColumns));
  const plain = (text: string) => escapeHidden(text.replaceAll('\t', ' '));
  const before = plain(line.slice(from, column));
  return `│ ${before}${plain(line.slice(column, from + shownColumns).trimEnd())}\n│ ${' '.repeat(before.length)}^`;
}
