import type { AzureAgent, AzureClient, Pool } from '../../azure/client.ts';
import { FleetError } from '../../base/errors.ts';
import { causeOf } from '../causes.ts';
import type { Clock } from '../../base/machine/clock.ts';
import type { Cause } from '../model.ts';

const pollMs = 60_000;
/** After a failure: soon again, so that a pool that appears or a network that comes back is noticed. */
const retryMs = 15_000;

/** The server's view of a pool of ours: one listing per minute for all slots together. */
export class PoolWatch {
  readonly #azure: Pick<AzureClient, 'findPool' | 'listAgents'>;
  readonly #name: string;
  readonly #clock: Clock;
  readonly #onChange: () => void;
  #pool: Pool | undefined;
  #agents: ReadonlyMap<string, AzureAgent> = new Map();
  #problem: Cause | undefined;
  #at = Number.NEGATIVE_INFINITY;
  #early = new AbortController();

  constructor(
    azure: Pick<AzureClient, 'findPool' | 'listAgents'>,
    name: string,
    clock: Clock,
    onChange: () => void,
  ) {
    this.#azure = azure;
    this.#name = name;
    this.#clock = clock;
    this.#onChange = onChange;
  }

  get name(): string {
    return this.#name;
  }

  get pool(): Pool | undefined {
    return this.#pool;
  }

  get problem(): Cause | undefined {
    return this.#problem;
  }

  /** When the agents were listed last; monotonic, -Infinity: never. */
  get at(): number {
    return this.#at;
  }

  agent(name: string): AzureAgent | undefined {
    return this.#agents.get(name.toLowerCase());
  }

  /** The server wants the agent to be newer than its image holds. */
  wantsUpdate(name: string): boolean {
    return this.agent(name)?.pendingUpdate !== undefined;
  }

  agents(): Iterable<AzureAgent> {
    return this.#agents.values();
  }

  /** Asks now instead of at the next turn. */
  lookSoon(): void {
    this.#early.abort();
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.poll();
      this.#onChange();
      this.#early = new AbortController();
      const pause = this.#problem === undefined ? pollMs : retryMs;
      // Jitter keeps a thousand hosts that were started together from asking together.
      await this.#clock.wait(
        pause * (0.8 + Math.random() * 0.4),
        AbortSignal.any([signal, this.#early.signal]),
      );
    }
  }

  async poll(): Promise<void> {
    try {
      this.#pool ??= await this.#azure.findPool(this.#name);
      if (this.#pool === undefined) throw noPool(this.#name);
      const started = this.#clock.monotonic();
      const agents = await this.#azure.listAgents(this.#pool.id);
      this.#agents = new Map(agents.map((agent) => [agent.name.toLowerCase(), agent]));
      this.#at = started;
      this.#problem = undefined;
    } catch (error) {
      this.#problem = causeOf(error);
      // It may have been deleted and made anew.
      if (this.#problem.code === 'azure.not-found') this.#pool = undefined;
    }
  }
}

function noPool(name: string): FleetError {
  return new FleetError({
    code: 'pool.missing',
    what: `there is no agent pool ${name}, or the credential may not see it`,
    next: 'create it with azp-fleet provision or azp-fleet pool create, or correct pool: in the inventory',
  });
}
