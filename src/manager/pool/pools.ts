import type { AzureClient } from '../../azure/client.ts';
import type { Clock } from '../../base/machine/clock.ts';
import type { Cause, Slot } from '../model.ts';
import { PoolWatch } from './watch.ts';

/** The pools of this host's agents, each watched by itself. */
export class Pools {
  readonly #watches: ReadonlyMap<string, PoolWatch>;

  /** `names`: at least one. */
  constructor(
    azure: Pick<AzureClient, 'findPool' | 'listAgents'>,
    names: readonly string[],
    clock: Clock,
    onChange: () => void,
  ) {
    // Azure DevOps tells pools apart without their case.
    this.#watches = new Map(
      names.map((name) => [name.toLowerCase(), new PoolWatch(azure, name, clock, onChange)]),
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

  /** Asks now instead of at the next turn. */
  lookSoon(): void {
    for (const watch of this.all) watch.lookSoon();
  }

  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(this.all.map((watch) => watch.run(signal)));
  }
}
