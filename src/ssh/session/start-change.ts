import { randomBytes } from 'node:crypto';

import { timestamp } from '../../base/machine/clock.ts';
import { sh } from '../../base/shell.ts';
import {
  changeDied,
  changePrelude,
  changesFolder,
  type DurableHost,
  type FollowOptions,
  followThrough,
} from './follow-change.ts';
import type { DurableResult, DurableSpec } from '../transport.ts';

/** How long the traces of finished changes stay. */
const keepDays = 30;

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

/**
 * Starts a change as a transient unit, or joins the one that is running, and follows it to its end.
 * Nothing of the change is in the unit's arguments: the script is a 0600 file.
 */
export function startChangeScript(change: StartChange, offset: number): string {
  const limit = Math.ceil(change.limitS);
  const folder = `${changesFolder}/${change.id}`;
  const runner = sh`PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C LANG=C
export PATH LC_ALL LANG
/bin/sh -eu ${`${folder}/script`} >${`${folder}/output`} 2>&1 </dev/null
c=$?
echo "$c" >${`${folder}/code.new`}
mv ${`${folder}/code.new`} ${`${folder}/code`}
exit "$c"
`;
  return `${changePrelude(change.id)}${sh`
if [ "$(cat "$d/run" 2>/dev/null)" = ${change.run} ]; then follow ${offset}; exit 0; fi
if alive; then echo "following $(cat "$d/owner" 2>/dev/null)" >&2; follow 0; exit 0; fi
command -v systemd-run >/dev/null || { echo "nosystemd" >&2; exit 1; }
umask 077
mkdir -p "$d" || exit 1
find ${changesFolder} -mindepth 1 -maxdepth 1 -mtime ${`+${keepDays}`} -exec rm -rf {} +
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

export async function startChange(
  session: DurableHost,
  spec: DurableSpec,
  options: FollowOptions,
): Promise<DurableResult> {
  const change = {
    id: spec.id,
    title: spec.title,
    owner: spec.owner,
    script: spec.script,
    limitS: spec.totalTimeoutMs / 1000,
    run: randomBytes(8).toString('hex'),
    since: timestamp(session.clock),
  };
  const result = await followThrough(session, spec.id, spec.totalTimeoutMs, options, (offset) =>
    startChangeScript(change, offset),
  );
  if (result === undefined) throw changeDied(session.host, spec.id, 'it was never started');
  return result;
}
