import { addHosts } from '../document/add-hosts.ts';
import type { Fleet } from '../fleet.ts';
import type { Found, FoundHost, LeftOut } from './found-host.ts';

/** What an import comes to. */
export interface Import {
  readonly added: readonly FoundHost[];
  readonly leftOut: readonly LeftOut[];
}

/** Of what was found, what an inventory does not have yet. Two names for one machine would be one too many. Pure. */
export function newHosts(found: Found, { hosts }: Pick<Fleet, 'hosts'>): Import {
  const names = new Set(hosts.map(({ name }) => name.toLowerCase()));
  const places = new Map(hosts.map(({ name, ssh }) => [`${ssh.address ?? name}:${ssh.port ?? 22}`, name]));
  const added: FoundHost[] = [];
  const leftOut: LeftOut[] = [];
  for (const host of found.hosts) {
    const { name, entry } = host;
    const place = `${entry.address ?? name}:${entry.port ?? 22}`;
    const there = places.get(place);
    if (names.has(name.toLowerCase()))
      leftOut.push({ what: `host ${name}`, why: 'the inventory has a host of that name' });
    else if (there !== undefined) leftOut.push({ what: `host ${name}`, why: `it is reached as ${there} is` });
    else {
      names.add(name.toLowerCase());
      places.set(place, name);
      added.push(host);
    }
  }
  const groups = new Set(
    added.flatMap((host) => host.groups).filter((group) => names.has(group.toLowerCase())),
  );
  const grouped = added.map((host) => ({
    ...host,
    groups: host.groups.filter((group) => !groups.has(group)),
  }));
  const clashes = [...groups].map((group) => ({ what: `group ${group}`, why: 'a host has that name' }));
  return { added: grouped, leftOut: [...leftOut, ...clashes, ...found.leftOut] };
}

/** An inventory's text with them in it. */
export function withFound(source: string, hosts: readonly FoundHost[]): string {
  const groups = new Map<string, string[]>();
  for (const { name, groups: of } of hosts)
    for (const group of of) groups.set(group, [...(groups.get(group) ?? []), name]);
  return addHosts(source, { hosts: new Map(hosts.map(({ name, entry }) => [name, entry])), groups });
}
