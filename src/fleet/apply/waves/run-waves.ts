import pLimit from 'p-limit';

import { shareOf } from '../../../shared/base/notation/share.ts';
import type { WaveLimits } from '../../inventory/fleet.ts';
import { foldNames } from '../../inventory/fold-names.ts';
import type { Wave } from '../../plan/waves-plan.ts';
import { nextWave } from '../../plan/waves/wave.ts';
import type { WaveFleet } from '../../plan/waves/waves.ts';
import type { Verdict } from '../../../shared/health/verdict.ts';
import type { ApplyTools } from '../apply-tools.ts';
import type { HostOutcome } from '../outcome.ts';
import { causeOf } from './judge.ts';
import { endOfRest, stopped, type Stop } from './not-begun.ts';
import { RunStanding } from './run-standing.ts';

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

const sameCommand = 'run the same command again: it goes on with what is left';

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
  readonly #standing: RunStanding;
  /** Hosts that wait for a wave. */
  readonly #waiting: ReadonlySet<string>;

  constructor(tasks: readonly WaveTask[], bounds: InWaves, tools: Tools) {
    this.#tasks = tasks;
    this.#bounds = bounds;
    this.#tools = tools;
    this.#limit = pLimit(tools.options.parallel);
    this.#standing = new RunStanding(bounds.fleet, new Map(tasks.map(({ host, before }) => [host, before])));
    this.#waiting = new Set([...bounds.fleet.pending, ...bounds.fleet.barred].map(({ host }) => host));
  }

  async run(): Promise<readonly HostOutcome[]> {
    this.#tellWhoWaits();
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

  /** Wave after wave. Resolves with why no more are begun, where somebody's failure says so. */
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

  #tellWhoWaits(): void {
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
