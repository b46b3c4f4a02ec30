import { randomBytes } from 'node:crypto';

import { FleetError } from '../../../shared/base/errors.ts';
import { foreignLine } from '../../../shared/base/foreign-text.ts';
import { timestamp, type Clock } from '../../../shared/base/clock.ts';
import { Raw, sh } from '../../../shared/base/shell.ts';
import { isConnectionLost } from '../failures.ts';
import type { DurableResult, DurableSpec, ScriptOptions, ScriptResult } from '../transport.ts';
import type { RunParts } from './run-script.ts';

/** Days that the folder of a finished change is kept. */
const keepDays = 30;

export interface StartChange {
  readonly id: string;
  readonly title: string;
  readonly owner: string;
  readonly script: string;
  readonly limitS: number;
  /** Random, hexadecimal; distinguishes this start from earlier ones of the same change. */
  readonly run: string;
  /** ISO 8601 */
  readonly since: string;
}

/**
 * Returns a script that starts a change as a transient unit, or joins the running one, and follows it to its end. The
 * unit's arguments contain nothing of the change: the script is a 0600 file.
 *
 * The connection may be lost at any point, and the next one runs this again, maybe while the first still runs; the
 * change must not start twice. So one script at a time decides, under the change's lock, and first writes a mark to
 * disk: this start (`run`), in this boot. A mark without a unit has two possible meanings. If the unit wrote `began`
 * before the change ran, or has a result, it was started. If systemd reports no unit, in the same boot, it was not
 * started. Without an answer of systemd, the state is unknown.
 */
export function startChangeScript(change: StartChange): string {
  const limit = Math.ceil(change.limitS);
  const folder = `${changesFolder}/${change.id}`;
  const runner = sh`PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C LANG=C
export PATH LC_ALL LANG
echo "$INVOCATION_ID" >${`${folder}/began`} || exit 1
/bin/sh -eu ${`${folder}/script`} >${`${folder}/output`} 2>&1 </dev/null
c=$?
echo "$c" >${`${folder}/code.new`} && mv ${`${folder}/code.new`} ${`${folder}/code`}
exit "$c"
`;
  return `${changePrelude(change.id)}${sh`
go() { exec 9>&-; i=$inv; echo "$1 $i$2" >&2; follow 0; exit 0; }
refuse() { echo "notstarted $1" >&2; exit 1; }
doubt() { echo "unknown $1" >&2; exit 1; }
prepare() {
  rm -f "$d/run" "$d/code" "$d/began" &&
    : >"$d/output" &&
    printf '%s' ${change.script} >"$d/script" &&
    printf '%s' ${runner} >"$d/runner" &&
    printf '%s\n' ${change.title} >"$d/title" &&
    printf '%s\n' ${change.owner} >"$d/owner" &&
    printf '%s\n' ${change.since} >"$d/since"
}
command -v systemd-run >/dev/null || { echo nosystemd >&2; exit 1; }
umask 077
mkdir -p "$d" || refuse ''
exec 9>>"$d/lock"
flock -w 60 9 || doubt 'an earlier start of it still runs'
mark="${new Raw(change.run)} $(cat /proc/sys/kernel/random/boot_id 2>/dev/null)"
was=$(cat "$d/run" 2>/dev/null)
await_state
case $was in
  ${new Raw(change.run)}\ *)
    if [ -f "$d/code" ] || [ -e "$d/began" ]; then go started ''; fi
    [ "$state" != unknown ] || doubt ''
    if [ "$state" != none ] || [ "$was" != "$mark" ]; then go started ''; fi;;
  *)
    [ "$state" != alive ] || go following " $(cat "$d/owner" 2>/dev/null)"
    [ "$state" != unknown ] || doubt '';;
esac
find ${changesFolder} -mindepth 1 -maxdepth 1 ! -path "$d" -mtime ${`+${keepDays}`} -exec rm -rf {} +
prepare || refuse ''
systemctl reset-failed "$u" 2>/dev/null
systemctl stop "$u" 2>/dev/null
await_state
[ "$state" = none ] || refuse "its unit of an earlier run stays ($sub)"
echo "$mark" >"$d/run" || refuse ''
sync "$d/run" "$d"
systemd-run --quiet --unit="$u" --description=${`azp-fleet: ${change.title}`} -p RemainAfterExit=yes -p ${`RuntimeMaxSec=${limit}`} -p TimeoutStopSec=30 /bin/sh "$d/runner" >&2 9>&-
c=$?
await_state
if [ "$c" != 0 ] && [ ! -e "$d/began" ]; then
  [ "$state" != none ] || refuse ''
  [ "$state" != unknown ] || doubt ''
