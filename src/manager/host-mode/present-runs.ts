import { Labels } from '../../shared/contract/paths.ts';
import type { Engine, OwnContainer } from '../../shared/engine/engine.ts';
import { causeOf } from '../causes.ts';
import type { Cause, Slot } from '../model.ts';
import { isHostRun } from './host-engine.ts';

type Lists = Pick<Engine, 'listOwn'>;

const agents = { [Labels.kind]: 'agent' };

/** The runs of this host, in Docker and with `mode: host`. While Docker does not answer, only those on the host are listed. */
export class PresentRuns {
  readonly #engine: Lists;
  readonly #host: Lists;
  /** The last list of Docker; undefined: none since the start. */
  #inDocker: readonly OwnContainer[] | undefined;
  #onHost: readonly OwnContainer[] | undefined;
  #problem: Cause | undefined;

  /** `engine` lists the runs on the host, too. */
  constructor(engine: Lists, host: Lists) {
    this.#engine = engine;
    this.#host = host;
  }

  /** Why only the runs on the host are listed. */
  get problem(): Cause | undefined {
    return this.#problem;
  }

  /** All runs are listed, and there is none. */
  get isEmpty(): boolean {
    return this.#inDocker?.length === 0 && this.#onHost?.length === 0;
  }

  /** All known runs, with the last list of Docker. */
  get all(): readonly OwnContainer[] {
    return [...(this.#inDocker ?? []), ...(this.#onHost ?? [])];
  }

  /** Lists the runs again. */
  async refresh(): Promise<void> {
    try {
      const all = await this.#engine.listOwn(agents);
      this.#inDocker = all.filter(({ id }) => !isHostRun(id));
      this.#onHost = all.filter(({ id }) => isHostRun(id));
      this.#problem = undefined;
    } catch (error) {
      this.#problem = causeOf(error);
      this.#onHost = await this.#host.listOwn(agents);
    }
  }

  /** Returns the runs for the status of a slot; undefined: not listed yet. */
  of({ mode }: Pick<Slot, 'mode'>): readonly OwnContainer[] | undefined {
    return (mode === 'host' ? this.#onHost : this.#inDocker) === undefined ? undefined : this.all;
  }

  /**
   * Returns the slots that can be reconciled: all, or while Docker does not answer, those with `mode: host` without a container
   * in its last list. Without a list since the start, the agent must run on the host, or be offline in the pool.
   */
  decidable(
    slots: readonly Slot[],
    isOffline: (slot: Slot) => boolean,
  ): { readonly slots: readonly Slot[]; readonly containers: readonly OwnContainer[] } {
    if (this.#problem === undefined) return { slots, containers: this.all };
    const onHost = this.#onHost ?? [];
    const decided = slots
      .filter(({ mode, name }) => mode === 'host' && !has(this.#inDocker ?? [], name))
      .filter((slot) => this.#inDocker !== undefined || has(onHost, slot.name) || isOffline(slot));
    return {
      slots: decided,
      containers: onHost.filter((run) => decided.some(({ name }) => has([run], name))),
    };
  }
}

function has(runs: readonly OwnContainer[], slot: string): boolean {
  return runs.some(({ labels }) => labels[Labels.slot] === slot);
}
