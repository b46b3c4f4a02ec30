import { z } from 'zod';

import { FleetError } from '../../../shared/base/errors.ts';
import { foreignJson, foreignLine } from '../../../shared/base/foreign-text.ts';
import type { LockOwner } from '../transport.ts';

/** Seconds without a sign of life after which a lock is given up: a cut connection is not seen by the host. */
export const lockExpiryS = 60;
/** Milliseconds between two signs of life. */
export const heartbeatMs = 15_000;
/** Seconds of silence that no living owner keeps: two signs of life are missing. */
const silenceS = (2 * heartbeatMs) / 1000;
/** Seconds that the host may need, beyond the expiry, to give the lock up. */
const graceS = 5;

/** What the lock script has said. */
export interface LockAnswer {
  /** `held`: somebody has it now. `passed`: somebody had it since. */
  readonly word: 'locked' | 'held' | 'passed' | 'none';
  /** Whose it is, or was; absent where there is no note that can be read. */
  readonly owner?: LockOwner;
  /** Whose lock was broken, be it our own of before a cut. */
  readonly broke?: LockOwner;
  /** Seconds since the last sign of life of who has it. */
  readonly silentS?: number;
}

const cleanWord = z.string().transform((said) => foreignLine(said, 200));
/** What `lockScript` has written, or somebody else. */
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
  const whose = owner === undefined ? 'somebody' : `${owner.who} (${owner.command}, since ${owner.since})`;
  return `waiting for the lock of ${whose}, who was not heard of for ${silentS} s: ${leftS} s at most`;
}

/** For what an owner wants to do after its lock has gone: somebody else may be at work there by now. */
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
    return `somebody broke it, or the host heard nothing from here for ${lockExpiryS} s (a laptop asleep?)`;
  const { word, owner } = answer;
  if (owner === undefined)
    return word === 'held' ? 'somebody has it, without a note' : 'no note of who had it last';
  return `${owner.who} ${word === 'held' ? 'has it now' : 'has had it since'} (${owner.command}, since ${owner.since})`;
}

export function locked(host: string, { owner }: LockAnswer): FleetError {
  const who = owner?.who ?? 'somebody';
  return new FleetError({
    code: 'ssh.locked',
    host,
    step: 'lock',
    what: `${who} is working on this host`,
    expected: 'nobody else at work here',
    seen: owner === undefined ? 'a lock without a note' : `${owner.command}, since ${owner.since}`,
    next: `wait for ${who} to finish; if that run is dead for certain, add --break-lock`,
  });
}

export function lockFailed(host: string, seen: string): FleetError {
  return new FleetError({
    code: 'ssh.lock-failed',
    host,
    step: 'lock',
    what: 'the lock on the host could not be taken',
    seen: seen === '' ? 'no output' : seen,
    next: 'ls -ld /run/azp-fleet; df /var/lib; command -v flock   # on the host',
  });
}
