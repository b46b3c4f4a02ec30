import { backoffMs, unscaled, type Clock } from '../../shared/base/clock.ts';
import type { Cause, NextKey, LeftSession } from '../model.ts';
import type { Asked, Outcome } from '../runs/outcome.ts';
import type { JobRequest } from '../../shared/azure/client.ts';

/** What the manager remembers of a slot between two passes. All of it may be lost with the process; times are monotonic. */
export class SlotMemory {
  /** The operation under way. */
  busyWith: string | undefined;
  /** How many have ended. */
  operations = 0;
  agentId: number | undefined;
  /** The last thing that went wrong and has not been overcome. */
  cause: Cause | undefined;
  /** The server or another run is not ready yet: not a failure. */
  waitingFor: Cause | undefined;
  /** Containers that this manager has stopped. */
  readonly asked = new Map<string, Asked>();
  /** What the server got when the last run had ended; given to the next one. */
  nextKey: NextKey | undefined;
  readonly connection: ConnectionMemory;
  readonly queue = new QueueMemory();
  /** The run that ended last, and when (monotonic), until the server has been asked what it knows of its job. */
  lastRun: { readonly run: string; readonly endedAt: number } | undefined;
  /** Failures in a row on the image with this id that may be its fault. */
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

  /** Nothing is launched before. */
  get notBefore(): number {
    return this.#notBefore;
  }

  /** Nothing at all is tried before: an operation on the slot has failed. */
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

  /** How often in a row this image has failed here, this time included. */
  blame(image: string): number {
    const times = this.#blamed.image === image ? this.#blamed.times + 1 : 1;
    this.#blamed = { image, times };
    return times;
  }

  /** Asked again after 0.5, 1, 2 … 30 s. */
  notYet(cause: Cause): void {
    this.#waits += 1;
    this.waitingFor = cause;
    this.#notBefore = this.#after(Math.min(250 * 2 ** this.#waits, 30_000));
  }

  /** Something other than a launch failed: again after 1, 2, 4 … 60 s. */
  operationFailed(cause: Cause): void {
    this.cause = cause;
    this.#retryAt = this.#after(Math.min(1000 * 2 ** this.#operationFailures, 60_000));
    this.#operationFailures += 1;
  }

  /** Something other than a launch worked. */
  operationWorked(): void {
    this.#operationFailures = 0;
  }

  launched(agentId: number): void {
    this.agentId = agentId;
    this.connection.launched();
    this.#waits = 0;
    this.waitingFor = undefined;
    this.disabledFor = undefined;
    this.published();
  }

  /** The agent listens for jobs: what was wrong is over, but the count stays until a job has run. */
  listens(): void {
    this.#blamed = { image: '', times: 0 };
    this.cause = undefined;
  }

  ended(outcome: Outcome): void {
    if (outcome.ranJob) this.#failures = 0;
    if (outcome.cause === undefined) return;
    if (outcome.ranJob) this.cause = outcome.cause;
    else this.failed(outcome.cause);
  }

  /** What was wrong for this reason is not told any more: it is about to be looked at again. */
  forget(code: string): void {
    if (this.cause?.code === code) this.cause = undefined;
  }

  retryNow(): void {
    this.#failures = 0;
    this.#operationFailures = 0;
    this.#notBefore = Number.NEGATIVE_INFINITY;
    this.#retryAt = Number.NEGATIVE_INFINITY;
  }

  /** Unscaled milliseconds since this container was first seen to have told the end of its job: now, if it is new. */
  doneMs(container: string): number {
    const now = this.#clock.monotonic();
    if (this.#done?.container !== container) this.#done = { container, since: now };
    return unscaled(this.#clock, now - this.#done.since);
  }

  /** How often in a row this ended container is collected, this time included. */
  collecting(container: string): number {
    const times = this.#collected.container === container ? this.#collected.times + 1 : 1;
    this.#collected = { container, times };
    return times;
  }

  /** The agent's capabilities have been written. */
  published(): void {
    this.#publishedAt = this.#clock.monotonic();
  }

  /** Whether what the server showed at this time may still be from before we wrote capabilities. */
  mayPredatePublishing(at: number): boolean {
    return at <= this.#publishedAt;
  }

  /** The agent's key has been seen to, or there was none of ours to see to. */
  keyEnded(): void {
    this.#keyEndedAt = this.#clock.monotonic();
  }

  /** Whether what the server showed at this time may still be from before that. */
  mayPredateKeyEnd(at: number): boolean {
    return at <= this.#keyEndedAt;
  }

  set disabledFor(reason: string | undefined) {
    this.#disabled = { reason, at: this.#clock.monotonic() };
  }

  /** The newer of what we did and what the server showed at the given time. */
  disabled(shown: { readonly reason: string | undefined; readonly at: number }): string | undefined {
    return shown.at > this.#disabled.at ? shown.reason : this.#disabled.reason;
  }

  #after(ms: number): number {
    return this.#clock.monotonic() + this.#clock.scaled(ms);
  }
}

/** The memories of all slots, those of slots that are no longer configured included. */
export class SlotBook {
  readonly #clock: Clock;
  readonly #memories = new Map<string, SlotMemory>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  of(slot: string): SlotMemory {
    const known = this.#memories.get(slot);
    if (known !== undefined) return known;
    const fresh = new SlotMemory(this.#clock);
    this.#memories.set(slot, fresh);
    return fresh;
  }

