import { setTimeout as sleep } from 'node:timers/promises';

import { z } from 'zod';

import { FleetError } from '../../../shared/base/errors.ts';
import { foreignJson, foreignLine } from '../../../shared/base/foreign-text.ts';
import type { Clock } from '../../../shared/base/clock.ts';
import { sh } from '../../../shared/base/shell.ts';
import { interrupted } from '../failures.ts';
import type { HostLock, LockOptions, LockOwner } from '../transport.ts';
import type { Wire } from '../wire/wire.ts';
import { Output } from './run-script.ts';
import { Limit, type Running, startScript } from './start.ts';
import type { Sudo } from './sudo.ts';

/** Bytes of what the host says while the lock is held: a word, and the note of who holds it. */
const longestAnswer = 65_536;
/** Milliseconds for the answer: the host itself waits ten seconds for one who was ended. */
const answerMs = 25_000;
/** Milliseconds between two tries for the lock of a silent owner. */
const retryMs = 2000;
/** Milliseconds after which the remaining time is reported again. */
const tellMs = 10_000;
/** Milliseconds for letting go; what has not ended by then is cut off. */
const releaseMs = 5000;

/** `first`; `again`: we held it before, and no other owner since; `break`: from its present holder. */
type LockWay = 'first' | 'again' | 'break';

/**
 * Holds the host's lock as long as lines come on standard input. Our own holder of before a cut is replaced. Who has had
 * it last is on the disk, so that a run that lost it knows whether somebody else came, be it that the host was restarted.
 * Says `locked`, after `broke NOTE`; or `held SECONDS NOTE`, with the seconds since a sign of life; or `passed NOTE`.
 */
export function lockScript(owner: LockOwner, id: string, way: LockWay): string {
  return `${sh`set -u
d=/run/azp-fleet s=/var/lib/azp-fleet mine=${id} way=${way}
note=${JSON.stringify({ ...owner, id })}
`}
is_mine() { case $1 in *"\\"id\\":\\"$mine\\""*) return 0;; *) return 1;; esac; }
now() { read -r up _ </proc/uptime && up=\${up%%.*}; }
held() {
  silent=- heard=
  if [ -f "$d/lock.heard" ]; then read -r heard <"$d/lock.heard"; fi
  case $heard in ''|*[!0-9]*) ;; *) if now; then silent=$((up - heard)); fi;; esac
  printf 'held %s %s\\n' "$silent" "$(head -c 4096 "$d/lock.owner" 2>/dev/null)"
  exit 75
}
umask 022
mkdir -p "$d" || exit 1
(umask 077; mkdir -p "$s") || exit 1
exec 9>>"$d/lock"
if ! flock -n 9; then
  was=$(head -c 4096 "$d/lock.owner" 2>/dev/null)
  is_mine "$was" || [ "$way" = break ] || held
  pid=$(head -c 20 "$d/lock.pid" 2>/dev/null)
  # Not another process with this number. The shell keeps the lock at other descriptors, too.
  if readlink "/proc/$pid/fd"/* | grep -qxF "$d/lock"; then kill -9 "$pid"; fi 2>/dev/null
  flock -w 10 9 || held
  printf 'broke %s\\n' "$was"
fi
if [ "$way" = again ]; then
  last=$(head -c 4096 "$s/lock.last" 2>/dev/null)
  is_mine "$last" || { printf 'passed %s\\n' "$last"; exit 76; }
fi
printf '%s\\n' "$note" >"$s/lock.last" || exit 1
sync "$s/lock.last" "$s"
printf '%s\\n' "$note" >"$d/lock.owner"
echo "$$" >"$d/lock.pid"
beat() { if now; then echo "$up" >"$d/lock.heard"; fi; }
beat
echo locked
while timeout ${lockExpiryS} /bin/sh -c 'IFS= read -r x' 9>&-; do beat; done
rm -f "$d/lock.owner" "$d/lock.pid" "$d/lock.heard"
`;
}

interface LockParts {
  readonly wire: Wire;
  readonly sudo: Sudo;
  readonly host: string;
  readonly clock: Clock;
}

export interface LockRequest extends Pick<LockOptions, 'signal' | 'onWait'> {
  readonly owner: LockOwner;
  /** The run: what it held before a cut is its own. */
  readonly id: string;
  readonly way: LockWay;
}

