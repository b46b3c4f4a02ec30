import pLimit from 'p-limit';

import type { Problem } from '../../shared/base/errors.ts';
import { shareOf } from '../../shared/base/quantities.ts';
import type { Verdict } from '../../shared/health/verdict.ts';
import type { WaveLimits, HostSpec } from '../inventory/fleet.ts';
import { foldNames } from '../inventory/fold-names.ts';
import type { Held, Wave } from '../plan/fleet-plan.ts';
import {
  afterWave,
  heldBack,
  heldByBuilder,
  nextWave,
  type Standing,
  type WaveFleet,
} from '../plan/waves.ts';
import { waveFleet } from '../plan/wave-fleet.ts';
import { knownPools } from '../steps/pool-names.ts';
import type { ApplyTools } from './apply-tools.ts';
import type { AnySurvey } from './fleet-survey.ts';
import { type HostOutcome, isBad } from './outcome.ts';
import type { Survey } from './survey.ts';

/** A host of the run, and how it is worked on. */
export interface WaveTask {
  readonly host: string;
  /** Who builds its image, where the inventory names one. */
  readonly builder: string | undefined;
  /** The verdict on it before the run, as far as it is known. */
  readonly before?: Verdict | undefined;
  /** Brings it to its end, and never rejects. */
  readonly work: () => Promise<HostOutcome>;
}

/** What bounds a run. */
export interface InWaves {
  readonly fleet: WaveFleet;
  readonly limits: WaveLimits;
  /** How a person goes on after failures: an imperative. Default: by the same command. */
  readonly again?: string | undefined;
}

const sameCommand = 'run the same command again: it continues';

type Tools = Pick<ApplyTools, 'emit' | 'signal' | 'options'>;

