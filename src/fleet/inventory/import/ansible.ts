import { parseDocument } from 'yaml';

import { excerpt } from '../../../shared/base/foreign-text.ts';
import { name as groupName } from '../schema/values.ts';
import { type Found, foundHost, type LeftOut, mostHosts, combine } from './found-host.ts';

/** Ansible's connection variables by our key, each followed by its older spelling. */
const connectionKeys: Readonly<Record<string, readonly string[]>> = {
  address: ['ansible_host', 'ansible_ssh_host'],
  port: ['ansible_port', 'ansible_ssh_port'],
  user: ['ansible_user', 'ansible_ssh_user'],
  identityFile: ['ansible_ssh_private_key_file', 'ansible_private_key_file'],
};
const imported = new Set(Object.values(connectionKeys).flat());
const sshPlugins = new Set(['ssh', 'smart', 'paramiko', 'paramiko_ssh', 'ansible.builtin.ssh']);

/** Returns the hosts and groups of an Ansible inventory, in YAML or INI. Pure. */
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
      why: isHost.has(name) ? 'a host has that name' : 'not a valid name in an inventory',
    }));
  const all = combine([{ hosts: [], leftOut: groups.leftOut }, ...hosts, { hosts: [], leftOut: refused }]);
  return { ...all, leftOut: [...all.leftOut, ...ignoredVariables(groups)] };
}

