import { spawnSync } from 'node:child_process';
import { isDeepStrictEqual } from 'node:util';

import { findingsIn } from '../support/root-scripts/shellcheck.ts';
import { expectedOf, outcomeOf, type ScriptCase, type ScriptSuite } from '../support/scratch/case.ts';
import { equivalents } from './equivalents.ts';
import { mutantsOf, type Mutant } from './mutants.ts';

/** Milliseconds for a damaged script, beside three times what the whole one takes. */
const patienceMs = 2000;
const atOnce = 2;

export interface Survivor {
  readonly kind: string;
  readonly before: string;
  readonly after: string;
  /** Why no run could show it; undefined: a test is missing. */
  readonly why: string | undefined;
}

export interface Result {
  readonly name: string;
  readonly total: number;
  readonly seconds: number;
  readonly survivors: readonly Survivor[];
}

/** A survivor at its place. */
type Unseen = Survivor & Pick<Mutant, 'place'>;

interface SuiteRun extends Result {
  readonly survivors: readonly Unseen[];
}

/**
 * Runs suites in turn. Scripts of several suites share parts: a damage there is counted once, in the first suite that
 * has it, and one that the cases of any suite notice is seen.
 *
 * @throws Error where a case fails with the whole script: it would take every damage for seen.
 */
export async function runSuites(
  suites: readonly ScriptSuite[],
  afterEach: (result: Result) => void,
): Promise<Result[]> {
  const seen = new Set<string>();
  const unseen = new Set<string>();
  const results: SuiteRun[] = [];
  for (const suite of suites) {
    const { survivors, total, ...rest } = await runSuite(suite, seen);
    const own = survivors.filter(({ place }) => !unseen.has(place));
    for (const { place } of own) unseen.add(place);
    const result = { ...rest, survivors: own, total: total - survivors.length + own.length };
    results.push(result);
    afterEach(result);
  }
  return results.map((result) => ({
    ...result,
    survivors: result.survivors
      .filter(({ place }) => !seen.has(place))
      .map(({ kind, before, after, why }) => ({ kind, before, after, why })),
  }));
}

/** Leaves out the damages that another suite has seen, and adds those that this one sees. */
async function runSuite(suite: ScriptSuite, seen: Set<string>): Promise<SuiteRun> {
  const started = performance.now();
  const patience = new Map<ScriptCase, number>();
  for (const each of suite.cases) {
    const before = performance.now();
    if (!isDeepStrictEqual(await outcomeOf(suite, each), expectedOf(each)))
      throw new Error(`${suite.name}: "${each.name}" fails without any damage`);
    patience.set(each, patienceMs + 3 * (performance.now() - before));
  }
  const mutants = mutantsOf(suite, isValid).filter(({ place }) => !seen.has(place));
  const left = [...mutants];
  const survivors: Unseen[] = [];
  const lastSeen = new Map<ScriptCase, number>();
  const whole = new Map<string, Promise<number>>();
  const work = async (): Promise<void> => {
    for (let mutant = left.shift(); mutant !== undefined; mutant = left.shift()) {
      if (!(await isReported(mutant, whole))) {
        const by = await seenBy(suite, mutant, patience, lastSeen);
        if (by === undefined) {
          survivors.push(survivor(mutant));
          continue;
        }
        lastSeen.set(by, performance.now());
      }
      seen.add(mutant.place);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  const seconds = Math.round((performance.now() - started) / 1000);
  return { name: suite.name, total: mutants.length, seconds, survivors };
}

/**
 * Returns whether shellcheck, which a unit test runs over every root script, reports dropped quotes. `whole`: its findings
 * in scripts without damage; some cases put lines of their own into a script.
 */
async function isReported({ kind, scripts }: Mutant, whole: Map<string, Promise<number>>): Promise<boolean> {
  const [first] = scripts;
  if (kind !== 'quotes' || first === undefined) return false;
  const [{ script }, damaged] = first;
  const before = whole.get(script) ?? findingsIn(script);
  whole.set(script, before);
  return (await findingsIn(damaged)) > (await before);
}

/** The case that notices, tried first where it noticed something lately. */
async function seenBy(
  suite: ScriptSuite,
  { scripts }: Mutant,
  patience: ReadonlyMap<ScriptCase, number>,
  lastSeen: ReadonlyMap<ScriptCase, number>,
): Promise<ScriptCase | undefined> {
  const lately = ([each]: readonly [ScriptCase, string]): number => lastSeen.get(each) ?? 0;
  for (const [each, script] of [...scripts].toSorted((a, b) => lately(b) - lately(a))) {
    const outcome = await outcomeOf(suite, each, script, patience.get(each));
    if (!isDeepStrictEqual(outcome, expectedOf(each))) return each;
  }
  return undefined;
}

function survivor({ kind, before, after, place }: Mutant): Unseen {
  const found = equivalents.find(
    (each) =>
      (each.kind === undefined || each.kind === kind) &&
      has(before, each.line) &&
      (each.after === undefined || has(after, each.after)),
  );
  return { kind, before: before.trim(), after: after.trim(), place, why: found?.why };
}

function has(text: string, pattern: string | RegExp): boolean {
  return typeof pattern === 'string' ? text.includes(pattern) : pattern.test(text);
}

function isValid(script: string): boolean {
  return spawnSync('/bin/sh', ['-n'], { input: script }).status === 0;
}