/**
 * Works on all hosts: those that lose their agents by it in waves, each after the hosts of the one before are healthy,
 * and beside them all others, which wait for nobody. A canary that fails, or too many failures, and what is not begun
 * is left alone. In the tasks' order.
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
  readonly #standing: WaveProgress;
  /** Hosts that wait for a wave. */
  readonly #waiting: ReadonlySet<string>;

  constructor(tasks: readonly WaveTask[], bounds: InWaves, tools: Tools) {
    this.#tasks = tasks;
    this.#bounds = bounds;
    this.#tools = tools;
    this.#limit = pLimit(tools.options.parallel);
    this.#standing = new WaveProgress(bounds.fleet, new Map(tasks.map(({ host, before }) => [host, before])));
    this.#waiting = new Set([...bounds.fleet.pending, ...bounds.fleet.barred].map(({ host }) => host));
  }

  async run(): Promise<readonly HostOutcome[]> {
    this.#reportWaiting();
    const { unproven } = this.#bounds.fleet;
    // Others may wait for the images that builders make; the waves are the longest way.
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

  /** Those that wait for neither a wave nor the image of one that does. */
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
        if (!this.#waiting.has(task.host)) this.#standing.besides(outcome);
        return outcome;
      });
      this.#begun.set(task.host, end);
    }
  }

  async #ends(hosts: readonly string[]): Promise<readonly HostOutcome[]> {
    return Promise.all(hosts.flatMap((host) => this.#begun.get(host) ?? []));
  }

  /** Runs wave after wave. Resolves with the reason to stop, where failures demand it. */
  async #takeTurns(): Promise<Stop | undefined> {
    const { fleet, limits, again = sameCommand } = this.#bounds;
    // Nobody to wait for: the first wave begins before what is beside the waves.
    for (const outcome of fleet.unproven.length === 0 ? [] : await this.#ends(fleet.unproven))
      if (this.#standing.judge(outcome) !== 'healthy')
        return stopped.unproven(outcome.host, causeOf(outcome), again);
    const most = shareOf(limits.maxFailures, fleet.pending.length);
    const failed: string[] = [];
    for (let count = 1; !this.#tools.signal.aborted; count += 1) {
      const wave = nextWave(this.#standing.now, limits) ?? (await this.#afterMending());
      if (wave === undefined) return undefined;
      this.#beginWave(wave, count);
      for (const outcome of await this.#ends(wave.hosts)) {
        const judgement = this.#standing.ended(outcome);
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

  /** The next wave, once hosts that were down and are mended beside the waves may stand in for others. */
  async #afterMending(): Promise<Wave | undefined> {
    this.#beginFree();
    await this.#ends([...this.#bounds.fleet.mending]);
    return nextWave(this.#standing.now, this.#bounds.limits);
  }

  #reportWaiting(): void {
    for (const { host } of this.#bounds.fleet.pending)
      this.#tools.emit({ kind: 'host-state', host, state: 'waiting', text: 'waits for its wave' });
  }

  /** Of a host that was not begun. */
  #end(host: string, stop: Stop | undefined): HostOutcome {
    if (this.#tools.signal.aborted) return { host, state: 'skipped', changes: 0 };
    const builder = this.#tasks.find((task) => task.host === host)?.builder;
    return endOfRest(host, { stop, builder, ...this.#bounds, standing: this.#standing.now });
  }
}

/** Which hosts are left and which do no work, as a run goes on. */
class WaveProgress {
  readonly #before: ReadonlyMap<string, Verdict | undefined>;
  #now: Standing;

  /** `before`: the verdict on each host before the run. */
  constructor(fleet: WaveFleet, before: ReadonlyMap<string, Verdict | undefined>) {
    this.#before = before;
    this.#now = { ...fleet, proven: new Set() };
  }

  get now(): Standing {
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
      // One that answers and was not touched is as it was.
      const lost = judgement === 'failed' || outcome.state === 'unreachable';
      this.#now = { ...this.#now, pending, down: new Set([...this.#now.down, ...(lost ? [host] : [])]) };
    }
    return judgement;
  }

  /** A host beside the waves has ended; one that was down may work now. */
  besides(outcome: HostOutcome): void {
    const down = new Set(this.#now.down);
    if (this.judge(outcome) === 'healthy') down.delete(outcome.host);
    this.#now = { ...this.#now, down };
  }
}

/**
 * What a host's end says about the change: `untouched` says nothing about it, because none was begun there: it could not
 * be reached, somebody else works on it, or its jobs did not end.
 */
type Judgement = 'healthy' | 'failed' | 'untouched';

/**
 * By the verdict where the host was proven, and by whether its changes were made where that was not asked for. `before`:
 * the verdict until then; a host that is degraded as it was is none the worse for the change. Pure.
 */
function judge(outcome: HostOutcome, before: Verdict | undefined): Judgement {
  const { state, verdict } = outcome;
  if (outcome.untouched === true) return 'untouched';
  const well = verdict === undefined ? state === 'ok' || state === 'changed' : isAsGood(verdict, before);
  return well && !isBad(outcome) ? 'healthy' : 'failed';
}

/** Nothing is wrong that was not before. Texts are not compared: they count, and tell how far something is. */
function isAsGood({ state, troubles }: Verdict, before: Verdict | undefined): boolean {
  if (state === 'healthy') return true;
  if (state !== 'degraded' || before?.state !== state || troubles === undefined) return false;
  return troubles.every(({ code, on }) => before.troubles?.some((was) => was.code === code && was.on === on));
}

/** Why, in a few words: what the host is like after it says more than where the work on it has ended. Pure. */
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

/** What stops the waves. `again`: how to go on when the hosts are cured. Pure. */
const stopped = {
  unproven: (host: string, cause: string, again: string): Stop => ({
    because: `${host}, which an earlier run has changed, is not healthy: ${cause}`,
    next: `fix ${host}, then ${again}`,
  }),
  canary: (host: string, cause: string, again: string): Stop => ({
    because: `the canary ${host} failed: ${cause}`,
    next: `fix ${host}, then ${again}`,
  }),
  failures: (hosts: readonly string[], most: number, again: string): Stop => ({
    because: `${hosts.length === 1 ? '1 host' : `${hosts.length} hosts`} failed (${foldNames(hosts)}), and at most ${most} may`,
    next: `fix ${hosts.length === 1 ? hosts.join('') : 'them'}, then ${again}`,
  }),
} as const;

/** The end of a host that its turn never came for, and whose fault it is. Pure. */
function endOfRest(
  host: string,
  rest: {
    readonly stop: Stop | undefined;
    readonly builder: string | undefined;
    readonly fleet: WaveFleet;
    readonly standing: Standing;
    readonly limits: WaveLimits;
  },
): HostOutcome {
  const { stop, builder, fleet, standing, limits } = rest;
  const barred = fleet.barred.find((each) => each.host === host);
  if (barred !== undefined) return held(barred);
  if (stop !== undefined) {
    const { because, next } = stop;
    const what = `not begun because ${because}`;
    return { host, state: 'skipped', changes: 0, problem: { code: 'wave.stopped', host, what, next } };
  }
  const full = heldBack(standing, limits).find((each) => each.host === host);
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
 * The fleet as waves mind it. `hosts`: of the whole inventory. `proven`: hosts are proven afterwards, so that those whose
 * pool cannot be used now do not lose their agents.
 */
export function wavesOf(hosts: readonly HostSpec[], survey: AnySurvey, proven: boolean): WaveFleet {
  const blocked = survey.pools?.blocked ?? new Map<string, Problem>();
  return waveFleet({
    hosts,
    seen: survey.hosts,
    unread: survey.failures.map(({ host }) => host),
    unprovable: (host) => (proven ? blockedOf(host, blocked) : undefined),
  });
}

/** Why the host's manager cannot be had now, if so. */
export function blockedOf(
  { host, facts }: Pick<Survey, 'host' | 'facts'>,
  blocked: ReadonlyMap<string, Problem>,
): Problem | undefined {
  return knownPools(host, facts)
    .map((pool) => blocked.get(pool))
    .find((problem) => problem !== undefined);
}
