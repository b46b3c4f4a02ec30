import type { HostChoice } from './choices.ts';
import { distinctNames, hostMistake, parseHost } from './host-notation.ts';
import { sshConfigHosts, type KnownHost } from './ssh-hosts.ts';
import type { Wizard } from './wizard-context.ts';

/** As many as a checkbox list shows without scrolling. */
const shortList = 12;

/** Hosts from ~/.ssh/config, and others typed in. At least one, and none whose name is taken. */
export async function askHosts(wizard: Wizard, taken: readonly string[]): Promise<HostChoice[]> {
  const known = (await sshConfigHosts(wizard.context, wizard.sshConfig)).filter(
    ({ name }) => !taken.includes(name),
  );
  const names = new Set(known.map((host) => host.name));
  const chosen = known.length === 0 ? [] : await chooseKnown(wizard, known);
  const more = await wizard.prompts.text(
    chosen.length === 0 ? 'Hosts (user@address:port …):' : 'Others (user@address:port …, Enter for none):',
    {
      check: (text) => checkTyped(text, { needed: chosen.length === 0, known: names, taken }),
    },
  );
  const typed = words(more).map((word) => parseHost(word, (name) => names.has(name)));
  const all = [...chosen.map(({ name }) => ({ name })), ...typed];
  return distinctNames(all.filter((host, index) => all.findIndex((other) => same(host, other)) === index));
}

async function chooseKnown({ prompts }: Wizard, known: readonly KnownHost[]): Promise<readonly KnownHost[]> {
  const width = Math.max(...known.map(({ name }) => name.length));
  const choices = (hosts: readonly KnownHost[]) =>
    hosts.map((host) => ({
      name: `${host.name.padEnd(width)}  ${host.leadsTo}`,
      short: host.name,
      value: host,
    }));
  if (known.length <= shortList)
    return prompts.chooseMany('Hosts from ~/.ssh/config:', choices(known), false);
  const filter = await prompts.text(
    `${known.length} hosts in ~/.ssh/config. Part of the name, Enter for all:`,
    {
      check: (text) =>
        matching(known, text).length === 0 ? 'No host has this in its name or address' : undefined,
    },
  );
  return prompts.chooseMany('Hosts:', choices(matching(known, filter)), filter !== '');
}

/** Name or address contains one of the words; `*` stands for anything. */
export function matching(known: readonly KnownHost[], filter: string): KnownHost[] {
  const parts = words(filter).map((word) => word.split('*').filter((part) => part !== ''));
  if (parts.length === 0) return [...known];
  return known.filter(({ name, leadsTo }) =>
    parts.some((pieces) => pieces.every((piece) => `${name} ${leadsTo}`.includes(piece))),
  );
}

function checkTyped(
  text: string,
  { needed, known, taken }: { needed: boolean; known: ReadonlySet<string>; taken: readonly string[] },
): string | undefined {
  const isKnown = (name: string) => known.has(name);
  const list = words(text);
  if (list.length === 0) return needed ? 'At least one host' : undefined;
  const mistake = list.map((word) => hostMistake(word, isKnown)).find((each) => each !== undefined);
  if (mistake !== undefined) return mistake;
  const name = list.map((word) => parseHost(word, isKnown).name).find((each) => taken.includes(each));
  return name === undefined
    ? undefined
    : `The inventory has a ${name} already; name=address gives another name`;
}

function words(text: string): string[] {
  return text.split(/[\s,]+/).filter((word) => word !== '');
}

function same(one: HostChoice, other: HostChoice): boolean {
  return one.name === other.name && one.address === other.address && one.port === other.port;
}
