import { foreignLine } from '../../shared/base/foreign-text.ts';
import type { Answer, Answers, Asked, Effects, Moved } from './simulation.ts';
import { compareVersions, upstream } from './version.ts';

/** Packages of one kind in one answer; a transaction of ours that touches more is none. */
const mostPackages = 2000;
const longestWords = 400;
const packageVersion = /^[A-Za-z0-9.+:~^_-]{1,120}$/;

/** What one package manager says in its own way. */
export interface Dialect {
  /** `apt` */
  readonly program: string;
  /** What a package may be called, with its architecture where it is another than the machine's. */
  readonly packageName: RegExp;
  /** What a person types to let held packages change. */
  readonly unhold: (names: readonly string[]) => string;
  /** Where a person looks when it finds no way. */
  readonly next: string;
  /**
   * Of the words why it cannot be done those that mean something known. `newest`: of dkms, as it is offered. `leastBranch`: that
   * of the transaction.
   */
  readonly known: (
    words: string,
    newest: string | undefined,
    leastBranch: number | undefined,
  ) => Answer | undefined;
}

/**
 * What simulations print: `partial` and `silent` first, then for each key a section from `begin KEY` to `end` with what the
 * package manager would do, or why it would not. `partial` in a section: a source that only this transaction brings; `certain`: why it
 * would not holds whatever could not be read.
 */
export function parseAnswers(dialect: Dialect, output: string, asked: readonly Asked[]): Answers {
  const [head = '', ...parts] = output.split(/^begin /m);
  const sections = new Map(
    parts.map((part) => [part.slice(0, part.indexOf('\n')), part.slice(part.indexOf('\n') + 1).split('\n')]),
  );
  const heard = head.split('\n');
  return Object.fromEntries(
    asked.map(({ key, transaction: { vendor, leastBranch } }): [string, Answer] => {
      const silent = vendor && wordsOf(heard, `silent ${vendor}`);
      if (silent !== undefined) return [key, { kind: 'unknown', why: silent }];
      const partial = wordsOf(heard, 'partial');
      // The system's own sources are those that could not be read: what is missing may be in them.
      const missed = vendor === undefined ? partial : undefined;
      return [key, answerIn(dialect, sections.get(key) ?? [], { partial, missed, leastBranch })];
    }),
  );
}

function answerIn(
  dialect: Dialect,
  lines: readonly string[],
  {
    partial,
    missed,
    leastBranch,
  }: Readonly<Record<'partial' | 'missed', string | undefined>> & {
    readonly leastBranch: number | undefined;
  },
): Answer {
  if (!lines.includes('end')) return { kind: 'unknown', why: 'the host broke off' };
  const broken = wordsOf(lines, 'broken');
  if (broken !== undefined)
    return { kind: 'unknown', why: `${dialect.program} ended with exit code ${broken}` };
  if (lines.includes('missing')) {
    return missed === undefined
      ? { kind: 'not-offered', offered: offered(lines) }
      : { kind: 'unknown', why: missed };
  }
  const obstacle = obstacleIn(dialect, lines, leastBranch);
  if (obstacle === undefined) return effects(lines, dialect);
  const unread = lines.includes('certain') ? undefined : (wordsOf(lines, 'partial') ?? partial);
  return unread === undefined ? obstacle : { kind: 'unknown', why: unread };
}

function obstacleIn(
  { program, packageName, unhold, next, known }: Dialect,
  lines: readonly string[],
  leastBranch: number | undefined,
): Answer | undefined {
  const what = wordsOf(lines, 'what');
  if (what !== undefined) return { kind: 'impossible', what, next: wordsOf(lines, 'next') ?? '' };
  const held = wordsOf(lines, 'held')
    ?.split(' ')
    .filter((name) => packageName.test(name));
  if (held !== undefined) {
    return {
      kind: 'impossible',
      what: `${held.join(', ')} would have to change, and ${held.length === 1 ? 'is' : 'are'} held on this host`,
      next: `${unhold(held)} where nothing needs that version, or leave this host out`,
    };
  }
  const words = wordsOf(lines, 'words');
  if (words === undefined) return undefined;
  return (
    known(words, wordsOf(lines, 'dkms'), leastBranch) ?? {
      kind: 'impossible',
      what: `${program} finds no way: ${words}`,
      next,
    }
  );
}

