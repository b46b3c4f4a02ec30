import { foreignLine } from '../../shared/base/foreign-text.ts';
import type { Answer, Answers, Asked, Effects, Moved, Obstacle } from './simulation.ts';
import { compareVersions, upstream } from './version.ts';

/** The most packages of one kind in one answer; a real transaction has fewer. */
const mostPackages = 2000;
const longestWords = 400;
const packageVersion = /^[A-Za-z0-9.+:~^_-]{1,120}$/;

/** How one package manager names packages and failures. */
export interface Dialect {
  /** `apt` */
  readonly program: string;
  /** A package name, with its architecture where it differs from the machine's. */
  readonly packageName: RegExp;
  /** The command that unholds packages. */
  readonly unhold: (names: readonly string[]) => string;
  /** The next action when it found no solution. */
  readonly next: string;
  /**
   * Returns the obstacle for failures with a known cause. `newest`: the newest dkms that is offered. `leastBranch`: that of the
   * transaction.
   */
  readonly explained: (
    words: string,
    newest: string | undefined,
    leastBranch: number | undefined,
  ) => Obstacle | undefined;
}

/**
 * Parses what a simulation prints: `partial` and `silent` first, then for each key a section from `begin KEY` to `end` with what
 * the package manager would do, or why not. `partial` in a section: a source that only this transaction adds was not read;
 * `certain`: the failure holds although sources were not read.
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
      // A system source was not read: it may have what is missing.
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
  if (!lines.includes('end')) return { kind: 'unknown', why: 'the simulation ended early on the host' };
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
  { program, packageName, unhold, next, explained }: Dialect,
  lines: readonly string[],
  leastBranch: number | undefined,
): Obstacle | undefined {
  const what = wordsOf(lines, 'what');
  if (what !== undefined) return { kind: 'impossible', what, next: wordsOf(lines, 'next') ?? '' };
  const held = wordsOf(lines, 'held')
    ?.split(' ')
    .filter((name) => packageName.test(name));
  if (held !== undefined) {
    return {
      kind: 'impossible',
      what: `${held.join(', ')} would have to change, and ${held.length === 1 ? 'is' : 'are'} held on this host`,
      next: `${unhold(held)} where nothing needs that version, or remove this host from the inventory`,
    };
  }
  const words = wordsOf(lines, 'words');
  if (words === undefined) return undefined;
  return (
    explained(words, wordsOf(lines, 'dkms'), leastBranch) ?? {
      kind: 'impossible',
      what: `${program} found no solution: ${words}`,
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
  // A line that is not understood may be a removal.
  if (
    !all.every((each) => understood(each, packageName)) ||
    (version !== undefined && !packageVersion.test(version))
  )
    return { kind: 'unknown', why: 'its output was not understood' };
  const value: Effects = {
    ...moves,
    kept: moves.kept.map(({ name }) => name),
    ...(version === undefined ? {} : { version: upstream(version) }),
    ...spaceIn(lines),
    ...sourcesIn(lines),
    ...repositoriesIn(lines),
  };
  return { kind: 'value', value };
}

function spaceIn(lines: readonly string[]): Pick<Effects, 'room'> {
  const [, download, installed] = /^(\d{1,15}) (-?\d{1,15})$/.exec(wordsOf(lines, 'space') ?? '') ?? [];
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

/** Returns the rest of the first line that begins with the word, as one clean line. */
function wordsOf(lines: readonly string[], word: string): string | undefined {
  const line = lines.find((each) => each === word || each.startsWith(`${word} `));
  return line === undefined
    ? undefined
    : foreignLine(line.slice(word.length), longestWords).trim().replace(/:$/, '');
}

/** Rewords answers for a host with a bundle instead of mirrors. `next`: how to make the bundle again. */
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
    return { ...answer, what: `the bundle is incomplete: ${answer.what}`, next };
  if (answer.kind !== 'not-offered') return answer;
  const [first] = asked?.transaction.packages ?? [];
  const version = first?.version ?? {};
  const requested = 'release' in version ? version.release : 'branch' in version ? version.branch : '';
  const offered = answer.offered.length === 0 ? 'none' : answer.offered.slice(0, 8).join(', ');
  const what = `the bundle has no ${[first?.name, requested].filter(Boolean).join(' ')}; it has ${offered}`;
  return { kind: 'impossible', what, next };
}
