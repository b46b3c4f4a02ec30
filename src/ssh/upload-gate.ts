import { setTimeout as sleep } from 'node:timers/promises';

import pLimit, { type LimitFunction } from 'p-limit';

import type { UploadLimits } from '../inventory/fleet.ts';
import { type Line, reserve, startOf } from './bandwidth.ts';

/** Bytes that an upload reads ahead; also the most that goes in one piece. */
const largestPiece = 256 * 1024;
const smallestPiece = 4 * 1024;
/** Slower than this (bytes per second) an upload is given up, unless the limit itself makes it so slow. */
const slowest = 20_000;

/** Where all uploads of a run pass: so many at a time, and together no faster than allowed. */
export class UploadGate {
  readonly #limit: LimitFunction;
  #line: Line | undefined;
  /** Bytes of one piece: small enough that uploads take turns several times a second. */
  readonly pieceBytes: number;
  /** Bytes per second below which an upload has failed. */
  readonly slowest: number;

  constructor({ bandwidth, parallel }: UploadLimits) {
    this.#limit = pLimit(parallel);
    this.#line = bandwidth === undefined ? undefined : startOf(bandwidth, performance.now());
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
    const { line, waitMs } = reserve(this.#line, bytes, performance.now());
    this.#line = line;
    if (waitMs > 0) await sleep(waitMs);
  }
}
