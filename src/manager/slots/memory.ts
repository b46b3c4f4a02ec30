import { backoffMs, unscaled, type Clock } from '../../shared/base/clock.ts';
import type { Cause, NextKey, LeftSession } from '../model.ts';
import { faultOf, type StopRequest, type Outcome } from '../runs/outcome.ts';
import type { JobRequest } from '../../shared/azure/client.ts';

/** The state of a slot between passes. A restart loses it; times are monotonic. */
export class SlotMemory {
  /** The running action. */
  busyWith: string | undefined;
  /** Number of ended actions. */
  operations = 0;
  agentId: number | undefined;
  /** The latest open fault. */
  cause: Cause | undefined;
  /** Why a launch waits; not a failure. */
  waitingFor: Cause | undefined;
  /** The latest start failed, or waits, for a reason that is not its image's fault. */
  waitsElsewhere = false;
  /** Containers that this manager has stopped, by id. */
  readonly stopped = new Map<string, StopRequest>();
  /** Containers whose run is recorded, and which Docker is still removing, by id. */
  readonly recorded = new Set<string>();
  /** The agent's key since the last run, for the next run. */
  nextKey: NextKey | undefined;
  readonly connection: ConnectionMemory;
  readonly queue = new QueueMemory();
  /** The latest run and its end (monotonic), until the pool shows the state of its job. */
  lastRun: { readonly run: string; readonly endedAt: number } | undefined;
  /** Failures in a row that the image with this id may have caused. */
  #blamed: { readonly image: string; readonly times: number } = { image: '', times: 0 };
  #collected: { readonly container: string; readonly times: number } = { container: '', times: 0 };
  #done: { readonly container: string; readonly since: number } | undefined;
  #failures = 0;
  #waits = 0;
  #notBefore = Number.NEGATIVE_INFINITY;
  #operationFailures = 0;
  #retryAt = Number.NEGATIVE_INFINITY;
  #disabled: { readonly reason: string | undefined; readonly at: number } = {
    reason: undefined,
    at: Number.NEGATIVE_INFINITY,
  };
  #publishedAt = Number.NEGATIVE_INFINITY;
  #keyEndedAt = Number.NEGATIVE_INFINITY;
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.connection = new ConnectionMemory(clock);
  }

  /** No launch before this time. */
  get notBefore(): number {
    return this.#notBefore;
  }

  /** No other action before this time: one has failed. */
  get retryAt(): number {
    return this.#retryAt;
  }

  get failures(): number {
    return this.#failures;
  }

  failed(cause: Cause): void {
    this.#failures += 1;
    this.cause = cause;
    this.waitingFor = undefined;
    this.#notBefore = this.#after(backoffMs(this.#failures));
  }

  /** Counts a failure of this image; returns how many there were in a row. */
  blame(image: string): number {
    const times = this.#blamed.image === image ? this.#blamed.times + 1 : 1;
    this.#blamed = { image, times };
    return times;
  }

  /** Notes that a launch must wait; the next attempt is after 0.5, 1, 2 … 30 s. */
  notYet(cause: Cause): void {
    this.#waits += 1;
    this.waitingFor = cause;
    this.waitsElsewhere = true;
    this.#notBefore = this.#after(Math.min(250 * 2 ** this.#waits, 30_000));
  }

  /** Notes that an action other than a launch failed; the next attempt is after 1, 2, 4 … 60 s. */
  operationFailed(cause: Cause): void {
    this.cause = cause;
    this.#retryAt = this.#after(Math.min(1000 * 2 ** this.#operationFailures, 60_000));
    this.#operationFailures += 1;
  }

  /** Notes that an action other than a launch succeeded. */
  operationWorked(): void {
    this.#operationFailures = 0;
  }

  launched(agentId: number): void {
    this.agentId = agentId;
    this.recorded.clear();
    this.connection.launched();
    this.#waits = 0;
    this.waitingFor = undefined;
    this.waitsElsewhere = false;
    this.disabledFor = undefined;
    this.published();
  }

  /** Notes that the agent listens for jobs: the fault is over. The count of failures stays until a job has run. */
  listens(): void {
    this.#blamed = { image: '', times: 0 };
    this.cause = undefined;
  }

  ended(outcome: Outcome): void {
    if (outcome.ranJob) this.#failures = 0;
    const cause = faultOf(outcome);
    if (cause === undefined) return;
    if (outcome.ranJob) this.cause = cause;
    else this.failed(cause);
  }

  /** Clears a fault with this code before it is checked again. */
  forget(code: string): void {
    if (this.cause?.code === code) this.cause = undefined;
  }

  retryNow(): void {
    this.#failures = 0;
    this.#operationFailures = 0;
    this.#notBefore = Number.NEGATIVE_INFINITY;
    this.#retryAt = Number.NEGATIVE_INFINITY;
  }

  /** Returns the unscaled milliseconds since this container was first seen with a finished job: 0 the first time. */
  doneMs(container: string): number {
    const now = this.#clock.monotonic();
    if (this.#done?.container !== container) this.#done = { container, since: now };
    return unscaled(this.#clock, now - this.#done.since);
  }

  /** Counts a try to collect this container; returns how many there were in a row. */
  collecting(container: string): number {
    const times = this.#collected.container === container ? this.#collected.times + 1 : 1;
    this.#collected = { container, times };
    return times;
  }

  /** Notes that the agent's capabilities have been written. */
  published(): void {
    this.#publishedAt = this.#clock.monotonic();
  }

  /** Returns whether the pool, read at this time, may still show the earlier capabilities. */
  mayPredatePublishing(at: number): boolean {
    return at <= this.#publishedAt;
  }

  /** Notes that the agent's key was replaced, or that the pool has no agent of ours. */
  keyEnded(): void {
    this.#keyEndedAt = this.#clock.monotonic();
  }

  /** Returns whether the pool, read at this time, may still show the earlier state. */
  mayPredateKeyEnd(at: number): boolean {
    return at <= this.#keyEndedAt;
  }

  set disabledFor(reason: string | undefined) {
    this.#disabled = { reason, at: this.#clock.monotonic() };
  }

  /** Returns the reason for which the agent is disabled: our change or what the pool showed, whichever is newer. */
  disabled(shown: { readonly reason: string | undefined; readonly at: number }): string | undefined {
    return shown.at > this.#disabled.at ? shown.reason : this.#disabled.reason;
  }

  #after(ms: number): number {
    return this.#clock.monotonic() + this.#clock.scaled(ms);
  }
}

