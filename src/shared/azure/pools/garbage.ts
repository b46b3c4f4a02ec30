import { Capabilities } from '../../contract/paths.ts';
import type { AzureAgent } from '../client.ts';

/** What one host may have in the pool. */
export interface OwnNames {
  readonly host: string;
  /** `{host}-{slot}` with the host filled in: `h200-1-{slot}`. */
  readonly template: string;
  /** The agents that shall be there; undefined while that is not known (GPUs not counted yet). */
  readonly wanted: ReadonlySet<string> | undefined;
  /**
   * Owners of its agents in other pools. Given, it has no slot in this one now, and only what one of these has left
   * counts: the name alone may be somebody else's.
   */
  readonly owners?: ReadonlySet<string>;
}

/** An entry of the pool that nobody will use again. */
export interface Leftover {
  readonly id: number;
  readonly name: string;
  readonly host: string;
  readonly owner: string;
  /** The last job it ran; a change between two looks means that it lives. */
  readonly lastRequest: number | undefined;
}

/**
 * Agents that can be removed, as far as one look tells: registered by azp-fleet, named as a slot of one of these hosts
 * that is not wanted any more, by the same owner as that host's other agents, offline, and without a job.
 */
export function leftovers(agents: readonly AzureAgent[], hosts: readonly OwnNames[]): readonly Leftover[] {
  const owned = agents.flatMap((agent) => {
    const owner = agent.userCapabilities?.[Capabilities.owner];
    return owner === undefined ? [] : [{ agent, owner }];
  });
  const spoken = new Set(hosts.flatMap(({ wanted }) => [...(wanted ?? [])]));
  return hosts.flatMap(({ host, template, wanted, owners: elsewhere }) => {
    if (wanted === undefined) return [];
    const here = ownersOf(agents, wanted);
    const theirs = (owner: string) =>
      elsewhere === undefined ? here.size === 0 || here.has(owner) : elsewhere.has(owner);
    return owned
      .filter(({ agent, owner }) => {
        const surplus = isSlotOf(template, agent.name) && !spoken.has(agent.name);
        const idle = agent.status === 'offline' && agent.assignedRequest === undefined;
        return surplus && idle && theirs(owner);
      })
      .map(({ agent: { id, name, lastCompletedRequest }, owner }) => ({
        id,
        name,
        host,
        owner,
        lastRequest: lastCompletedRequest?.requestId,
      }));
  });
}

/** Who has registered agents of these names. */
export function ownersOf(agents: readonly AzureAgent[], names: ReadonlySet<string>): ReadonlySet<string> {
  return new Set(
    agents.flatMap(({ name, userCapabilities }) =>
      names.has(name) ? (userCapabilities?.[Capabilities.owner] ?? []) : [],
    ),
  );
}

/** Slots without a dash only: `gpu-2-0` is slot 0 of host gpu-2 and none of host gpu. */
function isSlotOf(template: string, name: string): boolean {
  const [before = '', after = ''] = template.split('{slot}');
  const fits = name.startsWith(before) && name.endsWith(after);
  return fits && /^[^-]+$/u.test(name.slice(before.length, name.length - after.length));
}

/** Those of the first look that the second one confirms. */
export function confirmed(first: readonly Leftover[], second: readonly Leftover[]): readonly Leftover[] {
  return first.filter(({ id, lastRequest, owner }) =>
    second.some((each) => each.id === id && each.lastRequest === lastRequest && each.owner === owner),
  );
}
