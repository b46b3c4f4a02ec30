import type { AzureAgent, AzureClient, Pool } from '../../shared/azure/client.ts';
import { FleetError } from '../../shared/base/errors.ts';
import { causeOf } from '../causes.ts';
import { unscaled, type Clock } from '../../shared/base/clock.ts';
import type { Cause } from '../model.ts';
import { nextLook } from './next-look.ts';
import type { Listing, OwnAgents } from './own-agents.ts';

/** Names that a host's agents have in a pool, and that they had. */
export interface PoolNames {
  readonly now: readonly string[];
  readonly earlier: readonly string[];
}

/** What waits for something that only the pool tells. */
type Waiter = 'slots' | 'sweeper';

/** The server's view of our agents in a pool of ours: one look for all slots together, at its time or for a reason. */
export class PoolWatch {
  readonly #azure: Pick<AzureClient, 'findPool'>;
  readonly #own: Pick<OwnAgents, 'list'>;
  readonly #name: string;
  readonly #clock: Clock;
  readonly #onChange: () => void;
  #pool: Pool | undefined;
  #agents: Listing = new Map();
  /** Names that the last look asked for, in lower case. */
  #asked: ReadonlySet<string> = new Set();
  #problem: Cause | undefined;
  #at = Number.NEGATIVE_INFINITY;
  /** The last look's, whether it told anything or not; monotonic. */
  #triedAt = Number.NEGATIVE_INFINITY;
  #failingSince: number | undefined;
  #wantedAt: number | undefined;
  #urgent = false;
  #together = true;
  readonly #waiters = new Set<Waiter>();
  #early = new AbortController();

  constructor(
    azure: Pick<AzureClient, 'findPool'>,
    own: Pick<OwnAgents, 'list'>,
    name: string,
    clock: Clock,
    onChange: () => void,
  ) {
    this.#azure = azure;
    this.#own = own;
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

  /** When the agents were looked at last; monotonic, -Infinity: never. */
  get at(): number {
    return this.#at;
  }

  /** Whoever has this name of ours, we or another. */
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

  /** That nobody has this name of ours; false while that is not known. */
  lacks(name: string): boolean {
    return this.#asked.has(name.toLowerCase()) && this.agent(name) === undefined;
  }

  /** Looks now where the last look did not ask for one of these names: slots have come to be known since. */
  cover(names: readonly string[]): void {
    if (Number.isFinite(this.#at) && names.some((name) => !this.#asked.has(name.toLowerCase()))) this.doubt();
  }

  /** Looks now: a person has asked for something that the pool may show. */
  lookSoon(): void {
    this.#urgent = true;
    this.#early.abort();
  }

  /** A call about this pool has failed: is it the pool? What is known to fail is asked at its time. */
  doubt(): void {
    if (this.#problem === undefined) this.lookSoon();
  }

  /** Something has happened that the pool shows after so many unscaled milliseconds; several of it make one look. */
  lookAfter(ms: number): void {
    const at = this.#clock.monotonic() + this.#clock.scaled(ms);
    if (this.#wantedAt !== undefined && this.#wantedAt <= at) return;
    this.#wantedAt = at;
    this.#early.abort();
  }

  /** While anybody waits the pool is looked at more often. */
  wait(who: Waiter, isSo: boolean): void {
    if (this.#waiters.has(who) === isSo) return;
    if (isSo) this.#waiters.add(who);
    else this.#waiters.delete(who);
    this.#early.abort();
  }

  async run(signal: AbortSignal, names: (poolId: number) => PoolNames): Promise<void> {
    while (!signal.aborted) {
      await this.#look(names);
      this.#onChange();
      await this.#untilDue(signal);
    }
  }

  async #untilDue(signal: AbortSignal): Promise<void> {
    const chance = Math.random();
    while (!signal.aborted) {
      const due = nextLook(
        {
          at: this.#triedAt,
          failingSince: this.#failingSince,
          wantedAt: this.#wantedAt,
          urgent: this.#urgent,
          waiting: this.#waiters.size > 0,
          together: this.#together,
          chance,
        },
        this.#clock,
      );
      const left = due - this.#clock.monotonic();
      if (left <= 0) return;
      this.#early = new AbortController();
      await this.#clock.wait(
        Math.ceil(unscaled(this.#clock, left)),
        AbortSignal.any([signal, this.#early.signal]),
      );
    }
  }

  async #look(namesIn: (poolId: number) => PoolNames): Promise<void> {
    const started = this.#clock.monotonic();
    this.#triedAt = started;
    this.#urgent = false;
    if (this.#wantedAt !== undefined && this.#wantedAt <= started) this.#wantedAt = undefined;
    this.#together = this.#failingSince !== undefined || !Number.isFinite(this.#at);
    try {
      this.#pool ??= await this.#azure.findPool(this.#name);
      if (this.#pool === undefined) throw noPool(this.#name);
      const names = namesIn(this.#pool.id);
      this.#agents = await this.#own.list(this.#pool.id, names.now, names.earlier);
      this.#asked = new Set(names.now.map((name) => name.toLowerCase()));
      this.#at = started;
      this.#problem = undefined;
      this.#failingSince = undefined;
    } catch (error) {
      this.#problem = causeOf(error);
      this.#failingSince ??= started;
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