/**
 * Takes the lock. That of a living owner is refused at once; that of a silent one is waited for until it ends by itself,
 * which takes no longer than its expiry. The signal ends it at once.
 */
export async function takeLock(parts: LockParts, request: LockRequest): Promise<HostLock> {
  const { host, clock } = parts;
  const { way, signal, onWait } = request;
  let [deadline, told] = [Infinity, Infinity];
  for (;;) {
    const { answer, held } = await tryLock(parts, request);
    if (held !== undefined) return held;
    if (way === 'again') throw lockLost(host, answer);
    const freeS = freeInS(answer);
    const leftMs = Math.min(deadline - clock.monotonic(), 1000 * (freeS ?? 0));
    if (leftMs <= 0) throw locked(host, answer);
    deadline = clock.monotonic() + leftMs;
    if (told - leftMs >= tellMs) {
      onWait?.(waitingFor(answer, Math.ceil(leftMs / 1000)));
      told = leftMs;
    }
    await clock.wait(Math.min(retryMs, leftMs), signal);
    if (signal?.aborted === true) throw interrupted(host);
  }
}

/** One try. Rejects where there is no answer, or one that says nothing of the lock. */
async function tryLock(
  { wire, sudo, host }: LockParts,
  { owner, id, way, signal }: LockRequest,
): Promise<{ readonly answer: LockAnswer; readonly held?: HostLock }> {
  let answer: LockAnswer = { word: 'none' };
  let running: Running | undefined;
  let settle: () => void = () => undefined;
  let fail: (error: unknown) => void = () => undefined;
  const settled = new Promise<void>((resolve, reject) => ([settle, fail] = [resolve, reject]));
  settled.catch(() => undefined);
  const stop = (error: unknown): void => {
    fail(error);
    running?.kill();
  };
  const onOverflow = (): void => stop(lockFailed(host, `more than ${longestAnswer / 1024} KiB of output`));
  const hear = (line: string): void => {
    answer = hearLock(answer, line);
    if (answer.word === 'locked') settle();
  };
  const out = new Output({ limit: longestAnswer, onLine: hear, onOverflow });
  const err = new Output({ limit: longestAnswer, onLine: () => undefined, onOverflow });
  const limit = new Limit(answerMs, () => stop(lockFailed(host, `no answer within ${answerMs / 1000} s`)));
  const abort = (): void => stop(interrupted(host));
  signal?.addEventListener('abort', abort, { once: true });
  try {
    running = await startScript(wire, sudo, {
      host,
      script: lockScript(owner, id, way),
      as: 'root',
      input: true,
      limitS: undefined,
      signal,
      onStdout: (chunk) => out.push(chunk),
      onStderr: (chunk) => err.push(chunk),
    });
    limit.start();
    void running.ended.then(settle);
    await settled;
  } finally {
    limit.stop();
    signal?.removeEventListener('abort', abort);
  }
  if (answer.word === 'locked') return { answer, held: hold(running, answer, way) };
  const said = `${out.end()}${err.end()}`.trim().slice(-300);
  if (answer.word === 'none') throw lockFailed(host, said);
  return { answer };
}

function hold(running: Running, { broke }: LockAnswer, way: LockWay): HostLock {
  const beat = setInterval(() => running.stdin.write('\n'), heartbeatMs);
  let state: 'held' | 'released' | 'lost' = 'held';
  void running.ended.then(() => {
    clearInterval(beat);
    if (state === 'held') state = 'lost';
  });
  return {
    ...(broke === undefined || way !== 'break' ? {} : { broke }),
    lost: () => state === 'lost',
    async release() {
      state = 'released';
      clearInterval(beat);
      running.stdin.end();
      const late = new AbortController();
      await Promise.race([
        running.ended,
        sleep(releaseMs, undefined, { signal: late.signal }).catch(() => undefined),
      ]);
      late.abort();
      running.kill();
    },
  };
}

/** Seconds without a sign of life after which a lock is given up: a cut connection is not seen by the host. */
const lockExpiryS = 60;
/** Milliseconds between two signs of life. */
const heartbeatMs = 15_000;
/** Seconds of silence that no living owner keeps: two signs of life are missing. */
const silenceS = (2 * heartbeatMs) / 1000;
/** Seconds that the host may need, beyond the expiry, to give the lock up. */
const graceS = 5;

