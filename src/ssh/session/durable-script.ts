import { sh } from '../../base/shell.ts';

/** Where a change lives on its host. Mirrors HostPaths.changes. */
const changes = '/var/lib/azp-fleet/changes';
/** Seconds between two looks at a running change. */
const pollS = '0.3';

/** How long the traces of finished changes stay. */
const keepDays = 30;

function changeUnit(id: string): string {
  return `azp-fleet-change-${id}.service`;
}

export interface StartChange {
  readonly id: string;
  readonly title: string;
  readonly owner: string;
  readonly script: string;
  readonly limitS: number;
  /** Random; tells this start from earlier ones of the same change. */
  readonly run: string;
  /** ISO 8601 */
  readonly since: string;
}

/** The shell functions both scripts share. Control lines go to stderr, the change's output to stdout. */
const common = `
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

function place(id: string): string {
  return sh`set -u
d=${`${changes}/${id}`} u=${changeUnit(id)}
`;
}

/**
 * Starts a change as a transient unit, or joins the one that is running, and follows it to its end.
 * Nothing of the change is in the unit's arguments: the script is a 0600 file.
 */
export function startChangeScript(change: StartChange, offset: number): string {
  const limit = Math.ceil(change.limitS);
  const runner = sh`PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C LANG=C
export PATH LC_ALL LANG
/bin/sh -eu ${`${changes}/${change.id}/script`} >${`${changes}/${change.id}/output`} 2>&1 </dev/null
c=$?
echo "$c" >${`${changes}/${change.id}/code.new`}
mv ${`${changes}/${change.id}/code.new`} ${`${changes}/${change.id}/code`}
exit "$c"
`;
  return `${place(change.id)}${common}${sh`
if [ "$(cat "$d/run" 2>/dev/null)" = ${change.run} ]; then follow ${offset}; exit 0; fi
if alive; then echo "following $(cat "$d/owner" 2>/dev/null)" >&2; follow 0; exit 0; fi
command -v systemd-run >/dev/null || { echo "nosystemd" >&2; exit 1; }
umask 077
mkdir -p "$d" || exit 1
find ${changes} -mindepth 1 -maxdepth 1 -mtime ${`+${keepDays}`} -exec rm -rf {} +
rm -f "$d/code"
: >"$d/output"
printf '%s' ${change.script} >"$d/script" || exit 1
printf '%s' ${runner} >"$d/runner"
printf '%s\n' ${change.title} >"$d/title"
printf '%s\n' ${change.owner} >"$d/owner"
printf '%s\n' ${change.since} >"$d/since"
systemctl reset-failed "$u" 2>/dev/null
systemctl stop "$u" 2>/dev/null
systemd-run --quiet --unit="$u" --description=${`azp-fleet: ${change.title}`} -p RemainAfterExit=yes -p ${`RuntimeMaxSec=${limit}`} -p TimeoutStopSec=30 /bin/sh "$d/runner" >&2 || { echo "notstarted" >&2; exit 1; }
printf '%s\n' ${change.run} >"$d/run"
echo started >&2
follow 0
`}`;
}

/** Follows a change that runs; says `none` when it does not. `joined`: we did follow it before a cut. */
export function followChangeScript(id: string, offset: number, joined: boolean): string {
  return `${place(id)}${common}${sh`
joined=${String(joined)}
if [ "$joined" = false ]; then
  alive || { echo none >&2; exit 0; }
  echo "following $(cat "$d/owner" 2>/dev/null)" >&2
fi
follow ${offset}
`}`;
}
