import type { HostChoice } from '../choices.ts';
import type { Wizard } from '../wizard-context.ts';
import { distinctNames, hostMistake, parseHost, sameName } from './host-notation.ts';
import { knownHosts } from './known-hosts.ts';
import { sshConfigHosts, type KnownHost } from './ssh-hosts.ts';
import { padded, widthOf } from '../../render/lines/width.ts';

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
