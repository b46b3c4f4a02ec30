import pLimit from 'p-limit';

import type { Facts } from '../../fleet/facts/facts.ts';
import { machineNow } from '../../fleet/facts/gather.ts';
import type { HostSpec } from '../../fleet/inventory/fleet.ts';
import { sameMachines } from '../../fleet/plan/same-machine.ts';
import type { Transport } from '../../fleet/ssh/transport.ts';
import { padded, widthOf } from '../render/lines.ts';
import { problemLines } from '../render/problem.ts';
import type { Settled } from './check-hosts.ts';
import {
  distinctNames,
  hostMistake,
  isNamedByAddress,
  nameMistake,
  parseHost,
  sameName,
} from './host-notation.ts';
import { type KnownHost, knownHosts, sshConfigHosts } from './ssh-hosts.ts';
import { type HostChoice, lineWidth, print, type Wizard } from './wizard-context.ts';

/** Longest checkbox list without scrolling. */
const shortList = 12;

/**
 * Asks for hosts: from ~/.ssh/config and known_hosts, or typed or pasted. At least one; names must be free and
 * distinct.
 */
export async function askHosts(wizard: Wizard, taken: readonly string[]): Promise<HostChoice[]> {
  const { prompts } = wizard;
  const configured = await prompts.once('ssh_config', () => sshConfigHosts(wizard.context, wizard.sshConfig));
  const names = new Set(configured.map((host) => host.name));
  const isKnown = (name: string): boolean => names.has(name);
  const free = ({ name }: KnownHost) => !taken.includes(parseHost(name, isKnown).name);
  const [own, seen] = [configured.filter(free), fromKnownHosts(wizard, configured).filter(free)];
  const offered = [...own, ...seen];
  const source = sourceOf(own, seen, wizard.sshConfig);
  const chosen =
    offered.length === 0 || prompts.answers('hosts') ? [] : await chooseKnown(wizard, offered, source);
  const more = await prompts.text(
    'hosts',
    chosen.length === 0 ? 'Hosts (user@address:port …):' : 'Others (user@address:port …, Enter for none):',
    {
      list: true,
      ...(chosen.length === 0 ? {} : { default: '' }),
      check: (text) => checkTyped(text, { chosen, isKnown, taken }),
    },
  );
  return distinctNames(parsed([...chosen, ...words(more)], isKnown));
}

/** Returns the files that the offered hosts come from. `own`: of the configuration; `seen`: of known_hosts. */
export function sourceOf(
  own: readonly KnownHost[],
  seen: readonly KnownHost[],
  sshConfig = '~/.ssh/config',
): string {
  if (seen.length === 0) return sshConfig;
  return own.length === 0 ? '~/.ssh/known_hosts' : `${sshConfig} and known_hosts`;
}

/** Returns the hosts of known_hosts; none if another SSH configuration is used. */
function fromKnownHosts({ context, sshConfig }: Wizard, configured: readonly KnownHost[]): KnownHost[] {
  if (sshConfig !== undefined) return [];
  const listed = configured.flatMap(({ name, leadsTo }) => [name, leadsTo.replace(/^.*@/, '')]);
  return knownHosts(context)
    .filter((word) => !listed.includes(word))
    .filter((word) => hostMistake(word, () => false) === undefined)
    .map((name) => ({ name, leadsTo: 'in known_hosts' }));
}

async function chooseKnown(
  { prompts }: Wizard,
  known: readonly KnownHost[],
  source: string,
): Promise<readonly string[]> {
  const width = Math.max(...known.map(({ name }) => widthOf(name)));
  const choices = (hosts: readonly KnownHost[]) =>
    hosts.map(({ name, leadsTo }) => ({
      name: `${padded(name, width)}  ${leadsTo}`,
      short: name,
      value: name,
    }));
  if (known.length <= shortList)
    return prompts.chooseMany('hosts.known', `Hosts from ${source}:`, choices(known), []);
  const filter = await prompts.text(
    'hosts.filter',
    `${known.length} hosts in ${source}. Part of the name, Enter for all:`,
    {
      default: '',
      check: (text) =>
        matching(known, text).length === 0 ? 'No host has this in its name or address' : undefined,
    },
  );
  const found = matching(known, filter);
  const preset = filter === '' ? [] : found.map(({ name }) => name);
  return prompts.chooseMany('hosts.known', 'Hosts:', choices(found), preset);
}

/** Returns hosts whose name or address contains one of the words; `*` matches anything. */
export function matching(known: readonly KnownHost[], filter: string): KnownHost[] {
  const parts = words(filter).map((word) => word.split('*').filter((part) => part !== ''));
  if (parts.length === 0) return [...known];
  return known.filter(({ name, leadsTo }) =>
    parts.some((pieces) => pieces.every((piece) => `${name} ${leadsTo}`.includes(piece))),
  );
}

interface Typed {
  readonly chosen: readonly string[];
  readonly isKnown: (name: string) => boolean;
  readonly taken: readonly string[];
}

function checkTyped(text: string, { chosen, isKnown, taken }: Typed): string | undefined {
  const list = words(text);
  if (list.length === 0 && chosen.length === 0) return 'At least one host';
  const mistake = list.map((word) => hostMistake(word, isKnown)).find((each) => each !== undefined);
  if (mistake !== undefined) return mistake;
  const hosts = parsed([...chosen, ...list], isKnown);
  const twice = sameName(hosts);
  if (twice !== undefined)
    return `Duplicate host ${twice}: remove one, or name both machines: name=address:port`;
  const name = hosts.find((each) => taken.includes(each.name))?.name;
  return name === undefined
    ? undefined
    : `The inventory already has ${name}; use name=address for another name`;
}

