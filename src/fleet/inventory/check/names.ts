import { agentName, poolOfSlot, slotNames } from '../../../shared/contract/slots.ts';
import type { Finding } from './host.ts';
import { foldNames } from '../fold-names.ts';
import type { HostSpec } from '../fleet.ts';

/**
 * Two agents of one pool cannot have the same name, as each would take the other's place; nor can two of one host, whose
 * containers are called like them.
 */
export function checkAgentNames(hosts: readonly HostSpec[]): Finding[] {
  const agents = hosts.flatMap((host) =>
    [...new Set(slotNames(host))].map((slot) => ({
      host,
      name: agentName(host, slot),
      pool: poolOfSlot(host, slot),
    })),
  );
  const inPools = Map.groupBy(agents, ({ pool, name }) => `${pool} ${name}`.toLowerCase());
  const onHosts = Map.groupBy(agents, ({ host, name }) => `${host.name} ${name}`.toLowerCase());
  const clashes = [
    ...[...inPools.values()].filter((same) => same.length > 1),
    ...[...onHosts.values()].filter((same) => new Set(same.map(({ pool }) => pool)).size > 1),
  ];
  // One pattern often makes several names clash: told once for the hosts that it happens to.
  const causes = Map.groupBy(clashes, (same) => [...new Set(same.map(({ host }) => host.name))].join(' '));
  return [...causes.values()].flatMap(([same = []]) => {
    const last = same.at(-1);
    return last === undefined ? [] : [clash(last, new Set(same.map(({ host }) => host)))];
  });
}

function clash(
  last: { readonly host: HostSpec; readonly name: string; readonly pool: string },
  owners: ReadonlySet<HostSpec>,
): Finding {
  const { name, pool } = last;
  const { name: host, agentName } = last.host;
  const hosts = [...owners].map((owner) => owner.name);
  const names = `${foldNames(hosts.slice(0, -1))} and ${host}`;
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