fi
go started ''
`}`;
}

export async function startChange(
  session: DurableHost,
  spec: DurableSpec,
  options: FollowOptions,
): Promise<DurableResult> {
  const { id, title, owner, script, totalTimeoutMs } = spec;
  const run = randomBytes(8).toString('hex');
  const since = timestamp(session.clock);
  const start = startChangeScript({ id, title, owner, script, limitS: totalTimeoutMs / 1000, run, since });
  const result = await followThrough(session, id, totalTimeoutMs, options, start);
  if (result === undefined) throw new Error(`the start of ${id} was answered with "none"`);
  return result;
}

/** Seconds between two checks of a running change. */
const pollS = '0.3';
/** Checks without an answer until the state counts as unknown: one minute. */
const mostUnknown = 200;
/** Seconds until a check of systemd is ended, and the number of checks that last as long. */
const hung = { limitS: 10, checks: 33 };
/** Milliseconds that a change may be followed beyond its own limit, for stopping and reconnecting. */
const slackMs = 120_000;
const anyTimeMs = 24 * 3_600_000;

/**
 * Shell functions of the scripts about a change. Control lines go to stderr, the change's output to stdout.
 *
 * `query_unit` sets `$state` (alive; ended: systemd still has the unit; none; unknown: no answer, e.g. while systemd
 * re-executes, or where it hangs) and `$inv`, the InvocationID, which the unit has also written to `began`. `await_state`
 * repeats `query_unit` until there is an answer, for a minute. `follow OFFSET` follows the unit with InvocationID `$i`, and
 * removes it at the end, under the change's lock, so that it does not remove the unit of a later start.
 */
const functions = `
n=0
query_unit() {
  sub='' inv='' res=''
  shown=$(timeout -k 1 ${hung.limitS} systemctl show -p SubState -p InvocationID -p Result "$u" 2>/dev/null)
  case $? in 124|137) n=$((n+${hung.checks}));; esac
  while IFS='=' read -r key value; do
    case $key in
      SubState) sub=$value;; InvocationID) inv=$value;; Result) res=$value;;
    esac
  done <<SHOWN
$shown
SHOWN
  case $sub in
    '') state=unknown;;
    dead) state=none;;
    exited|failed) state=ended;;
    *) state=alive;;
  esac
  [ -n "$inv" ] || [ ! -e "$d/began" ] || IFS= read -r inv <"$d/began" || :
}
await_state() {
  n=0; query_unit
  while [ "$state" = unknown ] && [ "$n" -lt ${mostUnknown} ]; do n=$((n+1)); sleep ${pollS}; query_unit; done
}
follow() {
  o=$1
  while :; do
    over=
    if [ ! -f "$d/code" ]; then
      await_state
      case $state in
        alive) ;;
        unknown) over=unknown;;
        ended) over="dead Result=$res";;
        none) over='dead gone';;
      esac
    fi
    [ ! -f "$d/code" ] || over="end $(cat "$d/code")"
    s=$(wc -c 2>/dev/null <"$d/output" || echo 0)
    if [ "$s" -gt "$o" ]; then tail -c +$((o+1)) "$d/output" | head -c $((s-o)); o=$((s)); fi
    [ -z "$over" ] || break
    sleep ${pollS}
  done
  echo "$over" >&2
  [ "$over" != unknown ] || return 0
  {
    if flock -w 10 9 && query_unit && [ "$inv" = "\${i:-$inv}" ]; then
      systemctl stop "$u"; systemctl reset-failed "$u"
    fi
  } 2>/dev/null 9>>"$d/lock"
  :
}
`;

/** Returns the first part of a script about one change: its folder `$d`, its unit `$u`, and the functions. */
function changePrelude(id: string): string {
  return `${sh`set -u
d=${`${changesFolder}/${id}`} u=${`azp-fleet-change-${id}.service`}
`}${functions}`;
}

/**
 * Returns a script that follows a running change, or prints `none`. `joined`: continues to follow this one to its end.
 */
export function followChangeScript(id: string, joined: Joined | undefined): string {
  const prelude = changePrelude(id);
  if (joined === undefined)
    return `${prelude}${sh`
await_state
case $state in
  alive) ;;
  unknown) echo unknown >&2; exit 0;;
  *) echo none >&2; exit 0;;
esac
i=$inv
echo "following $i $(cat "$d/owner" 2>/dev/null)" >&2
follow 0
`}`;
  return `${prelude}${sh`