function effects(lines: readonly string[], { packageName }: Dialect): Answer {
  const version = wordsOf(lines, 'version');
  const moves = {
    removes: moved(lines, 'remove', (from) => ({ from })),
    installs: moved(lines, 'install', (to) => ({ to })),
    upgrades: moved(lines, 'upgrade', (from, to) => ({ from, to: to ?? '' })),
    downgrades: moved(lines, 'downgrade', (from, to) => ({ from, to: to ?? '' })),
    kept: moved(lines, 'kept', () => ({})),
  };
  const all = Object.values(moves);
  // A line that is not understood may be a removal: then nothing is.
  if (
    !all.every((each) => understood(each, packageName)) ||
    (version !== undefined && !packageVersion.test(version))
  )
    return { kind: 'unknown', why: 'its answer is not one that can be understood' };
  return {
    kind: 'known',
    ...moves,
    kept: moves.kept.map(({ name }) => name),
    ...(version === undefined ? {} : { version: upstream(version) }),
    ...roomIn(lines),
    ...sourcesIn(lines),
    ...repositoriesIn(lines),
  };
}

function roomIn(lines: readonly string[]): Pick<Effects, 'room'> {
  const [, download, installed] = /^(\d{1,15}) (-?\d{1,15})$/.exec(wordsOf(lines, 'room') ?? '') ?? [];
  if (download === undefined || installed === undefined) return {};
  return { room: { downloadBytes: Number(download), installedBytes: Number(installed) } };
}

const addedSource = /^source (\/[\w./-]{1,100}(?: [a-z][a-z-]{1,30}){1,5})$/;

function sourcesIn(lines: readonly string[]): Pick<Effects, 'sources'> {
  const sources = lines.flatMap((line) => addedSource.exec(line)?.[1] ?? []);
  return sources.length === 0 ? {} : { sources };
}

function repositoriesIn(lines: readonly string[]): Pick<Effects, 'repositories'> {
  const repositories = lines.flatMap((line) => /^repository ([\w.-]{1,100})$/.exec(line)?.[1] ?? []);
  return repositories.length === 0 ? {} : { repositories };
}

function moved(
  lines: readonly string[],
  word: string,
  versions: (first: string, second: string | undefined) => Omit<Moved, 'name'>,
): Moved[] {
  return lines
    .filter((line) => line.startsWith(`${word} `))
    .map((line) => {
      const [, name = '', first = '', second] = line.split(' ');
      return { name, ...versions(first, second) };
    });
}

function understood(moves: readonly Moved[], packageName: RegExp): boolean {
  return (
    moves.length <= mostPackages &&
    moves.every(
      ({ name, from, to }) =>
        packageName.test(name) && [from, to].every((each) => each === undefined || packageVersion.test(each)),
    )
  );
}

function offered(lines: readonly string[]): string[] {
  const versions = lines
    .filter((line) => line.startsWith('offer '))
    .map((line) => upstream(line.slice('offer '.length)))
    .filter((version) => packageVersion.test(version));
  return [...new Set(versions)].toSorted((a, b) => compareVersions(b, a));
}

/** What stands behind a word at the beginning of a line, as one clean line. Empty where nothing does. */
function wordsOf(lines: readonly string[], word: string): string | undefined {
  const line = lines.find((each) => each === word || each.startsWith(`${word} `));
  return line === undefined
    ? undefined
    : foreignLine(line.slice(word.length), longestWords).trim().replace(/:$/, '');
}

/** What a mirror would have to offer, a bundle would have to hold. `next`: how it is made again. */
export function bundleAnswers(answers: Answers, asked: readonly Asked[], next: string): Answers {
  return Object.fromEntries(
    Object.entries(answers).map(([key, answer]) => [
      key,
      bundleAnswer(
        answer,
        asked.find((each) => each.key === key),
        next,
      ),
    ]),
  );
}

function bundleAnswer(answer: Answer, asked: Asked | undefined, next: string): Answer {
  if (answer.kind === 'impossible')
    return { ...answer, what: `the bundle does not do: ${answer.what}`, next };
  if (answer.kind !== 'not-offered') return answer;
  const [first] = asked?.transaction.packages ?? [];
  const version = first?.version ?? {};
  const wanted = 'release' in version ? version.release : 'branch' in version ? version.branch : '';
  const offered = answer.offered.length === 0 ? 'none' : answer.offered.slice(0, 8).join(', ');
  const what = `the bundle has no ${[first?.name, wanted].filter(Boolean).join(' ')}; it has ${offered}`;
  return { kind: 'impossible', what, next };
}
