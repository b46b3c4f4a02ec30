import { FleetError } from '../../../shared/base/errors.ts';
import type { Clock } from '../../../shared/base/machine/clock.ts';
import { sh } from '../../../shared/base/shell.ts';
import { ChangeReport, changesFolder, type Joined } from './change-report.ts';
import type { RunParts } from './run-script.ts';
import type { DurableResult, ScriptOptions, ScriptResult } from '../transport.ts';

/** Seconds between two looks at a running change. */
const pollS = '0.3';
/** How many such looks without an answer are an answer, too: a minute of them. */
const unknownLooks = 200;
/** Milliseconds that a change may be followed beyond its own limit, for stopping and reconnecting. */
const slackMs = 120_000;
const anyTimeMs = 24 * 3_600_000;

/**
 * The shell functions of whatever is about a change. Control lines go to stderr, the change's output to stdout.
 *
 * `look` asks systemd, and sets `$state` (alive; ended: systemd still knows it; none; unknown: no answer, which is neither
 * of the others, as while systemd is executed anew) and `$inv`, the InvocationID, which the unit also wrote down itself.
 * `know` looks until there is an answer, for a minute. `follow OFFSET` goes on where `$i` is what was begun, and clears
 * the unit away in the end: under the change's lock, so that it is not the unit of a next start.
 */
const functions = `
look() {
  sub='' inv='' res=''
  while IFS='=' read -r key value; do
    case $key in
      SubState) sub=$value;; InvocationID) inv=$value;; Result) res=$value;;
    esac
  done <<SHOWN
$(systemctl show -p SubState -p InvocationID -p Result "$u" 2>/dev/null)
SHOWN
  case $sub in
    '') state=unknown;;
    dead) state=none;;
    exited|failed) state=ended;;
    *) state=alive;;
  esac
  [ -n "$inv" ] || [ ! -e "$d/began" ] || IFS= read -r inv <"$d/began" || :
}
know() {
  n=0; look
  while [ "$state" = unknown ] && [ "$n" -lt ${unknownLooks} ]; do n=$((n+1)); sleep ${pollS}; look; done
}
follow() {
  o=$1
  while :; do
    over=
    if [ ! -f "$d/code" ]; then
      know
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
    if flock -w 10 9 && look && [ "$inv" = "\${i:-$inv}" ]; then
      systemctl stop "$u"; systemctl reset-failed "$u"
    fi
  } 2>/dev/null 9>>"$d/lock"
  :
}
`;

/** What a script about one change begins with: its folder `$d`, its unit `$u`, and the functions. */
export function changePrelude(id: string): string {
  return `${sh`set -u
d=${`${changesFolder}/${id}`} u=${`azp-fleet-change-${id}.service`}
`}${functions}`;
}

/** Follows a change that runs; says `none` when it does not. One that was followed before is followed to its end. */
export function followChangeScript(id: string, joined: Joined | undefined): string {
  const prelude = changePrelude(id);
  if (joined === undefined)
    return `${prelude}${sh`
know
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
look
if [ -n "$i" ] && [ "$inv" != "$i" ]; then echo 'dead replaced' >&2; exit 0; fi
follow ${joined.offset}
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
  return followThrough(session, id, anyTimeMs, options, followChangeScript(id, undefined));
}

/**
 * Runs a script that follows a change. Once it has said that there is one, the change is followed over as many
 * connections as it takes, and never started again; the next one goes on at the byte where the last was cut.
 * Undefined: there is no such change.
 */
export async function followThrough(
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
      const lost = error instanceof FleetError && error.problem.code === 'ssh.connection-lost';
      if (!lost || session.clock.monotonic() > deadline) throw error;
      options.onLine?.('(connection lost; the change goes on on the host; reconnecting)');
      await session.reconnect(deadline, options.signal);
      report.cut();
    }
  }
}
