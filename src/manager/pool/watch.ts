import type { AzureAgent, AzureClient, Pool } from '../../shared/azure/client.ts';
import { FleetError } from '../../shared/base/errors.ts';
import { causeOf } from '../causes.ts';
import { timestamp, unscaled, type Clock } from '../../shared/base/clock.ts';
import type { Cause, Slot } from '../model.ts';
import type { ListedAgent, Listing, OwnAgents } from './own-agents.ts';

/** Current and earlier names of a host's agents in a pool. */
export interface PoolNames {
  readonly now: readonly string[];
  readonly earlier: readonly string[];
}

/** Reads our agents in one pool, for all slots: at an interval, or early on request. */
export class PoolWatch {
  readonly #azure: Pick<AzureClient, 'findPool'>;
  readonly #own: Pick<OwnAgents, 'list'>;
  readonly #name: string;
  readonly #clock: Clock;
  readonly #onChange: () => void;
  #pool: Pool | undefined;
  #agents: Listing = new Map();
  /** Names of the last read, in lower case. */
  #readNames: ReadonlySet<string> = new Set();
  #problem: Cause | undefined;
  #at = Number.NEGATIVE_INFINITY;
  #readAt: string | undefined;
  /** Start of the last read, successful or not; monotonic. */
  #triedAt = Number.NEGATIVE_INFINITY;
  #failingSince: number | undefined;
  #requestedAt: number | undefined;
  #urgent = false;
  #inStep = true;
  #isWaiting = false;
  #interrupt = new AbortController();

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

  /** When the agents were last read; monotonic, -Infinity: never. */
  get at(): number {
    return this.#at;
  }

  /** The same in wall time, ISO 8601; undefined: never. */
  get readAt(): string | undefined {
    return this.#readAt;
  }

  /** Returns the agent with this name, ours or another owner's. */
  agent(name: string): ListedAgent | undefined {
    return this.#agents.get(name.toLowerCase());
  }

  /** Returns whether the server requires a newer agent than the image has. */
  needsUpdate(name: string): boolean {
    return this.agent(name)?.pendingUpdate !== undefined;
  }

  agents(): Iterable<AzureAgent> {
    return this.#agents.values();
  }

  /** Returns whether the pool has no agent of this name; false while that is unknown. */
  lacks(name: string): boolean {
    return this.#readNames.has(name.toLowerCase()) && this.agent(name) === undefined;
  }

