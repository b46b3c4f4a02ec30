import { minuteOf } from './drain.ts';
import { Capabilities } from './paths.ts';

/** The server's entry of an agent that may belong to another owner. */
export interface PooledAgent {
  readonly name: string;
  readonly status: 'online' | 'offline';
  readonly statusChangedOn?: string;
  /** The job that the server counts as running on it. */
  readonly assignedRequest?: object;
  readonly userCapabilities?: Readonly<Record<string, string>>;
}

/** Another owner of agent names that a host is configured to use, and whether that owner is active. */
export interface Holder {
  /** The names, at least one. */
  readonly names: readonly string[];
  /** The owner id; undefined: the agents have none. */
  readonly owner: string | undefined;
  /** The owner's host, if it is known and not ours. */
  readonly host: string | undefined;
  /**
   * `busy`: the server counts a job on one of its agents, online or not; `left`: offline so recently that it may be between
   * two jobs.
   */
  readonly state: 'online' | 'busy' | 'left' | 'away';
  /** ISO 8601, from the server: when the state began. */
  readonly since: string | undefined;
  /** The agent that has the state, if it has none of the names. */
  readonly by: string | undefined;
}

/** An agent is offline for about ten seconds between two jobs, and for a minute with a new image. */
export const leftForMs = 3 * 60_000;

const plainName = /^[\w.-]{1,64}$/;

/**
 * Returns the holder of these agents. `held`: agents of one owner, at least one; `others`: its other agents; `ourHost`:
 * inventory name of the host that is configured to use the names; `now`: wall clock, and the length of `leftForMs` on it. Pure.
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

/** Returns whether the names may be adopted: never from an active owner, whose jobs would fail. Pure. */
export function mayBeTakenOver({ state }: Pick<Holder, 'state'>): boolean {
  return state === 'away';
}

/** Returns `agent azl2-0 belongs to another installation, offline since 2026-11-21 12:03 UTC`. Pure. */
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
    left: `offline${time}, maybe between two jobs`,
    away: `offline${time}`,
  }[state];
  return `${subject} ${whose}, ${by === undefined ? how : `whose agent ${by} is ${how}`}`;
}

/** Returns the pool of the names, and what is known about the owner. Pure. */
export function heldDetail({ owner, host }: Holder, pool: string): string {
  const by = owner === undefined ? [] : [`installation ${owner.slice(0, 8)}`];
  const where = host === undefined ? [] : [`host ${host}`];
  const who = [...where, ...by];
  return `in pool ${pool}${who.length === 0 ? '' : `, registered by ${who.join(', ')}`}`;
}

/** Returns the next action of a user. Pure. */
export function heldNext({ state, names }: Holder, host: string): string {
  const [it, its] = names.length === 1 ? ['it', 'its'] : ['them', 'their'];
  const take = `take ${it} over with "azp-fleet provision ${host} --adopt" or "azp-fleet adopt ${host}"`;
  const other = 'or choose another agentName';
  const next = {
    online: `stop the agents of ${its} owner and ${take} three minutes later, ${other}; a machine that was switched off stays online in the pool for some minutes`,
    busy: `wait until the job has ended and ${its} owner has been offline for three minutes, then ${take}, ${other}`,
    left: `wait three minutes, because an agent is briefly offline between two jobs, then ${take}, ${other}`,
    away: `${take}, ${other}`,
  };
  return next[state];
}
