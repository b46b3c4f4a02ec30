import { foreignLine } from '../../../base/foreign-text.ts';
import { sh } from '../../../base/shell.ts';
import type { Answer, Answers, Asked, Effects, Moved } from '../../simulation.ts';
import { compareVersions, upstream } from '../../version.ts';

/** Packages of one kind in one answer; a transaction of ours that touches more is none. */
const mostPackages = 2000;
const longestWords = 400;
const packageName = /^[a-z0-9][a-z0-9+.-]{1,100}(?::[a-z0-9-]{1,20})?$/;
const packageVersion = /^[A-Za-z0-9.+:~_-]{1,120}$/;

/** What the script prints: `partial` and `silent` first, then a section for each key. */
export function parseAnswers(output: string, asked: readonly Asked[]): Answers {
  const [head = '', ...parts] = output.split(/^begin /m);
  const sections = new Map(
    parts.map((part) => [part.slice(0, part.indexOf('\n')), part.slice(part.indexOf('\n') + 1).split('\n')]),
  );
  const heard = head.split('\n');
  return Object.fromEntries(
    asked.map(({ key, transaction: { vendor } }): [string, Answer] => {
      const silent = vendor && wordsOf(heard, `silent ${vendor}`);
      if (silent !== undefined) return [key, { kind: 'unknown', why: silent }];
      return [key, answerIn(sections.get(key) ?? [], wordsOf(heard, 'partial'))];
    }),
  );
}

function answerIn(lines: readonly string[], partial: string | undefined): Answer {
  if (!lines.includes('end')) return { kind: 'unknown', why: 'the host broke off' };
  const broken = wordsOf(lines, 'broken');
  if (broken !== undefined) return { kind: 'unknown', why: `apt ended with exit code ${broken}` };
  if (lines.includes('missing')) return { kind: 'not-offered', offered: offered(lines) };
  const obstacle = obstacleIn(lines);
  if (obstacle === undefined) return effects(lines);
  return partial === undefined ? obstacle : { kind: 'unknown', why: partial };
}

function obstacleIn(lines: readonly string[]): Answer | undefined {
  const what = wordsOf(lines, 'what');
  if (what !== undefined) return { kind: 'impossible', what, next: wordsOf(lines, 'next') ?? '' };
  const held = wordsOf(lines, 'held')
    ?.split(' ')
    .filter((name) => packageName.test(name));
  if (held !== undefined) {
    return {
      kind: 'impossible',
      what: `${held.join(', ')} would have to change, and ${held.length === 1 ? 'is' : 'are'} held on this host`,
      next: `${sh`sudo apt-mark unhold ${held}`} where nothing needs that version, or leave this host out`,
    };
  }
  const words = wordsOf(lines, 'words');
  if (words === undefined) return undefined;
  const old = oldDkms(words, wordsOf(lines, 'dkms'));
  if (old !== undefined) return old;
  return {
    kind: 'impossible',
    what: `apt finds no way: ${words}`,
    next: 'complete the mirror, or look at the pins in /etc/apt/preferences.d of the host',
  };
}

/**
 * NVIDIA's packages from 570.148 on want dkms 3.1.8; Debian 12 has 3.0.10, Ubuntu 22.04 has 2.8.7, and their backports none.
 * Where NVIDIA's repository has it as well, apt takes it from there, and this is never met.
 */
function oldDkms(words: string, newest = ''): Answer | undefined {
  const [, name, wanted] = /(\S+) : Depends: dkms \(>= ([\w.~+-]+)\)/.exec(words) ?? [];
  if (name === undefined || wanted === undefined) return undefined;
  return {
    kind: 'impossible',
    what: `${name} needs dkms ${wanted} or newer, and the newest that is offered is ${newest === '' ? 'none' : upstream(newest)}`,
    next: `put dkms ${wanted} into a package source of the host, set driver.branch to one that needs less (565 or older), or take a newer release of the system`,
  };
}

function effects(lines: readonly string[]): Answer {
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
  if (!all.every(understood) || (version !== undefined && !packageVersion.test(version)))
    return { kind: 'unknown', why: 'its answer is not one that can be understood' };
  return {
    kind: 'known',
    ...moves,
    kept: moves.kept.map(({ name }) => name),
    ...(version === undefined ? {} : { version: upstream(version) }),
    ...roomIn(lines),
  };
}

function roomIn(lines: readonly string[]): Pick<Effects, 'room'> {
  const [, download, installed] = /^(\d{1,15}) (-?\d{1,15})$/.exec(wordsOf(lines, 'room') ?? '') ?? [];
  if (download === undefined || installed === undefined) return {};
  return { room: { downloadBytes: Number(download), installedBytes: Number(installed) } };
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

function understood(moves: readonly Moved[]): boolean {
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