/** What the lock script has said. */
export interface LockAnswer {
  /** `held`: another owner has it now. `passed`: another owner had it since. */
  readonly word: 'locked' | 'held' | 'passed' | 'none';
  /** Whose it is, or was; absent where there is no note that can be read. */
  readonly owner?: LockOwner;
  /** Whose lock was broken, be it our own of before a cut. */
  readonly broke?: LockOwner;
  /** Seconds since the last sign of life of who has it. */
  readonly silentS?: number;
}

const cleanWord = z.string().transform((said) => foreignLine(said, 200));
/** What `lockScript`, or another program, has written. */
const noteShape = z.object({
  who: cleanWord,
  command: cleanWord,
  since: cleanWord,
}) satisfies z.ZodType<LockOwner>;

/** Takes a line of the lock script; what is none of its words changes nothing. */
export function hearLock(answer: LockAnswer, line: string): LockAnswer {
  const [word = '', ...rest] = line.split(' ');
  if (line === 'locked') return { ...answer, word: 'locked' };
  if (word === 'broke') return { ...answer, ...named('broke', rest.join(' ')) };
  if (word === 'passed') return { ...answer, word, ...named('owner', rest.join(' ')) };
  if (word !== 'held') return answer;
  const [silent = '', ...note] = rest;
  return {
    ...answer,
    word,
    ...named('owner', note.join(' ')),
    ...(/^\d{1,9}$/.test(silent) ? { silentS: Number(silent) } : {}),
  };
}

function named<K extends 'owner' | 'broke'>(key: K, json: string): { readonly [key in K]?: LockOwner } {
  const note = noteShape.safeParse(foreignJson(json)).data;
  return note === undefined ? {} : ({ [key]: note } as { readonly [key in K]: LockOwner });
}

/**
 * Seconds after which a lock that is held will be free, where its owner's connection seems to be gone. Undefined: its
 * owner lives, or the host's clocks do not tell.
 */
export function freeInS({ word, silentS }: LockAnswer): number | undefined {
  if (word !== 'held' || silentS === undefined) return undefined;
  const left = lockExpiryS + graceS - silentS;
  return silentS >= silenceS && left > 0 ? left : undefined;
}

/** Said while a silent owner's lock is waited for. */
export function waitingFor({ owner, silentS = 0 }: LockAnswer, leftS: number): string {
  const whose =
    owner === undefined ? 'another user' : `${owner.who} (${owner.command}, since ${owner.since})`;
  return `waiting for the lock of ${whose}, who was not heard of for ${silentS} s: ${leftS} s at most`;
}

/** Returns the error for work after the lock was lost: another owner may work on the host by now. */
export function lockLost(host: string, answer?: LockAnswer): FleetError {
  return new FleetError({
    code: 'ssh.lock-lost',
    host,
    step: 'lock',
    what: 'this run has lost its lock on the host, and stops there',
    expected: 'the lock held to the end',
    seen: whoCame(answer),
    next: 'run the same command again: it starts from what the host is now, and says who works there',
  });
}

function whoCame(answer: LockAnswer | undefined): string {
  if (answer === undefined)
    return `another run broke it, or the host heard nothing from here for ${lockExpiryS} s (a laptop asleep?)`;
  const { word, owner } = answer;
  if (owner === undefined)
    return word === 'held' ? 'another run has it, without a note' : 'no note of who had it last';
  return `${owner.who} ${word === 'held' ? 'has it now' : 'has had it since'} (${owner.command}, since ${owner.since})`;
}

export function locked(host: string, { owner }: LockAnswer): FleetError {
  const who = owner?.who ?? 'another user';
  return new FleetError({
    code: 'ssh.locked',
    host,
    step: 'lock',
    what: `${who} is working on this host`,
    expected: 'no other run on this host',
    seen: owner === undefined ? 'a lock without a note' : `${owner.command}, since ${owner.since}`,
    next: `wait for ${who} to finish; if that run is dead for certain, add --break-lock`,
  });
}

function lockFailed(host: string, seen: string): FleetError {
  return new FleetError({
    code: 'ssh.lock-failed',
    host,
    step: 'lock',
    what: 'the lock on the host could not be taken',
    seen: seen === '' ? 'no output' : seen,
    next: 'ls -ld /run/azp-fleet; df /var/lib; command -v flock   # on the host',
  });
}
