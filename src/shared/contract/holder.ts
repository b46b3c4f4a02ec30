import { minuteOf } from './drain.ts';
import { Capabilities } from './paths.ts';

/** What the server reports of an agent that may belong to another owner. */
export interface PooledAgent {
  readonly name: string;
  readonly status: 'online' | 'offline';
  readonly statusChangedOn?: string;
  /** The job that the server counts on it. */
  readonly assignedRequest?: object;
  readonly userCapabilities?: Readonly<Record<string, string>>;
}

/** Who else has names that a host wants for its agents, and whether that owner still lives. */
export interface Holder {
  /** The names, at least one. */
  readonly names: readonly string[];
  /** The owner's mark; undefined: they carry none. */
  readonly owner: string | undefined;
  /** The owner's host, where it says so and it is another one than ours. */
  readonly host: string | undefined;
  /**
   * `busy`: the server counts a job on one of its agents, whether that is online or not; `left`: offline for so short a
   * time that it may be between two jobs.
   */
  readonly state: 'online' | 'busy' | 'left' | 'away';
  /** ISO 8601, from the server: when the state began. */
  readonly since: string | undefined;
  /** The agent that shows the state, where it has none of the names. */
  readonly by: string | undefined;
}

/** An agent of one job is away for some ten seconds after it, and a minute where its image is new. */
export const leftForMs = 3 * 60_000;

const plainName = /^[\w.-]{1,64}$/;

/**
 * Who holds these agents. `held`: of one owner, at least one; `others`: what else that owner has; `ourHost`: inventory
 * name of who wants the names; `now`: wall clock, and how long `leftForMs` is on it. Pure.
 */
export function holderOf(
  held: readonly PooledAgent[],
  others: readonly PooledAgent[],
  ourHost: string,
  now: { readonly wall: number; readonly leftForMs: number },
): Holder {
  const all = [...held, ...others];
  const { [Capabilities.owner]: owner, [Capabilities.host]: host } = held[0]?.userCapabilities ?? {};
  const changed = all
    .filter(({ statusChangedOn = '' }) => !Number.isNaN(Date.parse(statusChangedOn)))
    .toSorted((a, b) => changedAt(b) - changedAt(a));
  const busy = all.find(({ assignedRequest }) => assignedRequest !== undefined);
  const online = all.find(({ status }) => status === 'online');
  const last = changed[0];
  const left = last !== undefined && now.wall - changedAt(last) < now.leftForMs ? last : undefined;
  const shown = busy ?? online ?? left;
  return {
    names: held.map(({ name }) => name),
    owner,
    host: host !== undefined && host !== ourHost && plainName.test(host) ? host : undefined,
    state:
      busy !== undefined ? 'busy' : online !== undefined ? 'online' : left !== undefined ? 'left' : 'away',
    since: (shown ?? last)?.statusChangedOn,
    by: shown === undefined || held.includes(shown) ? undefined : shown.name,
  };
}

function changedAt({ statusChangedOn = '' }: PooledAgent): number {
  return Date.parse(statusChangedOn);
}

/** Names are never taken from an owner that lives: its jobs would lose the server. Pure. */
export function mayBeTakenOver({ state }: Pick<Holder, 'state'>): boolean {
  return state === 'away';
}

/** `agent azl2-0 belongs to another installation, offline since 2026-11-21 12:03 UTC`. Pure. */
export function heldLine({ names, owner, host, state, since, by }: Holder): string {
  const one = names.length === 1;
  const subject = `${one ? 'agent' : 'agents'} ${names.join(', ')}`;
  const whose =
    owner === undefined
      ? `${one ? 'was' : 'were'} not registered by azp-fleet`
      : `${one ? 'belongs' : 'belong'} to another installation${host === undefined ? '' : ` (host ${host})`}`;
  const at = minuteOf(since ?? '');
  const time = at === undefined ? '' : ` since ${at}`;
  const how = {
    online: `online${time}`,
    busy: `with a job that the server still counts`,
    left: `offline only${time}`,
    away: `offline${time}`,
  }[state];
  return `${subject} ${whose}, ${by === undefined ? how : `whose agent ${by} is ${how}`}`;
}

/** Where the names are, and what is known of who registered them. Pure. */
export function heldDetail({ owner, host }: Holder, pool: string): string {
  const by = owner === undefined ? [] : [`installation ${owner.slice(0, 8)}`];
  const where = host === undefined ? [] : [`host ${host}`];
  const who = [...where, ...by];
  return `in pool ${pool}${who.length === 0 ? '' : `, registered by ${who.join(', ')}`}`;
}

/** What a person does about it. Pure. */
export function heldNext({ state, names }: Holder, host: string): string {
  const it = names.length === 1 ? 'it' : 'them';
  const next = {
    online: `stop the manager that runs ${it}, or choose another agentName; a machine that was switched off stays online there for some minutes`,
    busy: 'run it again when the job has ended, or choose another agentName',
    left: 'run it again in 3 minutes: between two jobs an agent is away for a moment',
    away: `take ${it} over with "azp-fleet provision ${host} --adopt" or "azp-fleet adopt ${host}", or choose another agentName`,
  };
  return next[state];
}
