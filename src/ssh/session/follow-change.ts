import { FleetError } from '../../base/errors.ts';
import type { Clock } from '../../base/machine/clock.ts';
import { sh } from '../../base/shell.ts';
import { LastBytes } from './last-bytes.ts';
import type { RunParts } from './run-script.ts';
import type { DurableResult, ScriptOptions, ScriptResult } from '../transport.ts';

/** Where changes live on their host, a folder each. Mirrors HostPaths.changes. */
export const changesFolder = '/var/lib/azp-fleet/changes';
/** Seconds between two looks at a running change. */
const pollS = '0.3';
/** Milliseconds that a change may be followed beyond its own limit, for stopping and reconnecting. */
const slackMs = 120_000;
/** Bytes of output kept for the result. */
const tailLimit = 16_384;
const anyTimeMs = 24 * 3_600_000;

/** The shell functions of whatever follows a change. Control lines go to stderr, the change's output to stdout. */
const functions = `
alive() {
  case $(systemctl show -p SubState "$u" 2>/dev/null) in
    SubState=running|SubState=start*|SubState=stop*) return 0;;
    *) return 1;;
  esac
}
follow() {
  o=$1
  while :; do
    over=; if [ -f "$d/code" ]; then over=code; elif ! alive; then
      if [ -f "$d/code" ]; then over=code; else over=dead; fi
    fi
    s=$(wc -c 2>/dev/null <"$d/output" || echo 0)
    if [ "$s" -gt "$o" ]; then tail -c +$((o+1)) "$d/output" | head -c $((s-o)); o=$((s)); fi
    case $over in
      code) echo "end $(cat "$d/code")" >&2; break;;
      dead) echo "dead $(systemctl show -p Result "$u" 2>/dev/null)" >&2; break;;
    esac
    sleep ${pollS}
  done
  systemctl stop "$u" 2>/dev/null
  systemctl reset-failed "$u" 2>/dev/null
  :
}
`;

/** What a script about one change begins with: its folder `$d`, its unit `$u`, and the functions. */
export function changePrelude(id: string): string {
  return `${sh`set -u
d=${`${changesFolder}/${id}`} u=${`azp-fleet-change-${id}.service`}
`}${functions}`;
}

/** Follows a change that runs; says `none` when it does not. `joined`: we did follow it before a cut. */
export function followChangeScript(id: string, offset: number, joined: boolean): string {
  return `${changePrelude(id)}${sh`
joined=${String(joined)}
if [ "$joined" = false ]; then
  alive || { echo none >&2; exit 0; }
  echo "following $(cat "$d/owner" 2>/dev/null)" >&2
fi
follow ${offset}
`}`;
}

export type FollowOptions = Pick<ScriptOptions, 'onLine' | 'signal'>;

/** What following needs of its session: scripts, and a new connection after a cut. */
export interface DurableHost {
  readonly host: string;
  readonly clock: Clock;
  run(parts: Pick<RunParts, 'text' | 'options' | 'onErrorLine' | 'tap'>): Promise<ScriptResult>;
  /** Resolves when connected again; rejects when that is hopeless before the deadline (monotonic). */
  reconnect(deadline: number, signal: AbortSignal | undefined): Promise<void>;
}

export function followChange(
  session: DurableHost,
  id: string,
  options: FollowOptions,
): Promise<DurableResult | undefined> {
  return followThrough(session, id, anyTimeMs, options, (offset, joined) =>
    followChangeScript(id, offset, joined),
  );
}

/**
 * Runs a script that follows a change, over as many connections as it takes: the next one goes on at the byte where the
 * last was cut. Undefined: there is no such change.
 */
export async function followThrough(
  session: DurableHost,
  id: string,
  limitMs: number,
  options: FollowOptions,
  script: (offset: number, joined: boolean) => string,
): Promise<DurableResult | undefined> {
  const seen = new Seen();
  const deadline = session.clock.monotonic() + limitMs + slackMs;
  for (;;) {
    try {
      await session.run({
        text: script(seen.offset, seen.joined),
        options: { ...options, totalTimeoutMs: Math.max(1000, deadline - session.clock.monotonic()) },
        onErrorLine: (line) => seen.control(line),
        tap: (chunk) => seen.output(chunk),
      });
      break;
    } catch (error) {
      const lost = error instanceof FleetError && error.problem.code === 'ssh.connection-lost';
      if (!lost || session.clock.monotonic() > deadline) throw error;
      options.onLine?.('(connection lost; the change goes on on the host; reconnecting)');
      await session.reconnect(deadline, options.signal);
      seen.cut();
    }
  }
  if (seen.none) return undefined;
  if (seen.code !== undefined) {
    return {
      code: seen.code,
      tail: seen.tail,
      resumed: seen.startedBy !== undefined,
      ...(seen.startedBy === undefined ? {} : { startedBy: seen.startedBy }),
    };
  }
  if (seen.complaint === 'nosystemd') throw noSystemd(session.host);
  throw changeDied(session.host, id, seen.dead ?? seen.complaint);
}

/** What has come of a change so far, over all connections. */
class Seen {
  code: number | undefined;
  dead: string | undefined;
  none = false;
  joined = false;
  complaint = 'no output';
  startedBy: string | undefined;
  /** Bytes of output received up to the last whole line: a cut line comes again. */
  offset = 0;
  #open = 0;
  readonly #last = new LastBytes(tailLimit);

  get tail(): string {
    return this.#last.toString();
  }

  output(chunk: Buffer): void {
    const end = chunk.lastIndexOf(10);
    if (end === -1) this.#open += chunk.length;
    else {
      this.offset += this.#open + end + 1;
      this.#open = chunk.length - end - 1;
    }
    this.#last.push(chunk);
  }

  cut(): void {
    this.#last.drop(this.#open);
    this.#open = 0;
  }

  control(line: string): void {
    const [word, ...rest] = line.split(' ');
    const text = rest.join(' ');
    if (word === 'end') this.code = Number(text);
    else if (word === 'dead') this.dead = text;
    else if (word === 'none') this.none = true;
    else if (word === 'started') this.joined = true;
    else if (word === 'following') {
      this.joined = true;
      this.startedBy = text;
    } else if (word !== 'notstarted') this.complaint = line;
  }
}

export function changeDied(host: string, id: string, seen: string): FleetError {
  const late = seen.includes('timeout');
  return new FleetError({
    code: late ? 'ssh.change-timeout' : 'ssh.change-died',
    host,
    what: late
      ? `the change ${id} ran out of time and was stopped`
      : `the change ${id} ended without a result`,
    expected: 'an exit code',
    seen,
    next: `tail -n 50 ${changesFolder}/${id}/output   # on the host; then run the command again`,
  });
}

function noSystemd(host: string): FleetError {
  return new FleetError({
    code: 'ssh.no-systemd',
    host,
    what: 'the host has no systemd-run',
    expected: 'systemd, which keeps long changes alive when the connection is not',
    next: 'leave this host out: azp-fleet works on systems that systemd runs',
  });
}
