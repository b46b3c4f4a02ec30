import { excerpt } from '../../../shared/base/foreign-text.ts';
import { name as groupName } from '../schema/values.ts';
import type { AnsibleGroups, Vars } from './ansible-groups.ts';
import { parseAnsibleIni } from './ansible-ini.ts';
import { parseAnsibleYaml } from './ansible-yaml.ts';
import { foundHost, together, type Found, type LeftOut } from './found-host.ts';

/** Ansible's variables that say how a host is reached, the older spelling of each after it. */
const taken: Readonly<Record<string, readonly string[]>> = {
  address: ['ansible_host', 'ansible_ssh_host'],
  port: ['ansible_port', 'ansible_ssh_port'],
  user: ['ansible_user', 'ansible_ssh_user'],
  identityFile: ['ansible_ssh_private_key_file', 'ansible_private_key_file'],
};
const ourOwn = new Set(Object.values(taken).flat());
const bySsh = new Set(['ssh', 'smart', 'paramiko', 'paramiko_ssh', 'ansible.builtin.ssh']);

/** Hosts and groups of an inventory of Ansible, in YAML or INI. Pure. */
export function fromAnsible(text: string): Found {
  const groups = parseAnsibleYaml(text) ?? parseAnsibleIni(text);
  const order = byDepth(groups);
  const names = [...new Set([...groups.groups.values()].flatMap(({ hosts: own }) => [...own.keys()]))];
  const isHost = new Set(names);
  const members = new Map(order.map((name) => [name, membersOf(groups, name)]));
  const usable = order.filter((name) => isUsable(name) && !isHost.has(name));
  const hosts = names.map((name) => {
    const within = order.filter((group) => group === 'all' || members.get(group)?.has(name) === true);
    const vars = effective(groups, name, within);
    const chosen = within.filter((group) => usable.includes(group));
    return hostOf(name, vars, chosen);
  });
  const refused = order
    .filter((name) => !usable.includes(name) && name !== 'all' && name !== 'ungrouped')
    .map((name): LeftOut => ({
      what: `group ${excerpt(name)}`,
      why: isHost.has(name) ? 'a host has that name' : 'no name that can stand in an inventory',
    }));
  const all = together([{ hosts: [], leftOut: groups.leftOut }, ...hosts, { hosts: [], leftOut: refused }]);
  return { ...all, leftOut: [...all.leftOut, ...variablesLeft(groups)] };
}

function hostOf(name: string, vars: Vars, groups: readonly string[]): Found {
  const connection = vars.get('ansible_connection');
  if (connection !== undefined && !isOneOf(bySsh, connection))
    return { hosts: [], leftOut: [{ what: `host ${excerpt(name)}`, why: 'it is not reached by SSH' }] };
  const values = Object.entries(taken).flatMap(([key, spellings]) => {
    const value = spellings
      .map((spelling) => vars.get(spelling))
      .find((each) => each !== undefined && each !== null);
    if (value === undefined) return [];
    return [[key, key === 'port' ? asPort(value) : value] as const];
  });
  return foundHost(name, Object.fromEntries(values), groups);
}

function isOneOf(words: ReadonlySet<string>, value: unknown): boolean {
  return typeof value === 'string' && words.has(value);
}

/** INI has text alone. */
function asPort(value: unknown): unknown {
  return typeof value === 'string' && /^\d{1,5}$/.test(value) ? Number(value) : value;
}

/** Ansible's order: all, then outer groups before inner ones, by name where they are alike, then the host. */
function effective(groups: AnsibleGroups, host: string, within: readonly string[]): Vars {
  const layers = within.map((name) => groups.group(name).vars);
  const own = within.map((name) => groups.group(name).hosts.get(host) ?? new Map<string, unknown>());
  return new Map([...layers, ...own].flatMap((vars) => [...vars]));
}

function byDepth(groups: AnsibleGroups): readonly string[] {
  const depths = new Map([...groups.groups.keys()].map((name) => [name, name === 'all' ? 0 : 1]));
  // So many rounds are enough for any chain; one that bites its tail ends with them.
  for (let round = 0; round < Math.min(groups.groups.size, 50); round += 1)
    for (const [name, { children }] of groups.groups)
      for (const child of children)
        depths.set(child, Math.min(50, Math.max(depths.get(child) ?? 1, (depths.get(name) ?? 1) + 1)));
  return [...depths]
    .toSorted(([a, one], [b, other]) => one - other || (a < b ? -1 : 1))
    .map(([name]) => name);
}

/** Its hosts and those of the groups in it, which may bite their tails. */
function membersOf(groups: AnsibleGroups, name: string): ReadonlySet<string> {
  const within = new Set([name]);
  for (const each of within) for (const child of groups.group(each).children) within.add(child);
  return new Set([...within].flatMap((each) => [...groups.group(each).hosts.keys()]));
}

function isUsable(name: string): boolean {
  return name !== 'all' && name !== 'ungrouped' && groupName.safeParse(name).success;
}

/** By name alone: a value may be a password. */
function variablesLeft({ groups }: AnsibleGroups): readonly LeftOut[] {
  const all = [...groups.values()].flatMap(({ vars, hosts }) =>
    [vars, ...hosts.values()].flatMap((each) => [...each.keys()]),
  );
  const names = [...new Set(all)]
    .filter((name) => !ourOwn.has(name) && name !== 'ansible_connection')
    .toSorted();
  return Object.entries(Object.groupBy(names, whyLeft)).map(([why, of = []]) => ({
    what: `variable${of.length === 1 ? '' : 's'} ${of.slice(0, 12).map(excerpt).join(', ')}${of.length > 12 ? ', …' : ''}`,
    why,
  }));
}

function whyLeft(name: string): string {
  if (/pass(word)?$|_pass_|secret|token/i.test(name))
    return 'secrets never stand in an inventory; sudoPassword: and loginPassword: say where they are found';
  if (/^ansible_ssh_.*args$/.test(name))
    return 'options of ssh belong into ~/.ssh/config; a jump host is jump:';
  return name.startsWith('ansible_') ? 'of no use here' : "Ansible's, for playbooks";
}