  /** Reads now if the last read did not include one of these names: its slot is new. */
  readIfNew(names: readonly string[]): void {
    if (Number.isFinite(this.#at) && names.some((name) => !this.#readNames.has(name.toLowerCase())))
      this.readOnFailure();
  }

  /** Reads now, for a command that the pool may reflect. */
  readSoon(): void {
    this.#urgent = true;
    this.#interrupt.abort();
  }

  /** Reads now after another call to this pool failed, unless reads already fail. */
  readOnFailure(): void {
    if (this.#problem === undefined) this.readSoon();
  }

  /** Reads after this many unscaled milliseconds, when the pool shows an event; several events share one read. */
  readAfter(ms: number): void {
    const at = this.#clock.monotonic() + this.#clock.scaled(ms);
    if (this.#requestedAt !== undefined && this.#requestedAt <= at) return;
    this.#requestedAt = at;
    this.#interrupt.abort();
  }

  /** Sets whether slots wait for a change in the pool, which is then read more often. */
  setWaiting(isWaiting: boolean): void {
    if (this.#isWaiting === isWaiting) return;
    this.#isWaiting = isWaiting;
    this.#interrupt.abort();
  }

  async run(signal: AbortSignal, names: (poolId: number) => PoolNames): Promise<void> {
    while (!signal.aborted) {
      await this.#read(names);
      this.#onChange();
      await this.#untilDue(signal);
    }
  }

  async #untilDue(signal: AbortSignal): Promise<void> {
    const random = Math.random();
    while (!signal.aborted) {
      const due = nextRead(
        {
          at: this.#triedAt,
          failingSince: this.#failingSince,
          requestedAt: this.#requestedAt,
          urgent: this.#urgent,
          waiting: this.#isWaiting,
          inStep: this.#inStep,
          random,
        },
        this.#clock,
      );
      const left = due - this.#clock.monotonic();
      if (left <= 0) return;
      this.#interrupt = new AbortController();
      await this.#clock.wait(
        Math.ceil(unscaled(this.#clock, left)),
        AbortSignal.any([signal, this.#interrupt.signal]),
      );
    }
  }

  async #read(namesOf: (poolId: number) => PoolNames): Promise<void> {
    const started = this.#clock.monotonic();
    this.#triedAt = started;
    this.#urgent = false;
    if (this.#requestedAt !== undefined && this.#requestedAt <= started) this.#requestedAt = undefined;
    this.#inStep = this.#failingSince !== undefined || !Number.isFinite(this.#at);
    try {
      this.#pool ??= await this.#azure.findPool(this.#name);
      if (this.#pool === undefined) throw noPool(this.#name);
      const names = namesOf(this.#pool.id);
      this.#agents = await this.#own.list(this.#pool.id, names.now, names.earlier);
      this.#readNames = new Set(names.now.map((name) => name.toLowerCase()));
      this.#at = started;
      this.#readAt = timestamp(this.#clock);
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

/** Interval without events: a thousand managers read two hundred times a minute in total. */
const idleMs = 5 * 60_000;
/** Longest interval: with the age of the manager's report, a verdict's limit of six minutes is not reached. */
const longestMs = 5.25 * 60_000;
/** Interval while slots wait for a change in the pool. */
const waitingMs = 60_000;
/** The shortest time between reads for starts and ends of runs. */
const eventMs = 60_000;
/** Shortest pause after a failed read. */
const retryMs = 15_000;
/** Longest pause; in between, a quarter of the time since the first failure. */
const longestRetryMs = 2 * 60_000;

/** Determines when a pool is read next; times are monotonic. */
export interface ReadSchedule {
  /** Start of the last read. */
  readonly at: number;
  /** Since when reads fail; undefined: the last one succeeded. */
  readonly failingSince: number | undefined;
  /** A read is requested at or after this time. */
  readonly requestedAt: number | undefined;
  /** A read is requested now: for a command, or because a call failed. */
  readonly urgent: boolean;
  /** Slots wait for a change in the pool. */
  readonly waiting: boolean;
  /** The last read was the first, or the first that succeeded again: other hosts read at the same moment. */
  readonly inStep: boolean;
  /** From 0 up to 1, different for each read, so that hosts that were started together do not read together. */
  readonly random: number;
}

/** Returns when the pool is read next; monotonic. Pure. */
export function nextRead(schedule: ReadSchedule, { scaled }: Pick<Clock, 'scaled'>): number {
  const { at, failingSince, requestedAt, urgent, waiting, inStep, random } = schedule;
  if (urgent) return at;
  const spread = 0.8 + random * 0.4;
  if (failingSince !== undefined) {
    const pause = Math.min(Math.max((at - failingSince) / 4, scaled(retryMs)), scaled(longestRetryMs));
    return at + pause * spread;
  }
  // Spread over the whole interval once, so that hosts that read in step are distributed evenly.
  const pause = (waiting ? waitingMs : idleMs) * (inStep ? random : spread);
  const due = at + scaled(Math.min(pause, longestMs));
  return requestedAt === undefined
    ? due
    : Math.min(due, Math.max(requestedAt, at + scaled(eventMs) * spread));
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
    // Azure DevOps ignores the case of pool names.
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

  /** Returns the id of the only pool that shows an agent of this name; undefined: none does, or several. */
  idWith(agent: string): number | undefined {
    const [found, other] = this.all.filter((watch) => watch.agent(agent) !== undefined);
    return other === undefined ? found?.pool?.id : undefined;
  }

  of({ pool }: Pick<Slot, 'pool'>): PoolWatch {
    return this.named(pool);
  }

  /** Distinct problems of all pools. */
  get problems(): readonly Cause[] {
    return [
      ...new Map(this.all.flatMap(({ problem }) => (problem ? [[problem.what, problem]] : []))).values(),
    ];
  }

  /** Reads all pools now, for a command that they may reflect. */
  readSoon(): void {
    for (const watch of this.all) watch.readSoon();
  }

  /** Reads all pools now after a failed call, except pools whose reads already fail. */
  readOnFailure(): void {
    for (const watch of this.all) watch.readOnFailure();
  }

  /** Reads the pools whose last read failed now: the connection is back. */
  readFailed(): void {
    for (const watch of this.all) if (watch.problem !== undefined) watch.readSoon();
  }

  /** Reads all pools soon, after a run began or ended. */
  runChanged(): void {
    for (const watch of this.all) watch.readAfter(settleMs);
  }

  /** Reads all pools until the signal is aborted. `slots`: current slots; `earlier`: earlier names of agents in a pool. */
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