i=${joined.invocation}
query_unit
if [ -n "$i" ] && [ "$inv" != "$i" ]; then echo 'dead replaced' >&2; exit 0; fi
follow ${joined.offset}
`}`;
}

type FollowOptions = Pick<ScriptOptions, 'onLine' | 'signal'>;

/** The parts of a session needed to follow a change: scripts, and reconnecting. */
interface DurableHost {
  readonly host: string;
  readonly clock: Clock;
  run(parts: Pick<RunParts, 'text' | 'options' | 'onErrorLine' | 'tap'>): Promise<ScriptResult>;
  /** Resolves when connected again; rejects after the deadline (monotonic), or if a retry cannot help. */
  reconnect(deadline: number, signal: AbortSignal | undefined): Promise<void>;
}

export function followChange(
  session: DurableHost,
  id: string,
  options: FollowOptions,
): Promise<DurableResult | undefined> {
  return followThrough(session, id, anyTimeMs, options, followChangeScript(id, undefined));
}

/**
 * Runs a script that follows a change. After it has found the change, follows it over as many connections as necessary,
 * and never starts it again; each connection continues at the byte where the last one was lost. Returns undefined if
 * there is no such change.
 */
async function followThrough(
  session: DurableHost,
  id: string,
  limitMs: number,
  options: FollowOptions,
  first: string,
): Promise<DurableResult | undefined> {
  const report = new ChangeReport();
  const deadline = session.clock.monotonic() + limitMs + slackMs;
  for (;;) {
    const { joined } = report;
    try {
      await session.run({
        text: joined === undefined ? first : followChangeScript(id, joined),
        options: { ...options, totalTimeoutMs: Math.max(1000, deadline - session.clock.monotonic()) },
        onErrorLine: (line) => report.control(line),
        tap: (chunk) => report.output(chunk),
      });
      return report.result(session.host, id);
    } catch (error) {
      if (!isConnectionLost(error) || session.clock.monotonic() > deadline) throw error;
      options.onLine?.('(connection lost; the change continues on the host; reconnecting)');
      await session.reconnect(deadline, options.signal);
      report.cut();
    }
  }
}

/** Folder of all changes on a host, with a folder for each. Mirrors HostPaths.changes. */
export const changesFolder = '/var/lib/azp-fleet/changes';
/** Bytes of output kept for the result. */
const tailLimit = 16_384;

/** The state of a followed change when the connection was lost. */
interface Joined {
  /** Received bytes of its output, up to the last complete line: a cut line is sent again. */
  readonly offset: number;
  /** The InvocationID of its unit; empty if it was not received. */
  readonly invocation: string;
}

/** Collects the output of the scripts about a change, over all connections, and interprets it. */
export class ChangeReport {
  /** Undefined until the change is known to exist. */
  #invocation: string | undefined;
  #startedBy: string | undefined;
  /** The word with which the script ended. */
  #ending: { readonly word: string; readonly text: string } | undefined;
  #message = '';
  #offset = 0;
  #open = 0;
  readonly #last = new LastBytes(tailLimit);