/** Parses hosts; equal words are one host. */
function parsed(list: readonly string[], isKnown: (name: string) => boolean): HostChoice[] {
  return [...new Set(list)].map((word) => parseHost(word, isKnown));
}

function words(text: string): string[] {
  return text.split(/[\s,;]+/).filter((word) => word !== '');
}

/** Removes other names of the same machine and reports them. Reports copies of one disk. */
export function withoutDuplicates(wizard: Wizard, settled: readonly Settled[]): Settled[] {
  const kept: Settled[] = [];
  for (const each of settled) {
    const machine = each.report.machine;
    const same = kept.find(
      ({ report }) =>
        machine !== undefined &&
        machine.machineId !== '' &&
        report.machine?.machineId === machine.machineId &&
        report.machine.bootId === machine.bootId,
    );
    if (same === undefined) kept.push(each);
    else
      print(
        wizard,
        `! ${each.host.name} is the same machine as ${same.host.name}: only ${same.host.name} is kept`,
      );
  }
  const seen = kept.flatMap(({ host, report: { machine } }) =>
    machine === undefined ? [] : [{ host, facts: machine }],
  );
  for (const [host, problem] of sameMachines(seen))
    wizard.say(...problemLines({ host, ...problem }, lineWidth(wizard)));
  return kept;
}

/** Proposes the machine's hostname for each host that is named by its address. */
export async function nameHosts(
  { prompts }: Wizard,
  settled: readonly Settled[],
  taken: readonly string[],
): Promise<Settled[]> {
  const names = [...taken, ...settled.map(({ host }) => host.name)];
  const named: Settled[] = [];
  for (const each of settled) {
    const { host, report } = each;
    const { hostname } = report;
    if (hostname === undefined || !isNamedByAddress(host)) {
      named.push(each);
      continue;
    }
    const others = names.filter((name) => name !== host.name);
    const check = (text: string): string | undefined =>
      others.some((name) => name.toLowerCase() === text.toLowerCase())
        ? 'Name already in use'
        : nameMistake(text);
    const name = await prompts.text(
      `hosts.${host.name}.name`,
      `The hostname of ${host.address ?? host.name} is ${hostname}. Name in the inventory:`,
      { default: check(hostname) === undefined ? hostname : host.name, check },
    );
    names[names.indexOf(host.name)] = name;
    named.push({ ...each, host: renamed(host, name) });
  }
  return named;
}

function renamed(host: HostChoice, name: string): HostChoice {
  const { name: before, address = before, ...rest } = host;
  return { ...rest, name, ...(address === name ? {} : { address }) };
}

type Machine = Pick<Facts, 'machineId' | 'bootId'>;

/** Hosts of the inventory that are contacted at the same time. */
const parallel = 50;
/** Time limit for the login to each of these hosts, of which only the identity is read. */
const loginLimitMs = 10_000;

/**
 * Returns the hosts that are not in the inventory under another name; reports the others, copies of one disk, and hosts
 * of the inventory that do not answer and cannot be compared.
 */
export async function notInInventory(
  wizard: Wizard,
  settled: readonly Settled[],
  inventory: readonly HostSpec[],
): Promise<Settled[]> {
  const named = settled.filter(({ report }) => (report.machine?.machineId ?? '') !== '');
  if (named.length === 0 || inventory.length === 0) return [...settled];
  const known = await wizard.prompts.once('machines of the inventory', () => machinesOf(wizard, inventory));
  const unreachable = inventory.length - known.size;
  if (unreachable > 0)
    print(wizard, `! ${unreachable} of the inventory's hosts unreachable: not compared with the new hosts`);
  return settled.filter(({ host, report: { machine } }) => {
    if (machine === undefined) return true;
    const twins = [...known].filter(
      ([, { machineId }]) => machineId === machine.machineId && machineId !== '',
    );
    const same = twins.find(([, { bootId }]) => bootId === machine.bootId)?.[0];
    if (same !== undefined) {
      print(wizard, `! ${host.name} is the same machine as ${same} in the inventory: not added`);
      return false;
    }
    const seen = [...twins.map(([name, facts]) => ({ host: { name }, facts })), { host, facts: machine }];
    const copy = sameMachines(seen).get(host.name);
    if (copy !== undefined) wizard.say(...problemLines({ host: host.name, ...copy }, lineWidth(wizard)));
    return true;
  });
}

/** Returns the identities of the hosts that answer, by name. */
async function machinesOf(
  wizard: Wizard,
  inventory: readonly HostSpec[],
): Promise<ReadonlyMap<string, Machine>> {
  const limit = pLimit(parallel);
  const transport = wizard.openTransport(undefined, inventory);
  try {
    const machines = await Promise.all(
      inventory.map((host) =>
        limit(async () => {
          const machine = await machineOf(wizard, transport, host);
          return machine === undefined ? [] : [[host.name, machine] as const];
        }),
      ),
    );
    return new Map(machines.flat());
  } finally {
    await transport.close();
  }
}

/** Returns the identity of a host; undefined if it does not answer or the login fails. */
async function machineOf(
  { context: { signal } }: Wizard,
  transport: Transport,
  host: HostSpec,
): Promise<Machine | undefined> {
  const limited = AbortSignal.any([signal, AbortSignal.timeout(loginLimitMs)]);
  try {
    const session = await transport.connect(host, { signal: limited });
    try {
      return await machineNow(session, limited);
    } finally {
      await session.close();
    }
  } catch (error) {
    if (signal.aborted) throw error;
    return undefined;
  }
}
