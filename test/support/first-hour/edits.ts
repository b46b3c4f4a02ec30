import type { Reported } from './reported.ts';

interface Place {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

type Change = (text: string) => string;

/** A change of a file, or of the command line if no file is named. */
export interface Edit {
  readonly file: string | undefined;
  readonly change: Change;
}

/** Returns the change that a text requests, literally; undefined if it requests none. */
export function editFor(reported: Reported): Edit | undefined {
  const [, file, line, column] = /(\S+\.ya?ml):(\d+):(\d+): /.exec(reported.what) ?? [];
  if (file === undefined) {
    const change = onTheLine(reported);
    return change && { file, change };
  }
  const place = { file, line: Number(line), column: Number(column) };
  for (const form of forms) {
    const change = form(reported, place);
    if (change !== undefined) return { file, change };
  }
  return undefined;
}

const meantIn = ({ next }: Reported): string | undefined => /did you mean "([^"]+)"/.exec(next)?.[1];

/** Another word on the command line. */
function onTheLine(reported: Reported): Change | undefined {
  const [, quoted, bare, pool] =
    /there is no command "([^"]+)"|(?:matches|pipeline kind|in pool|unknown option) '?([^\s"',?]+)|pool: (\S+) not found/.exec(
      reported.what,
    ) ?? [];
  const wrong = quoted ?? bare ?? pool;
  const meant = meantIn(reported)?.replace(/^azp-fleet /, '');
  return meant === undefined || wrong === undefined ? undefined : (typed) => typed.replace(wrong, meant);
}

/** A word or text of YAML, with its quotes. */
const token = /^(?:"[^"]*"|'[^']*'|[^\s,:{}[\]]+)/;

/** Replaces the token at a place. */
const swap = (place: Place, to: string, seen = ''): Change =>
  onLine(place, (old) => {
    const [head, tail] = [old.slice(0, place.column - 1), old.slice(place.column - 1)];
    const isSeen = seen !== '' && tail.startsWith(seen);
    return head + (isSeen ? to + tail.slice(seen.length) : tail.replace(token, () => to));
  });

const onLine =
  ({ line }: Place, change: Change): Change =>
  (text) =>
    text
      .split('\n')
      .map((old, at) => (at === line - 1 ? change(old) : old))
      .join('\n');

/** Indents the line like the next one above with text. */
const asAbove =
  (place: Place): Change =>
  (text) => {
    const lines = text.split('\n').slice(0, place.line - 1);
    const above = lines.findLast((line) => line.trim() !== '') ?? '';
    return onLine(place, (old) => (/^ */.exec(above)?.[0] ?? '') + old.trim())(text);
  };

const indentOf = (line: string): string => /^ */.exec(line)?.[0] ?? '';

/** One more line below, indented alike. */
const insertBelow = (place: Place, line: string): Change =>
  onLine(place, (old) => `${old}\n${indentOf(old)}${line}`);

const replaceBy = (place: Place, lines: readonly string[]): Change =>
  onLine(place, (old) => lines.map((line) => indentOf(old) + line).join('\n'));

type Form = (reported: Reported, place: Place) => Change | undefined;

/** A pattern of next actions, with its change. */
const whereNext =
  (pattern: RegExp, change: (place: Place, named: string) => Change): Form =>
  ({ next }, place) => {
    const found = pattern.exec(next);
    return found === null ? undefined : change(place, found[1] ?? '');
  };

const forms: readonly Form[] = [
  (reported, place) => {
    const meant = meantIn(reported);
    return meant === undefined ? undefined : swap(place, meant, reported.seen);
  },
  whereNext(/^(?:put it in|use straight) quotes: (".*")$/, swap),
  whereNext(/^remove the quotes: (.*)$/, swap),
  whereNext(/^put a colon and a space after the key: (.*)$/, (place, line) =>
    onLine(place, (old) => old.slice(0, place.column - 1) + line),
  ),
  whereNext(/the same indentation as the keys beside it|put spaces in place of the tab/, asAbove),
  whereNext(/^write it as a list: (\[.*\])$/, swap),
  whereNext(/^add `([^`]+)` if /, (place, line) => insertBelow(place, line)),
  whereNext(/^write (.*), each on its own line$/, (place, lines) => replaceBy(place, lines.split(' and '))),
  whereNext(/^close it with (.)/, (place, sign) => onLine(place, (old) => old + sign)),
];