  get joined(): Joined | undefined {
    if (this.#invocation === undefined) return undefined;
    return { offset: this.#offset, invocation: this.#invocation };
  }

  output(chunk: Buffer): void {
    if (chunk.length === 0) return;
    // If the control line before it was lost: a change with output has been started.
    this.#invocation ??= '';
    const end = chunk.lastIndexOf(10);
    if (end === -1) this.#open += chunk.length;
    else {
      this.#offset += this.#open + end + 1;
      this.#open = chunk.length - end - 1;
    }
    this.#last.push(chunk);
  }

  /** The connection was lost: the last incomplete line will be sent again. */
  cut(): void {
    this.#last.drop(this.#open);
    this.#open = 0;
    this.#ending = undefined;
  }

  /** Reads a line of stderr. */
  control(line: string): void {
    const [word = '', ...rest] = line.split(' ');
    const text = rest.join(' ');
    if (word === 'started') this.#invocation = text;
    else if (word === 'following') {
      this.#invocation = rest[0] ?? '';
      this.#startedBy = foreignLine(rest.slice(1).join(' '), 200);
    } else if (endings.has(word)) this.#ending = { word, text };
    else this.#message = line;
  }

  /** Returns undefined if there is no such change. Throws if it has no exit code. */
  result(host: string, id: string): DurableResult | undefined {
    const { word, text } = this.#ending ?? { word: 'unknown', text: '' };
    const seen = text === '' ? this.#message : text;
    switch (word) {
      case 'none':
        return undefined;
      case 'end':
        if (!/^\d{1,3}$/.test(text)) throw noResult(host, id, `"${text}"`);
        return {
          code: Number(text),
          tail: this.#last.toString(),
          resumed: this.#startedBy !== undefined,
          ...(this.#startedBy === undefined ? {} : { startedBy: this.#startedBy }),
        };
      case 'dead':
        throw text === 'Result=timeout' ? timedOut(host, id) : noResult(host, id, deadReasons[text] ?? text);
      case 'nosystemd':
        throw noSystemd(host);
      case 'notstarted':
        throw notStarted(host, id, seen);
      default:
        throw unknown(host, id, seen);
    }
  }
}

/** `end CODE`, `dead WHY`, `none`, `unknown WHY`, `notstarted WHY`, `nosystemd`. */
const endings = new Set(['end', 'dead', 'none', 'unknown', 'notstarted', 'nosystemd']);

const deadReasons: Readonly<Record<string, string>> = {
  gone: 'its unit is missing: the host was restarted, or a user stopped it',
  replaced: 'replaced by a later start of the same change',
};

const showOutput = (id: string): string => `tail -n 50 ${changesFolder}/${id}/output   # on the host`;

function noResult(host: string, id: string, seen: string): FleetError {
  return new FleetError({
    code: 'ssh.change-died',
    host,
    what: `the change ${id} ended without a result`,
    expected: 'an exit code',
    seen,
    next: `${showOutput(id)}; then run the command again`,
  });
}

function timedOut(host: string, id: string): FleetError {
  return new FleetError({
    code: 'ssh.change-timeout',
    host,
    what: `the change ${id} ran out of time and was stopped`,
    expected: 'an exit code',
    seen: 'Result=timeout',
    next: `${showOutput(id)}; then run the command again`,
  });
}

function notStarted(host: string, id: string, seen: string): FleetError {
  return new FleetError({
    code: 'ssh.change-not-started',
    host,
    what: `the change ${id} could not be started: nothing of it has run`,
    expected: 'a systemd unit',
    seen: seen === '' ? 'no reason given' : seen,
    next: `df /var/lib; systemctl is-system-running   # on the host; then run the command again`,
  });
}

function unknown(host: string, id: string, seen: string): FleetError {
  return new FleetError({
    code: 'ssh.change-unknown',
    host,
    what: `the state of the change ${id} is unknown`,
    expected: 'an answer from systemd',
    seen: seen === '' ? 'none' : seen,
    next: `systemctl status azp-fleet-change-${id}   # on the host; when it answers, run the command again: it follows a running change`,
  });
}

function noSystemd(host: string): FleetError {
  return new FleetError({
    code: 'ssh.no-systemd',
    host,
    what: 'the host has no systemd-run',
    expected: 'systemd, which continues long changes without a connection',
    next: 'remove this host from the inventory: azp-fleet needs systemd',
  });
}

/**
 * The last bytes of a stream, in a ring buffer: copies each byte once, however small the chunks are, and keeps no
 * chunk.
 */
export class LastBytes {
  readonly #ring: Buffer;
  /** Position of the next byte. */
  #at = 0;
  #held = 0;
  #whole = true;

  constructor(limit: number) {
    this.#ring = Buffer.alloc(limit);
  }

  push(chunk: Buffer): void {
    const limit = this.#ring.length;
    const last = chunk.length > limit ? chunk.subarray(chunk.length - limit) : chunk;
    const first = Math.min(last.length, limit - this.#at);
    last.copy(this.#ring, this.#at, 0, first);
    last.copy(this.#ring, 0, first);
    this.#at = (this.#at + last.length) % limit;
    this.#whole &&= this.#held + chunk.length <= limit;
    this.#held = Math.min(limit, this.#held + chunk.length);
  }

  /** Removes the last bytes. */
  drop(bytes: number): void {
    const limit = this.#ring.length;
    const gone = Math.min(bytes, this.#held);
    this.#at = (this.#at - gone + limit) % limit;
    this.#held -= gone;
  }

  /** Returns the bytes as UTF-8. If the beginning is missing, starts with a whole character. */
  toString(): string {
    const limit = this.#ring.length;
    const from = (this.#at - this.#held + limit) % limit;
    const bytes = Buffer.concat([this.#ring.subarray(from), this.#ring.subarray(0, from)], this.#held);
    let start = 0;
    while (!this.#whole && start < Math.min(3, bytes.length) && isContinuation(bytes[start])) start += 1;
    return bytes.toString('utf8', start);
  }
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && byte >> 6 === 0b10;
}