function hostOf(name: string, vars: Vars, groups: readonly string[]): Found {
  const connection = vars.get('ansible_connection');
  if (connection !== undefined && !isOneOf(sshPlugins, connection))
    return { hosts: [], leftOut: [{ what: `host ${excerpt(name)}`, why: 'its connection is not SSH' }] };
  const values = Object.entries(connectionKeys).flatMap(([key, spellings]) => {
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

/** Turns a port that is text, as in INI, into a number. */
function asPort(value: unknown): unknown {
  return typeof value === 'string' && /^\d{1,5}$/.test(value) ? Number(value) : value;
}

/**
 * Merges variables in Ansible's order: all, outer groups before inner ones (by name at the same depth), then the host.
 */
function effective(groups: AnsibleGroups, host: string, within: readonly string[]): Vars {
  const layers = within.map((name) => groups.group(name).vars);
  const own = within.map((name) => groups.group(name).hosts.get(host) ?? new Map<string, unknown>());
  return new Map([...layers, ...own].flatMap((vars) => [...vars]));
}

function byDepth(groups: AnsibleGroups): readonly string[] {
  const depths = new Map([...groups.groups.keys()].map((name) => [name, name === 'all' ? 0 : 1]));
  // Enough rounds for any chain; a cycle ends with them.
  for (let round = 0; round < Math.min(groups.groups.size, 50); round += 1)
    for (const [name, { children }] of groups.groups)
      for (const child of children)
        depths.set(child, Math.min(50, Math.max(depths.get(child) ?? 1, (depths.get(name) ?? 1) + 1)));
  return [...depths]
    .toSorted(([a, one], [b, other]) => one - other || (a < b ? -1 : 1))
    .map(([name]) => name);
}

/** Returns the hosts of a group and of its children, which may form a cycle. */
function membersOf(groups: AnsibleGroups, name: string): ReadonlySet<string> {
  const within = new Set([name]);
  for (const each of within) for (const child of groups.group(each).children) within.add(child);
  return new Set([...within].flatMap((each) => [...groups.group(each).hosts.keys()]));
}

function isUsable(name: string): boolean {
  return name !== 'all' && name !== 'ungrouped' && groupName.safeParse(name).success;
}

/** Reports the ignored variables by name only: a value may be a password. */
function ignoredVariables({ groups }: AnsibleGroups): readonly LeftOut[] {
  const all = [...groups.values()].flatMap(({ vars, hosts }) =>
    [vars, ...hosts.values()].flatMap((each) => [...each.keys()]),
  );
  const names = [...new Set(all)]
    .filter((name) => !imported.has(name) && name !== 'ansible_connection')
    .toSorted();
  return Object.entries(Object.groupBy(names, whyIgnored)).map(([why, of = []]) => ({
    what: `variable${of.length === 1 ? '' : 's'} ${of.slice(0, 12).map(excerpt).join(', ')}${of.length > 12 ? ', …' : ''}`,
    why,
  }));
}

function whyIgnored(name: string): string {
  if (/pass(word)?$|_pass_|secret|token/i.test(name))
    return 'an inventory holds no secrets; refer to them with sudoPassword: and loginPassword:';
  if (/^ansible_ssh_.*args$/.test(name))
    return 'ssh options belong in ~/.ssh/config; for a jump host use jump:';
  return name.startsWith('ansible_') ? 'not used by azp-fleet' : 'used by playbooks only';
}

/** Parses an Ansible inventory in INI. Reports lines that cannot be parsed. */
function parseAnsibleIni(text: string): AnsibleGroups {
  const found = new AnsibleGroups();
  let [group, part] = ['ungrouped', 'hosts'];
  for (const [at, raw] of text.split(/\r?\n/).entries()) {
    const line = raw.trim();
    if (line === '' || /^[#;]/.test(line)) continue;
    const skip = (why: string): void => void found.leftOut.push({ what: `line ${at + 1}`, why });
    const section = /^\[([^\]:]+)(?::(\w+))?\]\s*(?:[#;].*)?$/.exec(line);
    if (section !== null) {
      [group, part] = [section[1]?.trim() ?? '', section[2] ?? 'hosts'];
      found.group(group);
      if (!['hosts', 'children', 'vars'].includes(part)) skip('unknown section');
    } else if (part === 'children') {
      const child = line.split(/\s|#/)[0] ?? '';
      found.group(group).children.add(child);
      found.group(child);
    } else if (part === 'vars') {
      const variable = pair(line);
      if (variable === undefined) skip('not NAME=VALUE');
      else found.group(group).vars.set(variable[0], unquoted(variable[1]));
    } else if (part === 'hosts') {
      const words = wordsOf(line);
      const [host, ...rest] = words ?? [];
      const vars = varsOf(rest);
      if (host === undefined) skip('a quotation mark is unclosed');
      else if (vars === undefined) skip('the host is not followed by NAME=VALUE');
      else found.addHosts(group, host, vars);
    }
  }
  return found;
}

function varsOf(words: readonly string[]): Vars | undefined {
  const pairs = words.map(pair);
  return pairs.includes(undefined) ? undefined : new Map(pairs.flatMap((each) => (each ? [each] : [])));
}

function pair(text: string): readonly [string, string] | undefined {
  const at = text.indexOf('=');
  return at < 1 ? undefined : [text.slice(0, at).trim(), text.slice(at + 1).trim()];
}

/** As a shell would split the line, up to a comment; undefined: a quotation mark is unclosed. */
function wordsOf(line: string): readonly string[] | undefined {
  const token = /\s+|#.*$|((?:"(?:\\.|[^"\\])*"|'[^']*'|\\.|[^\s"'\\#])+)/gy;
  const words: string[] = [];
  let end = 0;
  for (const { 0: whole, 1: word } of line.matchAll(token)) {
    end += whole.length;
    if (word !== undefined) words.push(word.replaceAll(/"((?:\\.|[^"\\])*)"|'([^']*)'|\\(.)/g, plain));
  }
  return end === line.length ? words : undefined;
}

function plain(_whole: string, double?: string, single?: string, escaped?: string): string {
  return double?.replaceAll(/\\(["\\])/g, '$1') ?? single ?? escaped ?? '';
}

/** Parses a value of a `vars` section. It is a Python literal; only quoted text is supported. */
function unquoted(text: string): string {
  const [, , inner] = /^(["'])(.*)\1$/.exec(text) ?? [];
  return inner ?? text.replace(/\s+#.*$/, '');
}

/** Maximum depth of nested groups. */
const deepest = 20;
/** Tags of encrypted values, which cannot be used without the key. */
const tagged = ['!vault', '!vault-encrypted', '!unsafe'].map((tag) => ({ tag, resolve: () => ({ tag }) }));

/** Parses an Ansible inventory in YAML; undefined: it is not one. */
function parseAnsibleYaml(text: string): AnsibleGroups | undefined {
  const document = parseDocument(text, { customTags: tagged, logLevel: 'silent', prettyErrors: false });
  const value =
    document.errors.length > 0 ? undefined : plainValue(() => document.toJS({ maxAliasCount: 100 }));
  if (!isMap(value) || !Object.values(value).every((group) => group === null || isMap(group)))
    return undefined;
  const found = new AnsibleGroups();
  for (const [name, group] of Object.entries(value)) readGroup(found, name, group, deepest);
  return found;
}

/** Returns undefined if the parser throws, e.g. for too many aliases. */
function plainValue(read: () => unknown): unknown {
  try {
    return read();
  } catch {
    return undefined;
  }
}

function readGroup(found: AnsibleGroups, name: string, value: unknown, levels: number): void {
  const group = found.group(name);
  if (value === null || value === undefined) return;
  if (!isMap(value) || levels === 0) {
    found.leftOut.push({ what: `group ${excerpt(name)}`, why: 'not a group, or nested too deeply' });
    return;
  }
  const { hosts, vars, children } = value;
  for (const [host, own] of entries(hosts)) found.addHosts(name, host, varsOfNode(own));
  for (const [key, each] of varsOfNode(vars)) group.vars.set(key, each);
  for (const [child, below] of entries(children)) {
    group.children.add(child);
    readGroup(found, child, below, levels - 1);
  }
}

function varsOfNode(value: unknown): Vars {
  return new Map(entries(value));
}

function entries(value: unknown): [string, unknown][] {
  return isMap(value) ? Object.entries(value) : [];
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

type Vars = Map<string, unknown>;

interface AnsibleGroup {
  readonly hosts: Map<string, Vars>;
  readonly vars: Vars;
  readonly children: Set<string>;
}

/** The contents of an Ansible inventory, in YAML or INI. */
class AnsibleGroups {
  readonly groups = new Map<string, AnsibleGroup>();
  readonly leftOut: LeftOut[] = [];
  readonly #hosts = new Set<string>();

  group(name: string): AnsibleGroup {
    const known = this.groups.get(name);
    if (known !== undefined) return known;
    const created = {
      hosts: new Map<string, Vars>(),
      vars: new Map<string, unknown>(),
      children: new Set<string>(),
    };
    this.groups.set(name, created);
    return created;
  }

  /** `pattern`: a name or a range, with or without `:PORT`. */
  addHosts(group: string, pattern: string, vars: Vars): void {
    const [, name = pattern, port] = /^([^:]*(?:\[[^\]]*\][^:]*)*):(\d+)$/.exec(pattern) ?? [];
    const names = expandRange(name, mostHosts);
    if (names === undefined || this.#hosts.size + names.length > mostHosts) {
      this.leftOut.push({ what: excerpt(pattern), why: `invalid range, or more than ${mostHosts} hosts` });
      return;
    }
    const { hosts } = this.group(group);
    for (const each of names) {
      this.#hosts.add(each);
      const before = hosts.get(each) ?? new Map<string, unknown>();
      const withPort: [string, unknown][] = port === undefined ? [] : [['ansible_port', port]];
      hosts.set(each, new Map([...before, ...withPort, ...vars]));
    }
  }
}

/** Expands a range of Ansible: `gpu[01:04].lab`, `rack-[a:c]`, `n[1:9:2]`. Undefined: more than `most` names. */
function expandRange(pattern: string, most: number): readonly string[] | undefined {
  const found = /^([^[]*)\[([^\]:]+):([^\]:]+)(?::(\d+))?\](.*)$/.exec(pattern);
  if (found === null) return [pattern];
  const [, before = '', from = '', to = '', step = '1', after = ''] = found;
  const steps = valuesBetween(from, to, Math.max(1, Number(step)), most);
  const rest = expandRange(after, most);
  if (steps === undefined || rest === undefined || steps.length * rest.length > most) return undefined;
  return steps.flatMap((each) => rest.map((tail) => `${before}${each}${tail}`));
}

/** Returns the values of a range; numbers keep the leading zeros of the first one, letters are single. */
function valuesBetween(from: string, to: string, step: number, most: number): readonly string[] | undefined {
  const numbers = /^\d{1,9}$/.test(from) && /^\d{1,9}$/.test(to);
  if (!numbers && !/^[A-Za-z]{2}$/.test(from + to)) return undefined;
  const [first, last] = numbers ? [Number(from), Number(to)] : [from.charCodeAt(0), to.charCodeAt(0)];
  const count = Math.floor((last - first) / step) + 1;
  if (count < 1 || count > most) return undefined;
  return Array.from({ length: count }, (_, at) => {
    const value = first + at * step;
    if (!numbers) return String.fromCharCode(value);
    return String(value).padStart(from.startsWith('0') ? from.length : 0, '0');
  });
}
