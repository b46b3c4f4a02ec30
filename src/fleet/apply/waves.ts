import pLimit from 'p-limit';

import type { Problem } from '../../shared/base/errors.ts';
import { shareOf } from '../../shared/base/quantities.ts';
import type { DrainCommand } from '../../shared/contract/drain.ts';
import { poolsOf } from '../../shared/contract/slots.ts';
import type { Verdict } from '../../shared/health/verdict.ts';
import type { WaveLimits, HostSpec } from '../inventory/fleet.ts';
import { foldNames } from '../inventory/fold-names.ts';
import type { Held, Wave } from '../plan/fleet-plan.ts';
import {
  afterWave,
  heldBack,
  heldByBuilder,
  nextWave,
  type WaveState,
  type WaveFleet,
} from '../plan/waves.ts';
import { waveFleet } from '../plan/wave-fleet.ts';
import { knownPools } from '../steps/pool-names.ts';
import type { ApplyTools } from './apply-tools.ts';
import type { AnySurvey } from './fleet-survey.ts';
import { type HostOutcome, isBad } from './outcome.ts';
import type { Survey } from './survey.ts';

/** A host of the run, and the work on it. */
export interface WaveTask {
  readonly host: string;
  /** The host that builds its image, if the inventory names one. */
  readonly builder: string | undefined;
  /** The verdict on it before the run; undefined: unknown. */
  readonly before?: Verdict | undefined;
  /** Finishes the host. Never rejects. */
  readonly work: () => Promise<HostOutcome>;
}

/** The limits of a run. */
export interface InWaves {
  readonly fleet: WaveFleet;
  readonly limits: WaveLimits;
  /** The next action after failures, as an imperative. Default: the same command. */
  readonly again?: string | undefined;
  /** Called once all canaries are healthy, before a wave of other hosts. A problem stops the run. */
  readonly canariesPassed?: () => Problem | undefined;
}

const sameCommand = 'run the same command again: it continues';

type Tools = Pick<ApplyTools, 'emit' | 'signal' | 'options'>;

/**
 * Works on all hosts: those whose agents are drained in waves, each after the hosts of the one before are healthy, and all others at
 * the same time. After a failed canary or too many failures no more hosts are begun. Returns outcomes in the tasks' order.
 */
export async function runWaves(
  tasks: readonly WaveTask[],
  bounds: InWaves,
  tools: Tools,
): Promise<readonly HostOutcome[]> {
  return new WaveRun(tasks, bounds, tools).run();
}

class WaveRun {
  readonly #tasks: readonly WaveTask[];
  readonly #bounds: InWaves;
  readonly #tools: Tools;
  readonly #limit: ReturnType<typeof pLimit>;
  readonly #begun = new Map<string, Promise<HostOutcome>>();
  readonly #state: WaveProgress;
  /** Hosts that wait for a wave. */
  readonly #waiting: ReadonlySet<string>;

  constructor(tasks: readonly WaveTask[], bounds: InWaves, tools: Tools) {
    this.#tasks = tasks;
    this.#bounds = bounds;
    this.#tools = tools;
    this.#limit = pLimit(tools.options.parallel);
    this.#state = new WaveProgress(bounds.fleet, new Map(tasks.map(({ host, before }) => [host, before])));
    this.#waiting = new Set([...bounds.fleet.pending, ...bounds.fleet.barred].map(({ host }) => host));
  }

