import type { Code } from '../../shared/base/codes/code.ts';
import { findingEntry } from '../../shared/base/codes/tables.ts';
import type { Cause, Hold, Slot } from '../model.ts';

/** A condition that the webhook reports when it begins and when it ends. The state file keeps it over restarts. */
export interface Episode {
  /** `slot-closed 3` */
  readonly key: string;
  readonly kind: 'slot-closed' | 'agent-offline' | 'queue-wait';
  /** ISO 8601. */
  readonly since: string;
  readonly pool: string;
  readonly slot?: string;
  readonly agent?: string;
  readonly gpus?: readonly string[];
  readonly code: Code;
  readonly what: string;
  readonly next: string;
}

/** The state of a slot at one check. */
export interface SlotObservation {
  readonly slot: Pick<Slot, 'name' | 'agent' | 'pool' | 'gpus'>;
  readonly hold: Hold | undefined;
  /** How long it has been closed for that cause, unscaled milliseconds. */
  readonly closedMs?: number;
  /** Since when no agent can take its jobs, monotonic; undefined: one can, or none is expected. */
  readonly unavailableSince: number | undefined;
  /** The cause, if known. */
  readonly cause: Partial<Cause>;
  /** Queue wait of its latest job; undefined: none since the start of the manager. */
  readonly wait: { readonly requestId: number; readonly waitedS: number } | undefined;
}

export interface Limits {
  /** How long an agent may be offline, real milliseconds. */
  readonly offlineMs: number;
  /** How long a job may wait, seconds. */
  readonly queueWaitS: number;
}

/**
 * Returns the open episodes after a check. Episodes of slots with an unknown state (before the first check of the GPUs, while
 * drained) are unchanged. `now`: monotonic; `at`: ISO 8601. Pure.
 */
export function openEpisodes(
  before: readonly Episode[],
  slots: readonly SlotObservation[],
  { offlineMs, queueWaitS }: Limits,
  { now, at }: { readonly now: number; readonly at: string },
): readonly Episode[] {
  const known = new Map(before.map((episode) => [episode.key, episode]));
  const open = (episode: Omit<Episode, 'since'>): readonly Episode[] => [
    known.get(episode.key) ?? { ...episode, since: at },
  ];
  const still = (key: string): readonly Episode[] => [known.get(key)].filter((each) => each !== undefined);
  const closed = slots.flatMap(({ slot, hold, closedMs = 0 }) => {
    const key = `slot-closed ${slot.name}`;
    if (hold?.state === 'quarantined' && !known.has(key) && closedMs < lastsForMs(hold.cause)) return [];
    if (hold?.state === 'quarantined')
      return open({ key, kind: 'slot-closed', ...slotFields(slot), ...hold.cause });
    return isKnown(hold) ? [] : still(key);
  });
  const offline = slots.flatMap(({ slot, unavailableSince, cause }) => {
    if (unavailableSince === undefined || now - unavailableSince < offlineMs) {
      const key = `agent-offline ${slot.name}`;
      // The time restarts with this process; a reported episode stays open.
      return unavailableSince === undefined ? [] : still(key);
    }
    return open({
      key: `agent-offline ${slot.name}`,
      kind: 'agent-offline',
      ...slotFields(slot),
      ...whyOffline(cause),
    });
  });
  const queueWaits = [...Map.groupBy(slots, ({ slot }) => slot.pool)].flatMap(([pool, members]) => {
    const key = `queue-wait ${pool}`;
    const last = members
      .flatMap(({ wait }) => wait ?? [])
      .reduce((one, other) => (one.requestId > other.requestId ? one : other), none);
    if (last === none) return still(key);
    return last.waitedS > queueWaitS
      ? open({ key, kind: 'queue-wait', pool, ...longWait(last.waitedS) })
      : [];
  });
  return [...closed, ...offline, ...queueWaits];
}

function lastsForMs({ code }: Cause): number {
  return (findingEntry(code)?.lastsForS ?? 0) * 1000;
}

const none = { requestId: Number.NEGATIVE_INFINITY, waitedS: 0 };

/** Returns whether a hold shows the state of the slot's GPUs: a drain hides it, and it may not be checked yet. */
export function isKnown(hold: Hold | undefined): boolean {
  return hold === undefined || (hold.state !== 'drained' && !/^(?:health|fence)\./.test(hold.cause.code));
}

function slotFields({
  name,
  agent,
  pool,
  gpus,
}: SlotObservation['slot']): Pick<Episode, 'slot' | 'agent' | 'pool' | 'gpus'> {
  return { slot: name, agent, pool, gpus };
}

function whyOffline({ code, what, next }: SlotObservation['cause']): Pick<Episode, 'code' | 'what' | 'next'> {
  return {
    code: code ?? 'agent.away',
    what: what ?? 'no agent is online',
    next: next ?? 'check the status of the host: azp-fleet status',
  };
}

function longWait(waitedS: number): Pick<Episode, 'code' | 'what' | 'next'> {
  return {
    code: 'queue.long-wait',
    what: `a job had waited ${minutes(waitedS)} for an agent`,
    next: 'check for offline agents and closed slots: azp-fleet status; if there are none, add agents to the pool',
  };
}

function minutes(seconds: number): string {
  return `${Math.round(seconds / 60)} min`;
}

/** Parses the reported episodes of an earlier process; empty if it is not a list of episodes. */
export function readEpisodes(value: unknown): readonly Episode[] {
  if (!Array.isArray(value)) return [];
  return (value as readonly Partial<Episode>[]).filter(
    (each): each is Episode =>
      typeof each?.key === 'string' &&
      ['slot-closed', 'agent-offline', 'queue-wait'].includes(each.kind ?? '') &&
      [each.since, each.pool, each.code, each.what, each.next].every((text) => typeof text === 'string'),
  );
}

/** Returns what has begun and ended since the last message. Pure. */
export function changesSince(
  reported: readonly Episode[],
  open: readonly Episode[],
): { readonly begun: readonly Episode[]; readonly ended: readonly Episode[] } {
  const without = (all: readonly Episode[], others: readonly Episode[]): readonly Episode[] => {
    const keys = new Set(others.map(({ key, since }) => `${key} ${since}`));
    return all.filter(({ key, since }) => !keys.has(`${key} ${since}`));
  };
  return { begun: without(open, reported), ended: without(reported, open) };
}
