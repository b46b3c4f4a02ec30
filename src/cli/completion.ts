import type { Fleet } from '../fleet/inventory/fleet.ts';
import { type LoadContext, loadFleet } from '../fleet/inventory/load.ts';
import { codeTables, findings } from '../shared/base/codes/tables.ts';
import { FleetError } from '../shared/base/errors.ts';
import { agentName, poolsOf, slotNames } from '../shared/contract/slots.ts';
import {
  argumentsOf,
  type CommandSpec,
  type Kind,
  type OptionSpec,
  sharedBy,
  sharedOptions,
  upgradeParts,
  valueOf,
} from './command.ts';

interface Offers {
  readonly offers: readonly Offer[];
  /** Which files the shell offers as well, with the folders above them. */
  readonly paths: 'none' | 'files' | 'inventories';
}

/** Words without a character that is special in a shell; other words are not offered. */
const plain = /^[\w@%+=:,./!-]+$/;

/**
 * Returns the completions at the end of a command line. `words`: those after the program's name; the last one may be
 * incomplete. `names` returns the names in an inventory; it is called only where they are needed.
 */
export function offersFor(
  words: readonly string[],
  specs: readonly CommandSpec[],
  names: (inventory: string | undefined) => FleetNames,
): Offers {
  const { command, group, topic, pending, given, inventory, isOver } = readWords(words.slice(0, -1), specs);
  const current = words.at(-1) ?? '';
  const nothing: Offers = { offers: [], paths: 'none' };
  if (isOver) return nothing;
  const options = command === undefined ? sharedOptions : [...(command.options ?? []), ...sharedBy(command)];
  const known = () => (command?.inventory === false ? emptyNames : names(inventory));
  const offersOf = (kind: Kind, head = ''): Offers => {
    const typed = current.slice(head.length);
    const isList = kind === 'hosts' || kind === 'targets';
    const prefix = isList ? typed.slice(0, typed.lastIndexOf(',') + 1) : '';
    const mark = typed.slice(prefix.length).startsWith('!') && isList ? '!' : '';
    const offers = valuesOf(kind, known, given, typed.slice(prefix.length)).map(({ value, about }) => ({
      value: `${head}${prefix}${mark}${value}`,
      about,
    }));
    return { offers: startingWith(offers, current), paths: pathsOf(kind) };
  };
  if (pending !== undefined) return offersOf(pending);
  const [, head, name] = /^((--[\w-]+)=)/.exec(current) ?? [];
  if (head !== undefined) {
    const kind = options
      .map(({ flags }) => (flags.includes(`${name} `) ? valueOf(flags) : undefined))
      .find(Boolean);
    return kind === undefined ? nothing : offersOf(kind, head);
  }
  if (current.startsWith('-')) {
    const offers = options.map(({ flags, description }) => ({ value: longName(flags), about: description }));
    return {
      offers: startingWith([...offers, { value: '--help', about: 'display help for command' }], current),
      paths: 'none',
    };
  }
  if (command === undefined || topic)
    return {
      offers: startingWith(topic && command !== undefined ? [] : commandsIn(group, specs), current),
      paths: 'none',
    };
  const declared = argumentsOf(command);
  const place =
    declared[given.length] ??
    (declared.at(-1)?.notation.includes('...') === true ? declared.at(-1) : undefined);
  const at = place === undefined ? nothing : offersOf(place.kind);
  const takesFile = command.inventory !== false && inventory === undefined;
  return takesFile && at.paths === 'none' ? { ...at, paths: 'inventories' } : at;
}

function startingWith(offers: readonly Offer[], typed: string): readonly Offer[] {
  const seen = new Set<string>();
  return offers.filter(({ value }) => {
    if (!value.startsWith(typed) || !plain.test(value) || seen.has(value)) return false;
    seen.add(value);
    return true;
  });
}

function longName(flags: string): string {
  return /--[\w-]+/.exec(flags)?.[0] ?? flags;
}

/** Returns commands and groups, or the commands of a group. */
function commandsIn(group: string | undefined, specs: readonly CommandSpec[]): readonly Offer[] {
  const help = { value: 'help', about: 'help for one command' };
  if (group !== undefined)
    return [
      ...specs.flatMap(({ name, summary }) =>
        name.startsWith(`${group} `) ? { value: name.slice(group.length + 1), about: summary } : [],
      ),
      help,
    ];
  return [
    ...specs.map(({ name, summary }) => {
      const [first = '', leaf] = name.split(' ');
      return { value: first, about: leaf === undefined ? summary : `${first} commands` };
    }),
    help,
  ];
}

/** `typed`: the beginning of the value. */
function valuesOf(
  kind: Kind,
  known: () => FleetNames,
  given: readonly string[],
  typed: string,
): readonly Offer[] {
  switch (kind) {
    case 'hosts': {
      const { hosts, groups, labels } = known();
      const all = hosts.length === 0 ? [] : [{ value: 'all', about: 'every host' }];
      return [...hosts, ...groups, ...labels, ...all].filter(({ value }) => !given.includes(value));
    }
    case 'host':
      return known().hosts;
    case 'targets':
      // Only after the slash: the slots of hundreds of hosts would hide the hosts.
      return typed.includes('/') ? slotsAndAgents(known()) : valuesOf('hosts', known, given, typed);
    case 'target':
      return [...known().hosts, ...(typed.includes('/') ? slotsAndAgents(known()) : known().slots)];
    case 'slot': {
      const { slots } = known();
      const of = slots.filter(({ value }) => given.includes(value.slice(0, value.lastIndexOf('/'))));
      return (of.length === 0 ? slots : of).map(({ value }) => ({
        value: value.slice(value.lastIndexOf('/') + 1),
        about: 'slot',
      }));
    }
    case 'pools':
      return known().pools;
    case 'projects':
      return known().projects;
    case 'code':
      return [...codeTables, findings].flatMap(({ entries }) =>
        Object.entries(entries).map(([value, [about]]) => ({ value, about })),
      );
    case 'part':
      return [
        ...upgradeParts.map((value) => ({ value, about: 'part' })),
        ...valuesOf('hosts', known, given, typed),
      ];
    case 'shell':
      return ['bash', 'zsh', 'fish'].map((value) => ({ value, about: 'shell' }));
    default:
      return [];
  }
}

