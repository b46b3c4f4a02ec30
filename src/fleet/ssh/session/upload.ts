import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { dirname } from 'node:path/posix';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';

import pLimit, { type LimitFunction } from 'p-limit';

import { sha256 as sha256Of } from '../../../shared/base/digest.ts';
import { FleetError } from '../../../shared/base/errors.ts';
import type { Clock } from '../../../shared/base/clock.ts';
import { Raw, sh } from '../../../shared/base/shell.ts';
import type { UploadLimits } from '../../inventory/fleet.ts';
import type { UploadOptions, UploadSource } from '../transport.ts';
import { runScript, type RunParts } from './run-script.ts';

export interface UploadParts extends Pick<RunParts, 'wire' | 'sudo' | 'host' | 'clock'> {
  readonly limiter: UploadLimiter;
}

/**
 * Returns the host's script of an upload. It prints `same`, or `have N` (bytes of an earlier attempt) and reads the
 * rest from standard input. The temporary file is beside the target, named by the content, so that an interrupted
 * upload can continue and `mv` is atomic; it is removed if its hash is wrong, and if other content is sent to the same
 * path.
 */
export function uploadScript(
  path: string,
  sha256: string,
  size: number,
  mode: number,
  packed?: UploadOptions['packed'],
): string {
  const octal = mode.toString(8);
  const unpack =
    packed === undefined
      ? ':'
      : `${packed} -dc <"$t" >"$t.out" || { rm -f "$t" "$t.out"; echo "bad"; exit 3; }; rm -f "$t"; t=$t.out`;
  return sh`set -eu
p=${path} h=${sha256} t=${`${path}.${sha256.slice(0, 16)}.part`}
sum() { sha256sum <"$1" | cut -c1-64; }
for old in "$p".*.part "$p".*.part.out; do [ "$old" = "$t" ] || rm -f "$old"; done
if [ -f "$p" ] && [ "$(sum "$p")" = "$h" ]; then
  chmod ${octal} "$p"; chown 0:0 "$p"; echo same; exit 0
fi
umask 077
[ -d ${dirname(path)} ] || (umask 022; mkdir -p ${dirname(path)})
have=0
[ ! -f "$t" ] || have=$(wc -c <"$t")
[ "$have" -le ${size} ] || { rm -f "$t"; have=0; }
echo "have $((have))"
cat >>"$t"
[ "$(wc -c <"$t")" -eq ${size} ] || { echo short; exit 4; }
${new Raw(unpack)}
[ "$(sum "$t")" = "$h" ] || { rm -f "$t"; echo bad; exit 3; }
chmod ${octal} "$t"; chown 0:0 "$t"; mv -f "$t" "$p"
echo "done"
`;
}

/** Uploads a file. Resolves with false if the host already has it. */
export async function upload(
  parts: UploadParts,
  source: UploadSource,
  path: string,
  options: UploadOptions,
): Promise<boolean> {
  // Size of the transfer: a compressed file is smaller than its content.
  const { sha256, size } =
    'bytes' in source
      ? { sha256: sha256Of(source.bytes), size: source.bytes.length }
      : { sha256: source.sha256, size: source.part?.bytes ?? (await stat(source.file)).size };
  const attempt = (): Promise<string> =>
    once(parts, source, uploadScript(path, sha256, size, options.mode, options.packed), size, options);
  let answer = await attempt();
  // The rest of an earlier attempt was damaged; it has been removed.
  if (answer === 'bad') answer = await attempt();
  if (answer === 'same') return false;
  if (answer === 'done') return true;
  throw new FleetError({
    code: 'ssh.upload',
    host: parts.host,
    what: `${path} arrived damaged`,
    expected: `sha256 ${sha256}`,
    seen: answer,
    next: 'run the command again; if it fails again, check that the local file is not being rewritten',
  });
}

