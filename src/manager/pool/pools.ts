import type { AzureClient } from '../../shared/azure/client.ts';
import type { Clock } from '../../shared/base/clock.ts';
import type { Cause, Slot } from '../model.ts';
import type { OwnAgents } from './own-agents.ts';
import { PoolWatch } from './watch.ts';

/** A run that has begun or ended shows in the pool after this; unscaled milliseconds. */
const settleMs = 5_000;

/** The pools of this host's agents, each watched by itself. */
export class Pools {
  readonly #watches: ReadonlyMap<string, PoolWatch>;

  /** `names`: at least one. */
  constructor(
    azure: Pick<AzureClient, 'findPool'>,
    own: Pick<OwnAgents, 'list'>,
    names: readonly string[],
    clock: Clock,
    onChange: () => void,
  ) {
    // Azure DevOps tells pools apart without their case.
    this.#watches = new Map(
      names.map((name) => [name.toLowerCase(), new PoolWatch(azure, own, name, clock, onChange)]),
    );
  }

  get all(): readonly PoolWatch[] {
    return [...this.#watches.values()];
  }

  named(name: string): PoolWatch {
    const watch = this.#watches.get(name.toLowerCase());
    if (watch === undefined) throw new Error(`pool ${name} is not watched`);
    return watch;
  }

  of({ pool }: Pick<Slot, 'pool'>): PoolWatch {
    return this.named(pool);
  }

  /** What is wrong with any of them; the same of several once. */
  get problems(): readonly Cause[] {
    return [
      ...new Map(this.all.flatMap(({ problem }) => (problem ? [[problem.what, problem]] : []))).values(),
    ];
  }

  /** A person has asked for something that they may show. */
  lookSoon(): void {
    for (const watch of this.all) watch.lookSoon();
  }

  /** A call has failed. */
  doubt(): void {
    for (const watch of this.all) watch.doubt();
  }

  /** A run has begun or ended. */
  runChanged(): void {
    for (const watch of this.all) watch.lookAfter(settleMs);
  }

  /** `slots`: what this host has, as of now; `earlier`: names that its agents had in a pool. */
  async run(
    signal: AbortSignal,
    slots: () => readonly Slot[],
    earlier: (poolId: number) => readonly string[],
  ): Promise<void> {
    await Promise.all(
      this.all.map((watch) =>
        watch.run(signal, (poolId) => ({
          now: slots().flatMap((slot) => (this.of(slot) === watch ? [slot.agent] : [])),
          earlier: earlier(poolId),
        })),
      ),
    );
  }
}
