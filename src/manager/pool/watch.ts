import type { AzureAgent, AzureClient, Pool } from '../../shared/azure/client.ts';
import { FleetError } from '../../shared/base/errors.ts';
import { causeOf } from '../causes.ts';
import { unscaled, type Clock } from '../../shared/base/clock.ts';
import type { Cause, Slot } from '../model.ts';
import type { Listing, OwnAgents } from './own-agents.ts';
import type { Secret } from '../../shared/base/secret.ts';

/** Names that a host's agents have in a pool, and that they had. */
export interface PoolNames {
  readonly now: readonly string[];
  readonly earlier: readonly string[];
}

/** The parts that can wait for something that only the pool shows. */
type Waiter = 'slots' | 'sweeper';

/** Reads our agents in one pool, for all slots together: at an interval, or early for a reason. */
export class PoolWatch {
  readonly #azure: Pick<AzureClient, 'findPool'>;
  readonly #own: Pick<OwnAgents, 'list'>;
  readonly #name: string;
  readonly #clock: Clock;
  readonly #onChange: () => void;
  #pool: Pool | undefined;
  #agents: Listing = new Map();
  /** Names that were read last, in lower case. */
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

  /** Returns the agent with this name, ours or another owner's. */
  agent(name: string): AzureAgent | undefined {
    return this.#agents.get(name.toLowerCase());
  }

  /** Whether the server requires a newer agent than the image has. */
  wantsUpdate(name: string): boolean {
    return this.agent(name)?.pendingUpdate !== undefined;
  }

  agents(): Iterable<AzureAgent> {
    return this.#agents.values();
  }

  /** Whether the pool has no agent of this name; false while that is not known. */
  lacks(name: string): boolean {
    return this.#asked.has(name.toLowerCase()) && this.agent(name) === undefined;
  }

  /** Reads now if one of these names was not read last: its slot is known only since then. */
  cover(names: readonly string[]): void {
    if (Number.isFinite(this.#at) && names.some((name) => !this.#asked.has(name.toLowerCase()))) this.doubt();
  }

  /** Reads now: a person has asked for something that the pool may show. */
  lookSoon(): void {
    this.#urgent = true;
    this.#early.abort();
  }

  /** Reads now, unless reading fails already: a call about this pool has failed. */
  doubt(): void {
    if (this.#problem === undefined) this.lookSoon();
  }

  /** Reads after so many unscaled milliseconds, when the pool shows an event; several events share one read. */
  lookAfter(ms: number): void {
    const at = this.#clock.monotonic() + this.#clock.scaled(ms);
    if (this.#wantedAt !== undefined && this.#wantedAt <= at) return;
    this.#wantedAt = at;
    this.#early.abort();
  }

  /** Sets whether a part waits for the pool, which is then read more often. */
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
      // It may have been deleted and created again.
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

/** While nothing happens: a thousand managers then read two hundred times a minute. */
const idleMs = 5 * 60_000;
/** While a part waits for something that only the pool shows. */
const waitingMs = 60_000;
/** The shortest time between reads for starts and ends of runs. */
const eventMs = 60_000;
/** After a failure: soon, to notice a pool that appears or a network that works again. */
const retryMs = 15_000;
/** After a long failure less often: after a quarter of its time, at most this. */
const longestRetryMs = 2 * 60_000;

/** What decides when a pool is read next; times are monotonic. */
export interface Looks {
  /** When the last look was begun. */
  readonly at: number;
  /** Since when looks fail; undefined: the last one did not. */
  readonly failingSince: number | undefined;
  /** Somebody wants to know what the pool shows at or after this time. */
  readonly wantedAt: number | undefined;
  /** It does not wait: a person has asked for something, or a call has failed. */
  readonly urgent: boolean;
  /** Only the pool tells when something that is waited for has come. */
  readonly waiting: boolean;
  /** The last look was the first, or the first that did not fail again: many hosts have looked in the same moment. */
  readonly together: boolean;
  /** From 0 up to 1, another one for each look: hosts that were started together do not ask together. */
  readonly chance: number;
}

/** Returns when the pool is read next; monotonic. Pure. */
export function nextLook(looks: Looks, { scaled }: Pick<Clock, 'scaled'>): number {
  const { at, failingSince, wantedAt, urgent, waiting, together, chance } = looks;
  if (urgent) return at;
  const spread = 0.8 + chance * 0.4;
  if (failingSince !== undefined) {
    const pause = Math.min(Math.max((at - failingSince) / 4, scaled(retryMs)), scaled(longestRetryMs));
    return at + pause * spread;
  }
  // Over the whole time, once: then no minute has more looks than another, however hosts were started.
  const due = at + scaled(waiting ? waitingMs : idleMs) * (together ? chance : spread);
  return wantedAt === undefined ? due : Math.min(due, Math.max(wantedAt, at + scaled(eventMs) * spread));
}

/** The pool shows the start or end of a run after this; unscaled milliseconds. */
const settleMs = 5_000;

/** Watches the pools of this host's agents. */
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

  /** The problems of all pools, each once. */
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

interface Refusing {
  readonly problems: readonly Pick<Cause, 'code'>[];
  lookSoon(): void;
}

/** Has pools that refuse the credential looked at again as soon as there is another one. */
export class NewToken {
  readonly #read: () => Promise<Secret>;
  readonly #pools: Refusing;
  /** The one that was refused; undefined: none is, or it could not be read. */
  #refused: Secret | undefined;
  #isRefused = false;

  constructor(read: () => Promise<Secret>, pools: Refusing) {
    this.#read = read;
    this.#pools = pools;
  }

  /** Reads it only while it is refused. Never rejects. */
  async look(): Promise<void> {
    const was = this.#isRefused;
    this.#isRefused = this.#pools.problems.some(({ code }) => code === 'azure.auth');
    if (!this.#isRefused) return;
    const now = await this.#read().catch(() => undefined);
    if (was && now !== undefined && now.reveal() !== this.#refused?.reveal()) this.#pools.lookSoon();
    this.#refused = now;
  }
}