async function once(
  parts: UploadParts,
  source: UploadSource,
  text: string,
  size: number,
  options: UploadOptions,
): Promise<string> {
  let word = '';
  let offset: (have: number) => void = () => undefined;
  const have = new Promise<number>((resolve) => {
    offset = resolve;
  });
  const { limiter, ...run } = parts;
  let failed: unknown;
  const totalTimeoutMs = 120_000 + (size / limiter.slowest) * 1000;
  options.onTurn?.(totalTimeoutMs);
  const result = await runScript({
    ...run,
    text,
    options: {
      totalTimeoutMs,
      ...(options.signal === undefined ? {} : { signal: options.signal }),
      onLine: (line) => {
        const known = /^have (\d+)$/.exec(line);
        if (known === null) word = line;
        if (known !== null) offset(Number(known[1]));
        if (line === 'same') offset(size);
      },
    },
    // Stderr is used only for errors, not as an answer of the script.
    onErrorLine: () => undefined,
    feed: (running) => {
      void have
        .then((from) =>
          pipeline(paced(pieces(source, from, limiter), limiter, from, size, options), running.stdin),
        )
        .catch((error: unknown) => {
          failed = error;
          running.stdin.end();
        });
    },
  });
  if (result.code === 0 || word === 'bad') return word;
  throw new FleetError(
    {
      code: 'ssh.upload',
      host: parts.host,
      what: 'the upload did not finish',
      seen: (result.stderr.trim() || word || `exit code ${result.code}`).slice(-400),
      next: 'df -h   # on the host: is the disk full? Then run the command again; it continues where it stopped',
    },
    { cause: failed },
  );
}

/** Returns the content from an offset in pieces, without a copy: many hosts get it at once. */
function pieces(
  source: UploadSource,
  from: number,
  { pieceBytes }: UploadLimiter,
): Iterable<Buffer> | AsyncIterable<Buffer> {
  if ('bytes' in source) return slices(source.bytes, from, pieceBytes);
  const { start, bytes } = source.part ?? { start: 0, bytes: Infinity };
  if (from === bytes) return [];
  return createReadStream(source.file, {
    start: start + from,
    end: start + bytes - 1,
    highWaterMark: pieceBytes,
  });
}

function* slices(bytes: Uint8Array, from: number, step: number): Generator<Buffer> {
  for (let at = from; at < bytes.length; at += step) {
    yield Buffer.from(bytes.buffer, bytes.byteOffset + at, Math.min(step, bytes.length - at));
  }
}

/** Delays each piece until its turn, and reports the progress. */
async function* paced(
  source: Iterable<Buffer> | AsyncIterable<Buffer>,
  limiter: UploadLimiter,
  from: number,
  size: number,
  options: UploadOptions,
): AsyncGenerator<Buffer> {
  let sent = from;
  for await (const piece of source) {
    await limiter.pass(piece.length);
    yield piece;
    sent += piece.length;
    options.onProgress?.(sent, size);
  }
}

/** Bytes that an upload reads ahead; also the maximum of one piece. */
const largestPiece = 256 * 1024;
const smallestPiece = 4 * 1024;
/** Minimum bytes per second of an upload, unless the configured limit is lower. */
const slowest = 20_000;

/** Limits all uploads of a run: their number at a time, and their speed together. */
export class UploadLimiter {
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

  /** Resolves when a piece may be sent. */
  async pass(bytes: number): Promise<void> {
    if (this.#line === undefined) return;
    const { line, waitMs } = reserve(this.#line, bytes, this.#clock.monotonic());
    this.#line = line;
    if (waitMs > 0) await sleep(waitMs);
  }
}

/** Milliseconds of its rate that an idle line may send at once. */
const burstMs = 250;

/**
 * A line of limited rate, shared in the order of requests: a token bucket, stored as the time when it is free again.
 */
interface Line {
  /** Bytes per second. */
  readonly rate: number;
  /** Milliseconds on the caller's clock when all reserved bytes have been sent. */
  readonly freeAt: number;
}

export function startOf(rate: number, now: number): Line {
  return { rate, freeAt: now };
}

/** Reserves time on the line for a piece, and returns how long its sender must wait. Pure. */
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
