import type { Code } from '../../shared/base/codes/code.ts';
import type { Problem } from '../../shared/base/errors.ts';
import { defined } from '../../shared/base/objects.ts';
import type { Finding } from '../../shared/health/verdict.ts';

/** What is wrong at a rung, and what to do. */
export interface Broken {
  readonly code: Code;
  readonly what: string;
  readonly expected?: string;
  readonly seen?: string;
  readonly next: string;
  /** `provision` for this host does the next action. */
  readonly fix?: 'provision';
}

/** The result of a rung's own check. */
export type Check = (
  | { readonly state: 'ok'; readonly seen?: string }
  | ({ readonly state: 'broken' } & Broken)
  /** It could not be read. */
  | { readonly state: 'unknown'; readonly why: string; readonly next?: string }
  /** There is nothing to check, or the user did not want it. */
  | { readonly state: 'skipped'; readonly why: string; readonly next?: string }
) & {
  /** Findings that do not break the rung. */
  readonly findings?: readonly Finding[];
};

/** One rung: it is checked only where all rungs that it depends on are ok, or have nothing to check. */
export interface Rung<Id extends string, Seen> {
  readonly id: Id;
  readonly title: string;
  readonly dependsOn: readonly (Id | MachineRung)[];
  readonly check: (seen: Seen) => Check;
}

/** The rungs of this machine. */
export type MachineRung =
  | 'node'
  | 'ssh'
  | 'local-clock'
  | 'local-disk'
  | 'configuration'
  | 'organization'
  | 'token'
  | 'token-scope';

/** A rung with its result. `blocked`: not checked, because of the rung `because`. */
export type RungResult = {
  readonly rung: string;
  readonly title: string;
} & (Check | { readonly state: 'blocked'; readonly because: string; readonly why: string });

/** Checks the rungs in order. `below`: results of rungs that these may depend on, too. Pure. */
export function climb<Id extends string, Seen>(
  rungs: readonly Rung<Id, Seen>[],
  seen: Seen,
  below: readonly RungResult[] = [],
): readonly RungResult[] {
  const results = new Map(below.map((result) => [result.rung, result]));
  return rungs.map(({ id, title, dependsOn, check }): RungResult => {
    const stop = dependsOn.flatMap((each) => results.get(each) ?? []).find((result) => !passes(result));
    const result: RungResult =
      stop === undefined
        ? { rung: id, title, ...check(seen) }
        : { rung: id, title, state: 'blocked', ...reason(stop, results) };
    results.set(id, result);
    return result;
  });
}

function passes({ state }: RungResult): boolean {
  return state === 'ok' || state === 'skipped';
}

function reason(stop: RungResult, results: ReadonlyMap<string, RungResult>) {
  const root = (stop.state === 'blocked' ? results.get(stop.because) : undefined) ?? stop;
  const how = root.state === 'broken' ? 'failed' : 'is unknown';
  return { because: root.rung, why: `not checked, because ${root.title} ${how}` };
}

/** The state of a ladder. */
export type Overall = 'ok' | 'unknown' | 'broken';

/** Returns the worst state of the rungs; what could not be read is never ok. Pure. */
export function overall(rungs: readonly RungResult[]): Overall {
  const isFailed = (rung: RungResult): boolean =>
    rung.state === 'broken' || findingsOf(rung).some(({ severity }) => severity === 'fail');
  if (rungs.some(isFailed)) return 'broken';
  return rungs.every(passes) ? 'ok' : 'unknown';
}

/** Returns the findings that do not break a rung. Pure. */
export function findingsOf(rung: RungResult): readonly Finding[] {
  return 'findings' in rung ? (rung.findings ?? []) : [];
}

/** Tells whether `provision` does the next action of one of these rungs. Pure. */
export function hasFix(rungs: readonly RungResult[]): boolean {
  return rungs.some((rung) => rung.state === 'broken' && rung.fix !== undefined);
}

/** Returns what breaks a rung by a problem. */
export function brokenBy({
  code,
  what,
  expected,
  seen,
  next = 'run it again with --debug',
}: Problem): Broken {
  return { code, what, next, ...defined({ expected, seen }) };
}

export function ok(seen?: string): Check {
  return { state: 'ok', ...defined({ seen }) };
}

export function broken(problem: Broken): Check {
  return { state: 'broken', ...problem };
}

export function unknown(why: string, next?: string): Check {
  return { state: 'unknown', why, ...defined({ next }) };
}

export function skipped(why: string, next?: string): Check {
  return { state: 'skipped', why, ...defined({ next }) };
}