function slotsAndAgents({ slots, agents }: FleetNames): readonly Offer[] {
  return [...slots, ...agents];
}

function pathsOf(kind: Kind): Offers['paths'] {
  if (kind === 'files') return 'files';
  return kind === 'inventory' ? 'inventories' : 'none';
}

/** The words before the one that is completed. */
interface Typed {
  readonly command?: CommandSpec;
  /** The first word, if several commands begin with it. */
  readonly group?: string;
  /** True after `help`. */
  readonly topic: boolean;
  /** The kind of value that the last word, an option, takes. */
  readonly pending?: Kind;
  /** Arguments other than the inventory. */
  readonly given: readonly string[];
  readonly inventory?: string;
  /** True after `--`: the remaining words belong to another program. */
  readonly isOver: boolean;
}

function readWords(words: readonly string[], specs: readonly CommandSpec[]): Typed {
  let typed: Typed = { topic: false, given: [], isOver: false };
  for (const word of words) {
    if (typed.isOver) break;
    typed = next(typed, word, specs);
  }
  return typed;
}

function next(typed: Typed, word: string, specs: readonly CommandSpec[]): Typed {
  const { pending, ...rest } = typed;
  if (pending !== undefined) return pending === 'inventory' ? { ...rest, inventory: word } : rest;
  if (word === '--') return { ...rest, isOver: true };
  if (word.startsWith('-')) return withOption(rest, word);
  if (typed.command !== undefined) return withArgument(rest, word, typed.command);
  if (word === 'help') return { ...rest, topic: true };
  const name = [typed.group, word].filter(Boolean).join(' ');
  const command = specs.find((spec) => spec.name === name);
  if (command !== undefined) return { ...rest, command };
  return specs.some((spec) => spec.name.startsWith(`${name} `))
    ? { ...rest, group: word }
    : { ...rest, isOver: true };
}

function withOption(typed: Typed, word: string): Typed {
  const [name = '', value] = word.split('=', 2);
  const option = optionsOf(typed).find(({ flags }) => flags.split(/[ ,]+/).includes(name));
  const kind = option === undefined ? undefined : valueOf(option.flags);
  if (kind === undefined) return typed;
  if (value === undefined) return { ...typed, pending: kind };
  return kind === 'inventory' ? { ...typed, inventory: value } : typed;
}

function optionsOf({ command }: Typed): readonly OptionSpec[] {
  return command === undefined ? sharedOptions : [...(command.options ?? []), ...sharedBy(command)];
}

function withArgument(typed: Typed, word: string, command: CommandSpec): Typed {
  const isFile = command.inventory !== false && /\.ya?ml$/.test(word);
  return isFile ? { ...typed, inventory: word } : { ...typed, given: [...typed.given, word] };
}

/** The names in an inventory. */
interface FleetNames {
  readonly hosts: readonly Offer[];
  readonly groups: readonly Offer[];
  /** `room=b12` */
  readonly labels: readonly Offer[];
  /** `h200-1/0`, as far as known before the GPUs are counted. */
  readonly slots: readonly Offer[];
  /** `h200-1/h200-1-0`: the agents of these slots. */
  readonly agents: readonly Offer[];
  readonly pools: readonly Offer[];
  readonly projects: readonly Offer[];
}

const emptyNames: FleetNames = {
  hosts: [],
  groups: [],
  labels: [],
  slots: [],
  agents: [],
  pools: [],
  projects: [],
};

/** Returns the names in this file; none if it is missing or invalid, which other commands report. */
export function namesIn(file: string, context: LoadContext): FleetNames {
  try {
    return namesOf(loadFleet(file, context));
  } catch (error) {
    if (error instanceof FleetError) return emptyNames;
    throw error;
  }
}

export function namesOf({ hosts, projects }: Pick<Fleet, 'hosts' | 'projects'>): FleetNames {
  const distinct = (values: readonly string[], about: string) =>
    [...new Set(values)].map((value) => ({ value, about }));
  return {
    hosts: hosts.map(({ name, pool, groups }) => ({
      value: name,
      about: ['host', ...groups, pool].join(' · '),
    })),
    groups: distinct(
      hosts.flatMap(({ groups }) => groups),
      'group',
    ),
    labels: distinct(
      hosts.flatMap(({ labels }) => Object.entries(labels).map(([key, value]) => `${key}=${value}`)),
      'label',
    ),
    slots: hosts.flatMap((host) =>
      distinct(
        slotNames(host).map((slot) => `${host.name}/${slot}`),
        'slot',
      ),
    ),
    agents: hosts.flatMap((host) =>
      distinct(
        slotNames(host).map((slot) => `${host.name}/${agentName(host, slot)}`),
        'agent',
      ),
    ),
    pools: distinct(hosts.flatMap(poolsOf), 'pool'),
    projects: distinct(projects, 'project'),
  };
}

/** One completion and its description. */
interface Offer {
  readonly value: string;
  readonly about: string;
}