  /** Says later of which slots an operation has ended since now: what was seen of them meanwhile may be old. */
  mark(): (slot: string) => boolean {
    const marks = new Map([...this.#memories].map(([slot, { operations }]) => [slot, operations]));
    return (slot) => this.of(slot).operations !== (marks.get(slot) ?? 0);
  }

  /** The moment before which waiting alone changes nothing; monotonic. */
  nextDue(latest: number): number {
    const now = this.#clock.monotonic();
    const due = [...this.#memories.values()].flatMap((memory) => [memory.notBefore, memory.retryAt]);
    return Math.min(latest, ...due.filter((at) => at > now));
  }

  /** What has failed is tried again now: its circumstances have changed. */
  retryNow(): void {
    for (const memory of this.#memories.values()) memory.retryNow();
  }
}

/** A session that nobody polls any more ends after about this time (vso-agent#202). */
const sessionMs = 5 * 60_000;

/** What the manager remembers of a slot's way to the server: since when its agent connects, and whose session is left. */
export class ConnectionMemory {
  readonly #clock: Clock;
  #connecting: { readonly container: string; readonly since: number } | undefined;
  #left: { readonly until: number; readonly at: string } | undefined;
  #renewedAt = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Unscaled milliseconds since this container was first seen to connect: now, if it is new. */
  connectingMs(container: string): number {
    const now = this.#clock.monotonic();
    if (this.#connecting?.container !== container) this.#connecting = { container, since: now };
    return unscaled(this.#clock, now - this.#connecting.since);
  }

  /** An agent ended and left its session, which nobody has polled since then (ISO 8601). */
  leave(since: string): void {
    const life = this.#clock.scaled(sessionMs);
    const wall = this.#clock.wall();
    const age = Math.max(0, wall - Date.parse(since)) || 0;
    // What another clock says of the past is believed only within a session's life.
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

  /** The entry has been made anew. */
  renewed(): void {
    this.#renewedAt = this.#clock.monotonic();
    this.#left = undefined;
  }

  /** An agent has been started: what comes of it, it says itself. */
  launched(): void {
    this.#left = undefined;
  }
}

/** Longer than any job waits: the server gives one up long before. */
const longestS = 366 * 86_400;

/** How long the job of a request waited for an agent. */
export interface QueueWait {
  readonly requestId: number;
  /** Seconds. */
  readonly waitedS: number;
}

/**
 * From the job's arrival in the pool's queue until an agent had it; both times are the server's, so that no clock of ours
 * plays a part. Undefined where the server does not tell, or tells what cannot be. Pure.
 */
export function queueWaitOf(request: JobRequest | undefined): QueueWait | undefined {
  if (request === undefined || !Number.isSafeInteger(request.requestId)) return undefined;
  const { requestId, queueTime = '', receiveTime, assignTime = '' } = request;
  const waitedS = (Date.parse(receiveTime ?? assignTime) - Date.parse(queueTime)) / 1000;
  return waitedS >= 0 && waitedS <= longestS ? { requestId, waitedS } : undefined;
}

/** Which requests of a slot's agent have been counted: each once, whichever look shows it first. */
export class QueueMemory {
  #last: QueueWait | undefined;
  #newest = Number.NEGATIVE_INFINITY;

  /** Of the job that the slot took last; undefined: not seen by this process. */
  get last(): QueueWait | undefined {
    return this.#last;
  }

  /** Undefined unless it is newer than what has been seen, and than `counted`: requests have growing numbers. */
  see(request: JobRequest | undefined, counted = Number.NEGATIVE_INFINITY): QueueWait | undefined {
    const wait = queueWaitOf(request);
    if (wait === undefined || wait.requestId <= Math.max(this.#newest, counted)) return undefined;
    this.#newest = wait.requestId;
    this.#last = wait;
    return wait;
  }
}

interface Books {
  readonly metrics: { queued(pool: string, waitedS: number): void };
  /** `counted`: by slot, the newest request. */
  readonly state: {
    readonly value: { readonly counted: Readonly<Record<string, number>> };
    note(
      change: (state: { readonly counted: Readonly<Record<string, number>> }) => {
        readonly counted: Readonly<Record<string, number>>;
      },
    ): Promise<void>;
  };
}

/** Counts how long a job waited that the slot took, unless that was done before, by an earlier process perhaps. */
export async function countWait(
  { metrics, state }: Books,
  slot: { readonly name: string; readonly pool: string },
  queue: QueueMemory,
  request: JobRequest | undefined,
): Promise<void> {
  const wait = queue.see(request, state.value.counted[slot.name]);
  if (wait === undefined) return;
  metrics.queued(slot.pool, wait.waitedS);
  await state.note(({ counted }) => ({ counted: { ...counted, [slot.name]: wait.requestId } }));
}
