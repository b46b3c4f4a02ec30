import { setTimeout as sleep } from 'node:timers/promises';
import pLimit, { type LimitFunction } from 'p-limit';
import type { Clock } from '../../../shared/base/machine/clock.ts';
import type { UploadLimits } from '../../inventory/fleet.ts';

/** Bytes that an upload reads ahead; also the most that goes in one piece. */
const largestPiece = 256 * 1024;
const smallestPiece = 4 * 1024;
/** Slower than this (bytes per second) an upload is given up, unless the limit itself makes it so slow. */
const slowest = 20_000;

/** Where all uploads of a run pass: so many at a time, and together no faster than allowed. */
export class UploadGate {
  readonly #limit: LimitFunction;
  readonly #clock: Clock;
  #line: Line | undefined;
  /** Bytes of one piece: small enough that uploads take turns several times a second. */
  readonly pieceBytes: number;
  /** Bytes per second below which an upload has failed. */
  readonly slowest: number;

  constructor({ bandwidth, parallel }: UploadLimits, clock: Clock) {
    this.#clock = clock;
    this.#limit = pLimit(parallel);
    this.#line = bandwidth === undefined ? undefined : startOf(bandwidth, clock.monotonic());
    const turn = (bandwidth ?? Infinity) / 8;
    this.pieceBytes = Math.floor(Math.min(largestPiece, Math.max(smallestPiece, turn)));
    this.slowest = Math.min(slowest, (bandwidth ?? Infinity) / parallel / 2);
  }

  run<T>(work: () => Promise<T>): Promise<T> {
    return this.#limit(work);
  }

  /** Resolves when a piece may go. */
  async pass(bytes: number): Promise<void> {
    if (this.#line === undefined) return;
    const { line, waitMs } = reserve(this.#line, bytes, this.#clock.monotonic());
    this.#line = line;
    if (waitMs > 0) await sleep(waitMs);
  }
}

/** What an idle line saves up: this many milliseconds of its rate may go at once. */
const burstMs = 250;

/** A line of limited rate, shared in the order of asking: a token bucket, kept as the time when it is free again. */
export interface Line {
  /** Bytes per second. */
  readonly rate: number;
  /** Milliseconds on the caller's clock: when all that was let through will have passed. */
  readonly freeAt: number;
}

export function startOf(rate: number, now: number): Line {
  return { rate, freeAt: now };
}

/** Gives a piece its place in the line, and says how long its sender has to wait. Pure. */
export function reserve(
  line: Line,
  bytes: number,
  now: number,
): { readonly line: Line; readonly waitMs: number } {
  const from = Math.max(line.freeAt, now - burstMs);
  return {
    line: { ...line, freeAt: from + (bytes / line.rate) * 1000 },
    waitMs: Math.max(0, from - now),
  };
}
