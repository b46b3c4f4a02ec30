import { agentName, slotNames } from '../../contract/slots.ts';
import type { Finding } from './host.ts';
import type { HostSpec } from '../fleet.ts';

/** Two agents of one pool cannot have the same name: each would take the other's place. */
export function checkAgentNames(hosts: readonly HostSpec[]): Finding[] {
  const agents = hosts.flatMap((host) =>
    [...new Set(slotNames(host))].map((slot) => ({ host, name: agentName(host, slot) })),
  );
  const named = Map.groupBy(agents, ({ host, name }) => `${host.pool} ${name}`.toLowerCase());
  const clashes = [...named.values()].filter((same) => same.length > 1);
  // One pattern often makes several names clash: told once for the hosts that it happens to.
  const causes = Map.groupBy(clashes, (same) => same.map(({ host }) => host.name).join(' '));
  return [...causes.values()].flatMap(([same = []]) => {
    const last = same.at(-1);
    return last === undefined ? [] : [clash(last.name, new Set(same.map(({ host }) => host)), last.host)];
  });
}

function clash(
  name: string,
  owners: ReadonlySet<HostSpec>,
  { name: host, pool, agentName }: HostSpec,
): Finding {
  const hosts = [...owners].map((owner) => owner.name);
  const names = `${hosts.slice(0, -1).join(', ')} and ${host}`;
  return {
    code: 'inventory.agent-name',
    host,
    path: ['hosts', host, 'agentName'],
    what:
      hosts.length === 1
        ? '{host} has several agents, and agentName gives all of them one name'
        : `${names} would ${hosts.length === 2 ? 'both' : 'all'} have an agent ${name} in the pool ${pool}`,
    seen: `agentName: ${agentName}`,
    next: 'put {host} and {slot} into agentName, or choose another pool',
  };
}
