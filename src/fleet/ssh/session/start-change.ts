import { randomBytes } from 'node:crypto';

import { timestamp } from '../../../shared/base/machine/clock.ts';
import { Raw, sh } from '../../../shared/base/shell.ts';
import { changesFolder } from './change-report.ts';
import { changePrelude, type DurableHost, type FollowOptions, followThrough } from './follow-change.ts';
import type { DurableResult, DurableSpec } from '../transport.ts';

/** How long the traces of finished changes stay. */
const keepDays = 30;

export interface StartChange {
  readonly id: string;
  readonly title: string;
  readonly owner: string;
  readonly script: string;
  readonly limitS: number;
  /** Random, hexadecimal; tells this start from earlier ones of the same change. */
  readonly run: string;
  /** ISO 8601 */
  readonly since: string;
}

/**
 * Starts a change as a transient unit, or joins the one that is running, and follows it to its end. Nothing of the change
 * is in the unit's arguments: the script is a 0600 file.
 *
 * A connection may be cut anywhere in here, and the next one runs this again, maybe while the first still does; it must
 * not begin the change twice. So one at a time decides, under the change's lock, and first there is a mark, on the disk:
 * this start (`run`), in this boot. A mark without a unit means one of two. Either the unit wrote `began` before it ran
 * any of the change, or had a result: then it was started. Or systemd says that there is none, in the same boot: then it
 * was not. What systemd does not say is neither.
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
flock -w 60 9 || doubt 'an earlier start of it goes on'
mark="${new Raw(change.run)} $(cat /proc/sys/kernel/random/boot_id 2>/dev/null)"
was=$(cat "$d/run" 2>/dev/null)
know
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
know
[ "$state" = none ] || refuse "its unit of an earlier run stays ($sub)"
echo "$mark" >"$d/run" || refuse ''
sync "$d/run" "$d"
systemd-run --quiet --unit="$u" --description=${`azp-fleet: ${change.title}`} -p RemainAfterExit=yes -p ${`RuntimeMaxSec=${limit}`} -p TimeoutStopSec=30 /bin/sh "$d/runner" >&2 9>&-
c=$?
know
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
