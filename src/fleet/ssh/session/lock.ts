import * as z from 'zod';

import { FleetError } from '../../../shared/base/errors.ts';
import { foreignJson, foreignLine } from '../../../shared/base/foreign-text.ts';
import type { Clock } from '../../../shared/base/clock.ts';
import { sh } from '../../../shared/base/shell.ts';
import { connectionLost, interrupted } from '../failures.ts';
import { type AuditEntry } from '../../audit/entry.ts';
import { auditFunctions, checkOutcome, outcomeForm } from '../../audit/host-script.ts';
import type { HostLock, LockOptions, LockOwner } from '../transport.ts';
import type { Wire } from '../wire/wire.ts';
import { Output } from './run-script.ts';
import { Limit, type Running, startScript } from './start.ts';
import type { Sudo } from './sudo.ts';

/** Maximum bytes that the host prints while the lock is held: a word, and the owner. */
const longestAnswer = 65_536;
/** Maximum milliseconds for the answer: the host itself waits ten seconds for a killed owner. */
const answerMs = 25_000;
/** Milliseconds between two attempts to take the lock of a silent owner. */
const retryMs = 2000;
/** Milliseconds after which the remaining time is reported again. */
const reportMs = 10_000;
/** Maximum milliseconds for a release; after that the process is killed. */
const releaseMs = 5000;

/** `first`; `again`: this run held it before, and no other owner since; `break`: take it from its owner. */
type LockWay = 'first' | 'again' | 'break';

/**
 * Returns a script that holds the host's lock while it receives lines on standard input. It replaces this run's holder
 * of a lost connection. The last owner is on disk, so that a run that lost the lock can detect another owner, even
 * after a reboot. Prints `locked`, after `broke NOTE`; or `held SECONDS NOTE`, with the seconds since the last
 * heartbeat; or `passed NOTE`.
 */
