import type { Code } from '../../shared/base/codes/code.ts';
import type { Cause, Hold, Slot } from '../model.ts';

/** A condition that the webhook reports when it begins and when it ends. The state file keeps it over restarts. */
export interface Episode {
  /** Of an episode: `slot-closed 3`. */
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

/** What is known of a slot after a look at it. */
export interface SlotOutlook {
  readonly slot: Pick<Slot, 'name' | 'agent' | 'pool' | 'gpus'>;
  readonly hold: Hold | undefined;
  /** Monotonic, since when nobody has been there to take its jobs; undefined: somebody is, or is not to be. */
  readonly awayAt: number | undefined;
  /** Why, where that is known. */
  readonly cause: Partial<Cause>;
  /** Of the job that it took last, seconds; undefined: not known since the start. */
  readonly wait: { readonly requestId: number; readonly waitedS: number } | undefined;
}

export interface Limits {
  /** How long an agent may be away, real milliseconds. */
  readonly awayMs: number;
  /** How long a job may wait, seconds. */
  readonly queueWaitS: number;
}

/**
 * The episodes that are open after a look. What cannot be judged now (before the first look at the GPUs, while a slot is
 * drained) stays as it was. `now`: monotonic; `at`: ISO 8601. Pure.
 */
export function openEpisodes(
  before: readonly Episode[],
  slots: readonly SlotOutlook[],
  { awayMs, queueWaitS }: Limits,
  { now, at }: { readonly now: number; readonly at: string },
): readonly Episode[] {
  const known = new Map(before.map((episode) => [episode.key, episode]));
  const open = (episode: Omit<Episode, 'since'>): readonly Episode[] => [
    known.get(episode.key) ?? { ...episode, since: at },
  ];
  const still = (key: string): readonly Episode[] => [known.get(key)].filter((each) => each !== undefined);
  const closed = slots.flatMap(({ slot, hold }) => {
    const key = `slot-closed ${slot.name}`;
    if (hold?.state === 'quarantined')
      return open({ key, kind: 'slot-closed', ...placeOf(slot), ...hold.cause });
    return isJudged(hold) ? [] : still(key);
  });
  const away = slots.flatMap(({ slot, awayAt, cause }) => {
    if (awayAt === undefined || now - awayAt < awayMs) {
      const key = `agent-offline ${slot.name}`;
      // Where it began anew with this process, it was away before.
      return awayAt === undefined ? [] : still(key);
    }
    return open({
      key: `agent-offline ${slot.name}`,
      kind: 'agent-offline',
      ...placeOf(slot),
      ...whyAway(cause),
    });
  });
  const waits = [...Map.groupBy(slots, ({ slot }) => slot.pool)].flatMap(([pool, members]) => {
    const key = `queue-wait ${pool}`;
    const last = members
      .flatMap(({ wait }) => wait ?? [])
      .reduce((one, other) => (one.requestId > other.requestId ? one : other), unseen);
    if (last === unseen) return still(key);
    return last.waitedS > queueWaitS
      ? open({ key, kind: 'queue-wait', pool, ...longWait(last.waitedS) })
      : [];
  });
  return [...closed, ...away, ...waits];
}

const unseen = { requestId: Number.NEGATIVE_INFINITY, waitedS: 0 };

/** What keeps a slot from jobs before its GPUs do says nothing of them; what is not known yet is not well. */
function isJudged(hold: Hold | undefined): boolean {
  return hold === undefined || (hold.state !== 'drained' && !/^(?:health|fence)\./.test(hold.cause.code));
}

function placeOf({
  name,
  agent,
  pool,
  gpus,
}: SlotOutlook['slot']): Pick<Episode, 'slot' | 'agent' | 'pool' | 'gpus'> {
  return { slot: name, agent, pool, gpus };
}

function whyAway({ code, what, next }: SlotOutlook['cause']): Pick<Episode, 'code' | 'what' | 'next'> {
  return {
    code: code ?? 'agent.away',
    what: what ?? 'no agent has come to wait for jobs',
    next: next ?? 'look at the status of the host: azp-fleet status',
  };
}

function longWait(waitedS: number): Pick<Episode, 'code' | 'what' | 'next'> {
  return {
    code: 'queue.long-wait',
    what: `a job had waited ${minutes(waitedS)} for an agent`,
    next: 'see whether agents are away or closed: azp-fleet status; if none is, the pool is too small',
  };
}

function minutes(seconds: number): string {
  return `${Math.round(seconds / 60)} min`;
}

/** What an earlier process has told; nothing where it is no such list. */
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
  told: readonly Episode[],
  open: readonly Episode[],
): { readonly begun: readonly Episode[]; readonly ended: readonly Episode[] } {
  const without = (all: readonly Episode[], others: readonly Episode[]): readonly Episode[] => {
    const keys = new Set(others.map(({ key, since }) => `${key} ${since}`));
    return all.filter(({ key, since }) => !keys.has(`${key} ${since}`));
  };
  return { begun: without(open, told), ended: without(told, open) };
}
