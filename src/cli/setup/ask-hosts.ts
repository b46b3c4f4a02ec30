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
import { type HostChoice, lineWidth, tell, type Wizard } from './wizard-context.ts';

/** As many as a checkbox list shows without scrolling. */
const shortList = 12;

/**
 * Hosts from ~/.ssh/config and known_hosts, and others typed or pasted. At least one, and none whose name is taken or
 * stands for two.
 */
export async function askHosts(wizard: Wizard, taken: readonly string[]): Promise<HostChoice[]> {
  const { prompts } = wizard;
  const configured = await prompts.once('ssh_config', () => sshConfigHosts(wizard.context, wizard.sshConfig));
  const names = new Set(configured.map((host) => host.name));
  const isKnown = (name: string): boolean => names.has(name);
  const offered = [...configured, ...fromKnownHosts(wizard, configured)].filter(
    ({ name }) => !taken.includes(parseHost(name, isKnown).name),
  );
  const chosen = offered.length === 0 || prompts.answers('hosts') ? [] : await chooseKnown(wizard, offered);
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

/** Where no configuration is read, nothing is known of anybody. */
function fromKnownHosts({ context, sshConfig }: Wizard, configured: readonly KnownHost[]): KnownHost[] {
  if (sshConfig !== undefined) return [];
  const led = configured.flatMap(({ name, leadsTo }) => [name, leadsTo.replace(/^.*@/, '')]);
  return knownHosts(context)
    .filter((word) => !led.includes(word))
    .filter((word) => hostMistake(word, () => false) === undefined)
    .map((name) => ({ name, leadsTo: 'in known_hosts' }));
}

async function chooseKnown({ prompts }: Wizard, known: readonly KnownHost[]): Promise<readonly string[]> {
  const width = Math.max(...known.map(({ name }) => widthOf(name)));
  const choices = (hosts: readonly KnownHost[]) =>
    hosts.map(({ name, leadsTo }) => ({
      name: `${padded(name, width)}  ${leadsTo}`,
      short: name,
      value: name,
    }));
  if (known.length <= shortList)
    return prompts.chooseMany('hosts.known', 'Hosts from ~/.ssh/config:', choices(known), []);
  const filter = await prompts.text(
    'hosts.filter',
    `${known.length} hosts in ~/.ssh/config. Part of the name, Enter for all:`,
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

/** Name or address contains one of the words; `*` stands for anything. */
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
    return `${twice} is there twice: one machine needs one entry; two machines need names: name=address:port`;
  const name = hosts.find((each) => taken.includes(each.name))?.name;
  return name === undefined
    ? undefined
    : `The inventory has a ${name} already; name=address gives another name`;
}

/** The same words twice are one host. */
function parsed(list: readonly string[], isKnown: (name: string) => boolean): HostChoice[] {
  return [...new Set(list)].map((word) => parseHost(word, isKnown));
}

function words(text: string): string[] {
  return text.split(/[\s,;]+/).filter((word) => word !== '');
}

/** One machine stays once: the other names for it are taken out, and said. Copies of one disk are told of. */
export function oneEach(wizard: Wizard, settled: readonly Settled[]): Settled[] {
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
      tell(
        wizard,
        `! ${each.host.name} is the same machine as ${same.host.name}: it stays once, as ${same.host.name}`,
      );
  }
  const seen = kept.flatMap(({ host, report: { machine } }) =>
    machine === undefined ? [] : [{ host, facts: machine }],
  );
  for (const [host, problem] of sameMachines(seen))
    wizard.say(...problemLines({ host, ...problem }, lineWidth(wizard)));
  return kept;
}

/** A host that is only called by its address is offered the name that the machine has. */
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
      others.some((name) => name.toLowerCase() === text.toLowerCase()) ? 'Taken' : nameMistake(text);
    const name = await prompts.text(
      `hosts.${host.name}.name`,
      `${host.address ?? host.name} calls itself ${hostname}. Its name here:`,
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

/** Hosts of the inventory that are asked at the same time. */
const atOnce = 50;
/** Who does not let in as fast is not waited for: nothing is asked of these hosts but who they are. */
const patienceMs = 10_000;

/**
 * Those that are no machine of the inventory under another name; the others are said and left out, copies of one disk told
 * of. Hosts of the inventory that do not answer cannot be compared, which is said.
 */
export async function othersThan(
  wizard: Wizard,
  settled: readonly Settled[],
  inventory: readonly HostSpec[],
): Promise<Settled[]> {
  const named = settled.filter(({ report }) => (report.machine?.machineId ?? '') !== '');
  if (named.length === 0 || inventory.length === 0) return [...settled];
  const known = await wizard.prompts.once('machines of the inventory', () => machinesOf(wizard, inventory));
  const silent = inventory.length - known.size;
  if (silent > 0)
    tell(wizard, `! ${silent} of the inventory's hosts did not answer: not compared with the new ones`);
  return settled.filter(({ host, report: { machine } }) => {
    if (machine === undefined) return true;
    const twins = [...known].filter(
      ([, { machineId }]) => machineId === machine.machineId && machineId !== '',
    );
    const same = twins.find(([, { bootId }]) => bootId === machine.bootId)?.[0];
    if (same !== undefined) {
      tell(wizard, `! ${host.name} is the same machine as ${same} of the inventory: it is not added`);
      return false;
    }
    const seen = [...twins.map(([name, facts]) => ({ host: { name }, facts })), { host, facts: machine }];
    const copy = sameMachines(seen).get(host.name);
    if (copy !== undefined) wizard.say(...problemLines({ host: host.name, ...copy }, lineWidth(wizard)));
    return true;
  });
}

/** Of those that answer, by name. */
async function machinesOf(
  wizard: Wizard,
  inventory: readonly HostSpec[],
): Promise<ReadonlyMap<string, Machine>> {
  const limit = pLimit(atOnce);
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

/** Undefined: it does not answer, or lets nobody in. */
async function machineOf(
  { context: { signal } }: Wizard,
  transport: Transport,
  host: HostSpec,
): Promise<Machine | undefined> {
  const patience = AbortSignal.any([signal, AbortSignal.timeout(patienceMs)]);
  try {
    const session = await transport.connect(host, { signal: patience });
    try {
      return await machineNow(session, patience);
    } finally {
      await session.close();
    }
  } catch (error) {
    if (signal.aborted) throw error;
    return undefined;
  }
}