export function lockScript(owner: LockOwner, id: string, way: LockWay, audit?: AuditEntry): string {
  const { functions, begin, wait, end } = auditParts(way, audit);
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
${functions}printf '%s\\n' "$note" >"$d/lock.owner"
echo "$$" >"$d/lock.pid"
beat() { if now; then echo "$up" >"$d/lock.heard"; fi; }
beat
${begin}echo locked
# shellcheck disable=SC2016
while timeout ${lockExpiryS} /bin/sh -c ${wait} 9>&-; do beat; done
${end}rm -f "$d/lock.owner" "$d/lock.pid" "$d/lock.heard"
`;
}

/** Returns the parts of the lock's script that write the audit file; with no entry it is not written. */
function auditParts(way: LockWay, entry: AuditEntry | undefined) {
  if (entry === undefined) return { functions: '', begin: '', wait: `'IFS= read -r x'`, end: '' };
  return {
    functions: `${auditFunctions(entry)}\nrm -f "$d/lock.said"\n`,
    begin: `record ${way === 'again' ? 'resume' : 'begin'} 9>&-\n`,
    // A line with a word is the outcome, others are heartbeats.
    wait: `'IFS= read -r x || exit; [ -z "$x" ] || printf "%s\\n" "$x" >"$1"' sh "$d/lock.said"`,
    end: `said=
if [ -f "$d/lock.said" ]; then read -r said <"$d/lock.said"; rm -f "$d/lock.said"; fi
${checkOutcome.text}
if [ -n "$said" ]; then record end "$said" 9>&-; else record cut 9>&-; fi
`,
  };
}

interface LockParts {
  readonly wire: Wire;
  readonly sudo: Sudo;
  readonly host: string;
  readonly clock: Clock;
}

export interface LockRequest extends Pick<LockOptions, 'signal' | 'onWait' | 'audit'> {
  readonly owner: LockOwner;
  /** Identifies the run: it may replace its own lock after a lost connection. */
  readonly id: string;
  readonly way: LockWay;
}

/**
 * Takes the lock. Rejects at once if its owner is active; waits for the lock of a silent owner, which expires. The
 * signal ends the wait.
 */
export async function takeLock(parts: LockParts, request: LockRequest): Promise<HostLock> {
  const { host, clock } = parts;
  const { way, signal, onWait } = request;
  let [deadline, reported] = [Infinity, Infinity];
  for (;;) {
    const { answer, held } = await tryLock(parts, request);
    if (held !== undefined) return held;
    if (way === 'again') throw lockLost(host, answer);
    const freeS = freeInS(answer);
    const leftMs = Math.min(deadline - clock.monotonic(), 1000 * (freeS ?? 0));
    if (leftMs <= 0) throw locked(host, answer);
    deadline = clock.monotonic() + leftMs;
    if (reported - leftMs >= reportMs) {
      onWait?.(waitingFor(answer, Math.ceil(leftMs / 1000)));
      reported = leftMs;
    }
    await clock.wait(Math.min(retryMs, leftMs), signal);
    if (signal?.aborted === true) throw interrupted(host);
  }
}

/** Tries once. Rejects without an answer about the lock. */
async function tryLock(
  { wire, sudo, host }: LockParts,
  { owner, id, way, signal, audit }: LockRequest,
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
  const read = (line: string): void => {
    answer = readLockLine(answer, line);
    if (answer.word === 'locked') settle();
  };
  const out = new Output({ limit: longestAnswer, onLine: read, onOverflow });
  const err = new Output({ limit: longestAnswer, onLine: () => undefined, onOverflow });
  const limit = new Limit(answerMs, () => stop(lockFailed(host, `no answer within ${answerMs / 1000} s`)));
  const abort = (): void => stop(interrupted(host));
  signal?.addEventListener('abort', abort, { once: true });
  try {
    running = await startScript(wire, sudo, {
      host,
      script: lockScript(owner, id, way, audit),
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
  if (wire.closed.aborted) throw connectionLost(host, 'the start of its lock');
  const output = `${out.end()}${err.end()}`.trim().slice(-300);
  if (answer.word === 'none') throw lockFailed(host, output);
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
    async release(outcome) {
      state = 'released';
      clearInterval(beat);
      if (outcome !== undefined && outcomeForm.test(outcome)) running.stdin.write(`${outcome}\n`);
      running.stdin.end();
      await new Promise<void>((resolve) => {
        const limit = new Limit(releaseMs, resolve);
        limit.start();
        void running.ended.then(() => (limit.stop(), resolve()));
      });
      running.kill();
    },
  };
}

/** Seconds without a heartbeat after which a lock expires: the host does not notice a lost connection. */
const lockExpiryS = 60;
/** Milliseconds between two heartbeats. */
const heartbeatMs = 15_000;
/** Seconds after which an owner counts as silent: two missing heartbeats. */
const silenceS = (2 * heartbeatMs) / 1000;
/** Seconds that the host may need, after the expiry, to release the lock. */
const graceS = 5;

/** The output of the lock script. */
export interface LockAnswer {
  /** `held`: another owner has it now. `passed`: another owner had it since. */
  readonly word: 'locked' | 'held' | 'passed' | 'none';
  /** The current or previous owner; undefined if the note cannot be parsed. */
  readonly owner?: LockOwner;
  /** The owner whose lock was broken, possibly this run before a lost connection. */
  readonly broke?: LockOwner;
  /** Seconds since the last heartbeat of the owner. */
  readonly silentS?: number;
}

const cleanWord = z.string().transform((said) => foreignLine(said, 200));
/** A note of `lockScript`, or of another program. */
const noteShape = z.object({
  who: cleanWord,
  command: cleanWord,
  since: cleanWord,
}) satisfies z.ZodType<LockOwner>;

/** Adds a line of the lock script to the answer; ignores other lines. */
export function readLockLine(answer: LockAnswer, line: string): LockAnswer {
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
 * Returns the seconds until a held lock expires, if its owner is silent. Undefined if its owner is active, or the
 * host's clocks do not show it.
 */
export function freeInS({ word, silentS }: LockAnswer): number | undefined {
  if (word !== 'held' || silentS === undefined) return undefined;
  const left = lockExpiryS + graceS - silentS;
  return silentS >= silenceS && left > 0 ? left : undefined;
}

/** Returns the message while waiting for a silent owner's lock. */
export function waitingFor({ owner, silentS = 0 }: LockAnswer, leftS: number): string {
  const whose =
    owner === undefined ? 'another user' : `${owner.who} (${owner.command}, since ${owner.since})`;
  return `waiting for the lock of ${whose}, silent for ${silentS} s: at most ${leftS} s`;
}

/** Returns the error for work after the lock was lost: another owner may work on the host. */
export function lockLost(host: string, answer?: LockAnswer): FleetError {
  return new FleetError({
    code: 'ssh.lock-lost',
    host,
    step: 'lock',
    what: 'this run lost its lock on the host and stopped',
    expected: 'the lock held to the end',
    seen: lossReason(answer),
    next: 'run the same command again: it continues from the current state of the host',
  });
}

function lossReason(answer: LockAnswer | undefined): string {
  if (answer === undefined)
    return `another run broke it, or this machine was offline for ${lockExpiryS} s (a laptop asleep?)`;
  const { word, owner } = answer;
  if (owner === undefined) return word === 'held' ? 'another run holds it' : 'its last owner is unknown';
  return `${owner.who} ${word === 'held' ? 'holds it now' : 'held it since'} (${owner.command}, since ${owner.since})`;
}

export function locked(host: string, { owner }: LockAnswer): FleetError {
  const who = owner?.who ?? 'another user';
  return new FleetError({
    code: 'ssh.locked',
    host,
    step: 'lock',
    what: `${who} is working on this host`,
    expected: 'no other run on this host',
    seen: owner === undefined ? 'a lock without an owner' : `${owner.command}, since ${owner.since}`,
    next: `wait for ${who} to finish; if that run has ended, add --break-lock`,
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