  async run(): Promise<readonly HostOutcome[]> {
    this.#reportWaiting();
    const { unproven } = this.#bounds.fleet;
    // Builders first, because others may wait for their images; then the waves, which take longest.
    this.#begin(({ host, builder }) => host === builder && !this.#waiting.has(host));
    this.#begin(({ host }) => unproven.includes(host));
    const turns = this.#takeTurns();
    this.#beginFree();
    const stop = await turns;
    await Promise.all(this.#begun.values());
    return Promise.all(
      this.#tasks.map(({ host }) => this.#begun.get(host) ?? Promise.resolve(this.#end(host, stop))),
    );
  }

  /** Begins hosts that wait for neither a wave nor an image that a waiting host builds. */
  #beginFree(): void {
    this.#begin(({ host, builder }) => {
      const waits = builder !== undefined && this.#waiting.has(builder) && !this.#begun.has(builder);
      return !this.#waiting.has(host) && !waits;
    });
  }

  /** Begins those of these hosts that are not begun. */
  #begin(these: (task: WaveTask) => boolean): void {
    for (const task of this.#tasks.filter((each) => !this.#begun.has(each.host) && these(each))) {
      const end = this.#limit(task.work).then((outcome) => {
        if (!this.#waiting.has(task.host)) this.#state.endedOutsideWaves(outcome);
        return outcome;
      });
      this.#begun.set(task.host, end);
    }
  }

  async #ends(hosts: readonly string[]): Promise<readonly HostOutcome[]> {
    return Promise.all(hosts.flatMap((host) => this.#begun.get(host) ?? []));
  }

  /** Runs wave after wave. Resolves with the reason to stop, if failures require it. */
  async #takeTurns(): Promise<Stop | undefined> {
    const { fleet, limits, again = sameCommand } = this.#bounds;
    // Without unproven hosts the first wave begins before the hosts outside the waves.
    for (const outcome of fleet.unproven.length === 0 ? [] : await this.#ends(fleet.unproven))
      if (this.#state.judge(outcome) !== 'healthy')
        return stopped.unproven(outcome.host, causeOf(outcome), again);
    const most = shareOf(limits.maxFailures, fleet.pending.length);
    const failed: string[] = [];
    let isProven = false;
    for (let count = 1; !this.#tools.signal.aborted; count += 1) {
      const wave = nextWave(this.#state.now, limits) ?? (await this.#afterRecovery());
      if (wave === undefined) return undefined;
      if (!wave.canary && !isProven) {
        isProven = true;
        const problem = this.#bounds.canariesPassed?.();
        if (problem !== undefined) return stopped.beside(problem, again);
      }
      this.#beginWave(wave, count);
      for (const outcome of await this.#ends(wave.hosts)) {
        const judgement = this.#state.ended(outcome);
        if (judgement === 'failed') failed.push(outcome.host);
        if (judgement === 'failed' && wave.canary)
          return stopped.canary(outcome.host, causeOf(outcome), again);
      }
      if (failed.length > most) return stopped.failures(failed, most, again);
    }
    return undefined;
  }

  #beginWave({ canary, hosts }: Wave, count: number): void {
    const text = `wave ${count}${canary ? ' (canary)' : ''}: ${foldNames(hosts)}`;
    this.#tools.emit({ kind: 'note', text });
    this.#begin(({ host }) => hosts.includes(host));
    this.#beginFree();
  }

  /** Returns the next wave after hosts that were down may take jobs again. */
  async #afterRecovery(): Promise<Wave | undefined> {
    this.#beginFree();
    await this.#ends([...this.#bounds.fleet.recovering]);
    return nextWave(this.#state.now, this.#bounds.limits);
  }

  #reportWaiting(): void {
    for (const { host } of this.#bounds.fleet.pending)
      this.#tools.emit({ kind: 'host-state', host, state: 'waiting', text: 'waits for its wave' });
  }

  /** Returns the outcome of a host that was not begun. */
  #end(host: string, stop: Stop | undefined): HostOutcome {
    if (this.#tools.signal.aborted) return { host, state: 'skipped', changes: 0 };
    const builder = this.#tasks.find((task) => task.host === host)?.builder;
    return endOfRest(host, { stop, builder, ...this.#bounds, state: this.#state.now });
  }
}

/** The pending and unavailable hosts during a run. */
class WaveProgress {
  readonly #before: ReadonlyMap<string, Verdict | undefined>;
  #now: WaveState;

  /** `before`: the verdict on each host before the run. */
  constructor(fleet: WaveFleet, before: ReadonlyMap<string, Verdict | undefined>) {
    this.#before = before;
    this.#now = { ...fleet, proven: new Set() };
  }

  get now(): WaveState {
    return this.#now;
  }

  judge(outcome: HostOutcome): Judgement {
    return judge(outcome, this.#before.get(outcome.host));
  }

  /** A host of a wave has ended. */
  ended(outcome: HostOutcome): Judgement {
    const { host } = outcome;
    const judgement = this.judge(outcome);
    if (judgement === 'healthy') this.#now = afterWave(this.#now, [host]);
    else {
      const pending = this.#now.pending.filter((each) => each.host !== host);
      // A host that answers and was not changed is still available.
      const lost = judgement === 'failed' || outcome.state === 'unreachable';
      this.#now = { ...this.#now, pending, down: new Set([...this.#now.down, ...(lost ? [host] : [])]) };
    }
    return judgement;
  }

  /** A host outside the waves has ended; one that was down may work now. */
  endedOutsideWaves(outcome: HostOutcome): void {
    const down = new Set(this.#now.down);
    if (this.judge(outcome) === 'healthy') down.delete(outcome.host);
    this.#now = { ...this.#now, down };
  }
}

/**
 * The result of a change on a host. `untouched`: none was begun there, because the host was unreachable or locked, or its jobs did
 * not end.
 */
type Judgement = 'healthy' | 'failed' | 'untouched';

/**
 * Judges by the verdict, or without a proof by whether the changes were made. `before`: the earlier verdict; a host that is degraded
 * for the same reasons counts as healthy. Pure.
 */
function judge(outcome: HostOutcome, before: Verdict | undefined): Judgement {
  const { state, verdict } = outcome;
  if (outcome.untouched === true) return 'untouched';
  const isOk = verdict === undefined ? state === 'ok' || state === 'changed' : isNoWorse(verdict, before);
  return isOk && !isBad(outcome) ? 'healthy' : 'failed';
}

/** Tells whether there is no new trouble. Texts are not compared, because they contain counts and progress. */
function isNoWorse({ state, troubles }: Verdict, before: Verdict | undefined): boolean {
  if (state === 'healthy') return true;
  if (state !== 'degraded' || before?.state !== state || troubles === undefined) return false;
  return troubles.every(({ code, on }) => before.troubles?.some((was) => was.code === code && was.on === on));
}

/** Returns the cause in a few words: the verdict, which says more than the failed change. Pure. */
function causeOf({ problem, verdict }: HostOutcome): string {
  if (problem !== undefined) return verdict?.cause ?? problem.what;
  if (verdict === undefined || verdict.cause === '') return 'it was interrupted';
  return verdict.state === 'degraded' ? `degraded: ${verdict.cause}` : verdict.cause;
}

/** Why no more hosts are begun. */
interface Stop {
  /** What follows "because": `the canary h200-1 failed: nvidia-smi …`. */
  readonly because: string;
  readonly next: string;
}

/** The reasons to stop the waves. `again`: the next action when the hosts are fixed. Pure. */
const stopped = {
  unproven: (host: string, cause: string, again: string): Stop => ({
    because: `${host}, which an earlier run changed, is not healthy: ${cause}`,
    next: `fix ${host}, then ${again}`,
  }),
  canary: (host: string, cause: string, again: string): Stop => ({
    because: `the canary ${host} failed: ${cause}`,
    next: `fix ${host}, then ${again}`,
  }),
  beside: ({ what, next }: Problem, again: string): Stop => ({ because: what, next: next ?? again }),
  failures: (hosts: readonly string[], most: number, again: string): Stop => ({
    because: `${hosts.length === 1 ? '1 host' : `${hosts.length} hosts`} failed (${foldNames(hosts)}), and at most ${most} may`,
    next: `fix ${hosts.length === 1 ? hosts.join('') : 'them'}, then ${again}`,
  }),
} as const;

/** Returns the outcome of a host that was not begun, with the reason. Pure. */
function endOfRest(
  host: string,
  rest: {
    readonly stop: Stop | undefined;
    readonly builder: string | undefined;
    readonly fleet: WaveFleet;
    readonly state: WaveState;
    readonly limits: WaveLimits;
  },
): HostOutcome {
  const { stop, builder, fleet, state, limits } = rest;
  const barred = fleet.barred.find((each) => each.host === host);
  if (barred !== undefined) return held(barred);
  if (stop !== undefined) {
    const { because, next } = stop;
    const what = `not begun because ${because}`;
    return { host, state: 'skipped', changes: 0, problem: { code: 'wave.stopped', host, what, next } };
  }
  const full = heldBack(state, limits).find((each) => each.host === host);
  return held(full ?? heldByBuilder(host, builder));
}

function held({ host, what, next }: Held): HostOutcome {
  return {
    host,
    state: 'skipped',
    changes: 0,
    problem: { code: 'wave.held', host, what: `not begun: ${what}`, next },
  };
}

/**
 * Returns the fleet for planning waves. `hosts`: of the whole inventory. `proven`: hosts are proven afterwards, so hosts of a pool
 * that cannot be used now keep their agents.
 */
export function wavesOf(
  hosts: readonly HostSpec[],
  survey: AnySurvey,
  {
    command,
    proven,
    ...how
  }: { readonly command: DrainCommand; readonly proven: boolean; readonly everyChange?: true },
): WaveFleet {
  const blocked = survey.pools?.blocked ?? new Map<string, Problem>();
  return waveFleet({
    hosts,
    seen: survey.hosts,
    unread: survey.failures.map(({ host }) => host),
    command,
    ...how,
    unprovable: (host) => (proven ? blockedOf(host, blocked) : undefined),
  });
}

/** Returns why the host cannot get a manager now, if so: for one of its pools, by name or by pattern. */
export function blockedOf(
  { host, facts }: Pick<Survey, 'host' | 'facts'>,
  blocked: ReadonlyMap<string, Problem>,
): Problem | undefined {
  return [...poolsOf(host), ...knownPools(host, facts)]
    .map((pool) => blocked.get(pool))
    .find((problem) => problem !== undefined);
}
