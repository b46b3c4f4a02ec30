import { z } from 'zod';

import { FleetError } from '../../base/errors.ts';
import { foreignJson, foreignLine } from '../../base/foreign-text.ts';
import { sh } from '../../base/shell.ts';
import { startScript, type StartRequest } from './start.ts';
import type { Sudo } from './sudo.ts';
import type { HostLock, LockOwner } from '../transport.ts';
import type { Wire } from '../wire/wire.ts';

/** Seconds without a sign of life after which a lock is given up: a cut connection is not seen by the host. */
const lockExpiryS = 60;
const heartbeatMs = 15_000;
/** Characters of what the host says meanwhile: a word, and the note of who holds the lock. */
const longestAnswer = 16_384;

/**
 * Holds the host's lock as long as lines come on standard input. `takeOver`: the id of a holder that may be
 * replaced (our own before a cut), or `any` to break somebody's lock.
 */
export function lockScript(owner: LockOwner, id: string, takeOver: string): string {
  const note = JSON.stringify({ ...owner, id });
  return sh`set -u
d=/run/azp-fleet mine=${takeOver}
mkdir -p "$d" || exit 1
exec 9>>"$d/lock"
if ! flock -n 9; then
  held=$(cat "$d/lock.owner" 2>/dev/null)
  case $held in
    *"\"id\":\"$mine\""*) ;;
    *) [ "$mine" = any ] || { echo "held $held"; exit 75; };;
  esac
  kill -9 "$(cat "$d/lock.pid" 2>/dev/null)" 2>/dev/null
  flock -w 10 9 || { echo "held $held"; exit 75; }
  echo "broke $held"
fi
umask 022
printf '%s\n' ${note} >"$d/lock.owner"
echo "$$" >"$d/lock.pid"
echo locked
while timeout ${lockExpiryS} /bin/sh -c 'IFS= read -r x' 9>&-; do :; done
rm -f "$d/lock.owner" "$d/lock.pid"
`;
}

const cleanWord = z.string().transform((said) => foreignLine(said, 200));
/** What `lockScript` has written, or somebody else. */
const noteShape = z.object({
  who: cleanWord,
  command: cleanWord,
  since: cleanWord,
}) satisfies z.ZodType<LockOwner>;

/** A held lock; `id` lets its owner take it over after a cut. */
export interface HeldLock extends HostLock {
  readonly id: string;
}

export async function takeLock(
  wire: Wire,
  sudo: Sudo,
  host: string,
  owner: LockOwner,
  id: string,
  takeOver: string,
): Promise<HeldLock> {
  let text = '';
  /** What it says once it has answered is heard by nobody. */
  let settled = false;
  let settle: (locked: boolean) => void = () => undefined;
  const answered = new Promise<boolean>((resolve) => {
    settle = (locked) => {
      settled = true;
      resolve(locked);
    };
  });
  const request: StartRequest = {
    host,
    script: lockScript(owner, id, takeOver),
    as: 'root',
    input: true,
    limitS: undefined,
    signal: undefined,
    onStdout: (chunk) => {
      if (settled) return;
      text = (text + chunk.toString()).slice(-longestAnswer);
      if (/^locked$/m.test(text)) settle(true);
    },
    onStderr: (chunk) => {
      if (settled) return;
      text = (text + chunk.toString()).slice(-longestAnswer);
    },
  };
  const running = await startScript(wire, sudo, request);
  void running.ended.then(() => settle(false));
  if (!(await answered)) throw refused(host, text);
  const beat = setInterval(() => running.stdin.write('\n'), heartbeatMs);
  let state: 'held' | 'released' | 'lost' = 'held';
  void running.ended.then(() => {
    clearInterval(beat);
    if (state === 'held') state = 'lost';
  });
  const broke = ownerIn(text, 'broke');
  return {
    id,
    ...(broke === undefined || takeOver !== 'any' ? {} : { broke }),
    lost: () => state === 'lost',
    async release() {
      state = 'released';
      clearInterval(beat);
      running.stdin.end();
      await running.ended;
    },
  };
}

/** For what an owner wants to do after its lock has gone: somebody else may be at work there by now. */
export function lockLost(host: string): FleetError {
  return new FleetError({
    code: 'ssh.lock-lost',
    host,
    step: 'lock',
    what: 'this run has lost its lock on the host, and stops there',
    expected: 'the lock held to the end',
    seen: `somebody broke it, or the host heard nothing from here for ${lockExpiryS} s (a laptop asleep?)`,
    next: 'run the same command again: it starts from what the host is now, and says who works there',
  });
}

function refused(host: string, text: string): FleetError {
  const holder = ownerIn(text, 'held');
  if (holder === undefined && !text.includes('held')) {
    return new FleetError({
      code: 'ssh.lock-failed',
      host,
      step: 'lock',
      what: 'the lock on the host could not be taken',
      seen: text.trim().slice(-300) || 'no output',
      next: 'ls -ld /run/azp-fleet; command -v flock   # on the host',
    });
  }
  const who = holder?.who ?? 'somebody';
  return new FleetError({
    code: 'ssh.locked',
    host,
    step: 'lock',
    what: `${who} is working on this host`,
    expected: 'nobody else at work here',
    seen: holder === undefined ? 'a lock without a note' : `${holder.command}, since ${holder.since}`,
    next: `wait for ${who} to finish; if that run is dead for certain, add --break-lock`,
  });
}

function ownerIn(text: string, word: 'held' | 'broke'): LockOwner | undefined {
  const json = new RegExp(`^${word} (\\{.*\\})$`, 'm').exec(text)?.[1];
  return noteShape.safeParse(foreignJson(json ?? '')).data;
}
