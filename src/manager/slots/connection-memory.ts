import { unscaled, type Clock } from '../../shared/base/clock.ts';
import type { LeftSession } from '../model.ts';

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