/** The memories of all slots, including those that are no longer configured. */
export class SlotBook {
  readonly #clock: Clock;
  readonly #memories = new Map<string, SlotMemory>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  of(slot: string): SlotMemory {
    const known = this.#memories.get(slot);
    if (known !== undefined) return known;
    const memory = new SlotMemory(this.#clock);
    this.#memories.set(slot, memory);
    return memory;
  }

  /** Returns a function that returns whether an action of a slot has ended since this call: observations may be older. */
  changedSince(): (slot: string) => boolean {
    const before = new Map([...this.#memories].map(([slot, { operations }]) => [slot, operations]));
    return (slot) => this.of(slot).operations !== (before.get(slot) ?? 0);
  }

  /** Returns the end of the next wait of a slot, at most `latest`; monotonic. */
  nextDue(latest: number): number {
    const now = this.#clock.monotonic();
    const due = [...this.#memories.values()].flatMap((memory) => [memory.notBefore, memory.retryAt]);
    return Math.min(latest, ...due.filter((at) => at > now));
  }

  /** Allows failed actions to be tried again now, after a change. */
  retryNow(): void {
    for (const memory of this.#memories.values()) memory.retryNow();
  }
}

/** A session without polls ends after about this time (vso-agent#202). */
const sessionMs = 5 * 60_000;

/** The state of a slot's connection: since when its agent connects, and the session that was left open. */
export class ConnectionMemory {
  readonly #clock: Clock;
  #connecting: { readonly container: string; readonly since: number } | undefined;
  #left: { readonly until: number; readonly at: string } | undefined;
  #renewedAt = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns the unscaled milliseconds since this container was first seen to connect: 0 the first time. */
  connectingMs(container: string): number {
    const now = this.#clock.monotonic();
    if (this.#connecting?.container !== container) this.#connecting = { container, since: now };
    return unscaled(this.#clock, now - this.#connecting.since);
  }

  /** Notes that an agent left its session open, without polls since then (ISO 8601). */
  leave(since: string): void {
    const life = this.#clock.scaled(sessionMs);
    const wall = this.#clock.wall();
    const age = Math.max(0, wall - Date.parse(since)) || 0;
    // The time is another clock's, so it is limited to the lifetime of a session.
    const rest = Math.max(0, life - age);
    const at = `${new Date(wall + rest).toISOString().slice(0, 19)}Z`;
    this.#left = { until: this.#clock.monotonic() + rest, at };
  }

  get left(): LeftSession | undefined {
    const now = this.#clock.monotonic();
    if (this.#left === undefined || this.#left.until <= now) return undefined;
    return {
      until: this.#left.at,
      leftS: unscaled(this.#clock, this.#left.until - now) / 1000,
      mayRenew: now - this.#renewedAt >= this.#clock.scaled(sessionMs),
    };
  }

  /** Notes that the pool entry has been created again. */
  renewed(): void {
    this.#renewedAt = this.#clock.monotonic();
    this.#left = undefined;
  }

  /** Notes that an agent was started: its output shows conflicts from now on. */
  launched(): void {
    this.#left = undefined;
  }
}

/** Longer than any queue wait: the server gives a job up long before. */
const longestS = 366 * 86_400;

/** The time that the job of a request waited for an agent. */
export interface QueueWait {
  readonly requestId: number;
  /** Seconds. */
  readonly waitedS: number;
}

/**
 * Returns the time from the job's arrival in the pool's queue until an agent took it, by the server's clock. Undefined if the
 * server gives no times or impossible ones. Pure.
 */
export function queueWaitOf(request: JobRequest | undefined): QueueWait | undefined {
  if (request === undefined || !Number.isSafeInteger(request.requestId)) return undefined;
  const { requestId, queueTime = '', receiveTime, assignTime = '' } = request;
  const waitedS = (Date.parse(receiveTime ?? assignTime) - Date.parse(queueTime)) / 1000;
  return waitedS >= 0 && waitedS <= longestS ? { requestId, waitedS } : undefined;
}

/** Tracks requests of a slot's agent, so that each is counted once. */
export class QueueMemory {
  #last: QueueWait | undefined;
  #newest = Number.NEGATIVE_INFINITY;

  /** The wait of the slot's latest job; undefined: none in this process. */
  get last(): QueueWait | undefined {
    return this.#last;
  }

  /** Returns the wait of a request that is newer than all earlier ones and than `counted`; request numbers only grow. */
  newWait(request: JobRequest | undefined, counted = Number.NEGATIVE_INFINITY): QueueWait | undefined {
    const wait = queueWaitOf(request);
    if (wait === undefined || wait.requestId <= Math.max(this.#newest, counted)) return undefined;
    this.#newest = wait.requestId;
    this.#last = wait;
    return wait;
  }
}

interface CountTools {
  readonly metrics: { queued(pool: string, waitedS: number): void };
  /** `counted`: newest counted request, by slot. */
  readonly state: {
    readonly value: { readonly counted: Readonly<Record<string, number>> };
    note(
      change: (state: { readonly counted: Readonly<Record<string, number>> }) => {
        readonly counted: Readonly<Record<string, number>>;
      },
    ): Promise<void>;
  };
}

/** Counts the queue wait of a slot's job once, also over restarts. */
export async function countWait(
  { metrics, state }: CountTools,
  slot: { readonly name: string; readonly pool: string },
  queue: QueueMemory,
  request: JobRequest | undefined,
): Promise<void> {
  const wait = queue.newWait(request, state.value.counted[slot.name]);
  if (wait === undefined) return;
  metrics.queued(slot.pool, wait.waitedS);
  await state.note(({ counted }) => ({ counted: { ...counted, [slot.name]: wait.requestId } }));
}
