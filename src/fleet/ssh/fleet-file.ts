import { SSHConfig } from 'ssh-config';

import { defined } from '../../shared/base/objects.ts';
import { type Problem, usageError } from '../../shared/base/errors.ts';
import { foreignLine, noControl } from '../../shared/base/foreign-text.ts';
import { hostProblem } from '../../shared/base/host-trouble.ts';
import type { Logger } from '../../shared/base/log.ts';
import { parseHop } from '../../shared/base/jump-chain.ts';
import type { SshSpec } from '../inventory/fleet.ts';
import { plainSpec } from './config/inventory-options.ts';
import { type JumpHost, hostOfHop, jumpTo } from './config/jump-hosts.ts';
import { type ConnectionOptions, describeConnection, chainOf } from './config/options.ts';
import type { SshResolver } from './config/resolver.ts';
import { type OwnFiles, type ConfigCopy, escaped } from './config/user-config.ts';
import { pinnedLines } from './connect/host-keys.ts';
import type { Target } from './transport.ts';

export interface FleetFile {
  readonly hosts: readonly HostInFile[];
  /** The configuration for ssh. */
  readonly text: string;
  /** The pinned keys as a known_hosts file; empty if no key is pinned. */
  readonly keys: string;
}

export type HostInFile =
  | {
      readonly host: string;
      /** Options in which ssh still differs from azp-fleet, because the user's configuration adds to them. */
      readonly added: readonly string[];
    }
  | { readonly host: string; readonly problem: Problem };

interface Parts {
  readonly files: OwnFiles;
  /** The inventory of the hosts. */
  readonly inventory: string;
  readonly resolver: SshResolver;
  readonly configCopy: ConfigCopy;
  readonly log: Logger;
}

/** First text of a file that azp-fleet may replace. */
export const ownMark = '# Written by azp-fleet ssh-config';

/** Returns the first line of our file, with the escaped path of the inventory. */
export function firstLine(inventory: string): string {
  return `${ownMark} out of ${foreignLine(JSON.stringify(inventory))}; the next --write replaces it\n`;
}

interface Host {
  readonly target: Target;
  readonly way: Route;
  readonly jumps: readonly JumpHost[];
  readonly keys: string;
}

/**
 * Creates the SSH configuration of hosts, so that `ssh NAME` connects as azp-fleet does; checks this by `ssh -G` with
 * the new file. It contains the inventory's values, and others only if the user's configuration would change them for
 * this name. `all`: the hosts that may be jump hosts. A failed host does not affect the others.
 */
export async function composeFleetFile(
  chosen: readonly Target[],
  all: readonly Target[],
  parts: Parts,
): Promise<FleetFile> {
  const { configCopy, resolver, files } = parts;
  const base = configCopy.file();
  const problems = new Map<string, Problem>();
  const note = (host: string, error: unknown): undefined => {
    problems.set(host, hostProblem(host, error, parts.log));
  };
  const targets = withJumpHosts(chosen, all);
  const known = await each(targets, note, async (target): Promise<Host> => {
    const { name, ssh } = target;
    const sshConfig = ssh.sshConfig ?? base;
    const options = await resolver.resolve(name, sshConfig === undefined ? ssh : { ...ssh, sshConfig });
    const jumps = await resolver.jumpHostsTo(options);
    return { target, way: routeOf(options, files, all), jumps, keys: keysOf(options) };
  });
  const textOf = (also: ReadonlyMap<string, readonly string[]>): string => {
    const blocks = known.map(({ target: { name, ssh }, way }) => {
      try {
        return problems.has(name) ? undefined : hostBlock(name, ssh, way, also.get(name) ?? []);
      } catch (error) {
        return note(name, error);
      }
    });
    const hops = hopBlocks(known.map(({ jumps }) => jumps));
    return fileText(firstLine(parts.inventory), [...blocks.filter((block) => block !== undefined), ...hops]);
  };
  const differences = async (
    text: string,
    among: readonly Host[],
  ): Promise<Map<string, readonly string[]>> => {
    const sshConfig = configCopy.file(text);
    const found = await each(among, note, async ({ target, way }) => {
      const seen = await resolver.resolve(target.name, plainSpec(sshConfig));
      return [target.name, differing(way, routeOf(seen, files, all))] as const;
    });
    return new Map(found.filter(([, options]) => options.length > 0));
  };
  const first = await differences(textOf(new Map()), known);
  const changed = known.filter(({ target }) => first.has(target.name));
  const added = await differences(textOf(first), changed);
  return {
    text: textOf(first),
    keys: known.flatMap(({ target, keys }) => (problems.has(target.name) ? [] : keys)).join(''),
    hosts: targets.map(({ name: host }) => {
      const problem = problems.get(host);
      return problem === undefined ? { host, added: added.get(host) ?? [] } : { host, problem };
    }),
  };
}

function keysOf(options: ConnectionOptions): string {
  return pinnedLines(options, aliasOf(options.name), 'ssh');
}

/** Returns the results of `work`; reports and omits items that fail. */
async function each<From extends Target | Host, To>(
  items: readonly From[],
  note: (host: string, error: unknown) => void,
  work: (item: From) => Promise<To>,
): Promise<readonly To[]> {
  const done = await Promise.all(
    items.map(async (item): Promise<readonly To[]> => {
      try {
        return [await work(item)];
      } catch (error) {
        note('target' in item ? item.target.name : item.name, error);
        return [];
      }
    }),
  );
  return done.flat();
}

/** The options of a connection, with names and values as in `ssh -G`. */
type Route = Readonly<Record<string, Value>>;

/**
 * Returns the options that `ssh NAME` must use, those of our connection: pinned keys are in our file, and jump hosts of
 * the inventory have their names there. Pure.
 */
function routeOf(options: ConnectionOptions, { keys }: OwnFiles, hosts: readonly Target[]): Route {
  const { from: _from, ...way } = describeConnection(options);
  const jump = options.jump.map((hop) => byName(hop, hosts));
  return {
    ...(way as Route),
    ...(jump.length === 0 ? {} : { proxyjump: jump.join(',') }),
    ...(options.pinned.length === 0
      ? {}
      : {
          userknownhostsfile: [keys],
          globalknownhostsfile: ['none'],
          hostkeyalias: aliasOf(options.name),
        }),
  };
}

function byName(text: string, hosts: readonly Target[]): string {
  const hop = parseHop(text);
  const name = hop && hostOfHop(hop, hosts)?.name;
  if (name === undefined) return text;
  return `${hop?.user === undefined ? '' : `${hop.user}@`}${name}${hop?.port === undefined ? '' : `:${hop.port}`}`;
}

/** Returns the name of a host's pinned keys in our file: ssh searches it in lower case. */
export function aliasOf(name: string): string {
  return name.toLowerCase();
}

/** Returns the options in which two connections differ. Pure. */
function differing(one: Route, other: Route): readonly string[] {
  const options = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...options].filter((option) => JSON.stringify(one[option]) !== JSON.stringify(other[option]));
}

/**
 * Returns a host's block for the package `ssh-config`: the inventory's values as written, its pins, and the options in
 * `also`. Pure. Throws `ssh.config` for a value that cannot be written.
 */
function hostBlock(
  name: string,
  spec: SshSpec,
  way: Route,
  also: readonly string[],
): Record<string, string | string[]> {
  const said: Route = defined({
    hostname: spec.address,
    port: spec.port,
    user: spec.user,
    identityfile: spec.identityFile,
  });
  const pinned = spec.hostKeys.length > 0 ? pinOptions : [];
  const strict = spec.hostKeyPolicy === 'strict' ? ['stricthostkeychecking'] : [];
  const jump = spec.jump === undefined ? [] : ['proxyjump'];
  const named = new Set([...pinned, ...strict, ...jump, ...also]);
  const lines = inOrder.map((option) => {
    if (named.has(option)) return directive(name, option, way[option]);
    const value = said[option];
    return value === undefined ? undefined : directive(name, option, value, ownText.has(option));
  });
  return { Host: name, ...Object.fromEntries(lines.filter((line) => line !== undefined)) };
}

const pinOptions = ['userknownhostsfile', 'globalknownhostsfile', 'hostkeyalias', 'stricthostkeychecking'];
/** Options whose tokens mean the same in a file as in an argument of ssh. */
const ownText = new Set(['identityfile']);

/** Returns the whole file. `source`: its first line. Pure. */
function fileText(source: string, blocks: readonly Record<string, string | string[]>[]): string {
  const config = new SSHConfig();
  for (const block of blocks) config.append(block);
  return `${source}${config.toString()}`;
}

/** Returns the chosen hosts and their jump hosts, in the inventory's order. */
function withJumpHosts(chosen: readonly Target[], all: readonly Target[]): readonly Target[] {
  const included = new Set(chosen);
  for (const target of included)
    for (const text of hopsOf(target, all)) {
      const hop = parseHop(text);
      const found = hop && hostOfHop(hop, all);
      if (found !== undefined) included.add(found);
    }
  return all.filter((target) => included.has(target));
}

function hopsOf(target: Target, all: readonly Target[]): readonly string[] {
  try {
    return chainOf(jumpTo(target, all) ?? '', target.name);
  } catch {
    // An invalid chain is reported where the host is resolved.
    return [];
  }
}

/** A name without patterns of ssh_config. */
const plainName = /^[A-Za-z0-9_][A-Za-z0-9._:-]*$/;

/**
 * Returns blocks for jump hosts that are only in `jump:` and have no configured key: ssh offers them the keys of the
 * hosts behind them too, as azp-fleet does. Pure.
 */
function hopBlocks(ways: readonly (readonly JumpHost[])[]): Record<string, string | string[]>[] {
  const keys = new Map<string, Set<string>>();
  for (const { options } of ways.flat()) {
    if (options.inInventory || options.identitiesNamed || !plainName.test(options.typed)) continue;
    const known = keys.get(options.typed) ?? new Set();
    for (const file of options.identityFiles) known.add(file);
    keys.set(options.typed, known);
  }
  return [...keys].flatMap(([host, files]) => {
    const [name, value] = directive(host, 'identityfile', [...files]) ?? [];
    return name === undefined || value === undefined ? [] : [{ Host: host, [name]: value }];
  });
}

/** A value of `describeConnection`. */
type Value = string | number | readonly string[];

interface Spelling {
  readonly as: string;
  /** It expands tokens such as `%h`: a percent sign is written twice. */
  readonly tokens?: true;
  /** Its value ends with the line: nothing is escaped. */
  readonly line?: true;
  /** Its values are files, on one or several lines. */
  readonly files?: true;
  /** The value that means none, to override a later one. */
  readonly nothing?: string;
}

/** Options of a connection, as ssh_config(5) spells them, in the order of a block. */
const spellings: Readonly<Record<string, Spelling>> = {
  hostname: { as: 'HostName', tokens: true },
  port: { as: 'Port' },
  user: { as: 'User' },
  identityfile: { as: 'IdentityFile', tokens: true, files: true },
  identitiesonly: { as: 'IdentitiesOnly' },
  identityagent: { as: 'IdentityAgent', tokens: true, nothing: 'none' },
  proxyjump: { as: 'ProxyJump', tokens: true, line: true, nothing: 'none' },
  proxycommand: { as: 'ProxyCommand', tokens: true, line: true, nothing: 'none' },
  addressfamily: { as: 'AddressFamily', nothing: 'any' },
  bindaddress: { as: 'BindAddress' },
  userknownhostsfile: { as: 'UserKnownHostsFile', tokens: true, files: true },
  globalknownhostsfile: { as: 'GlobalKnownHostsFile', files: true },
  hostkeyalias: { as: 'HostKeyAlias' },
  stricthostkeychecking: { as: 'StrictHostKeyChecking' },
  hashknownhosts: { as: 'HashKnownHosts' },
  connecttimeout: { as: 'ConnectTimeout' },
  serveraliveinterval: { as: 'ServerAliveInterval' },
  serveralivecountmax: { as: 'ServerAliveCountMax' },
  ciphers: { as: 'Ciphers' },
  kexalgorithms: { as: 'KexAlgorithms' },
  macs: { as: 'MACs' },
  hostkeyalgorithms: { as: 'HostKeyAlgorithms' },
};

/** Options by their names in `ssh -G`, in the order of a block. */
const inOrder = Object.keys(spellings);

/**
 * Returns an option for the package `ssh-config`; undefined if ssh cannot express it. `value` undefined: overrides any
 * other configuration. `ownText`: written by the user, may contain tokens. Throws `ssh.config` for a value of several
 * lines.
 */
export function directive(
  host: string,
  option: string,
  value: Value | undefined,
  ownText = false,
): readonly [name: string, value: string | string[]] | undefined {
  const spelling = spellings[option];
  const given = asWritten(option, value) ?? spelling?.nothing;
  if (spelling === undefined || given === undefined) return undefined;
  const word = (text: string): string => {
    if (!noControl.test(text)) throw hasControl(host, spelling.as, text);
    const literal = spelling.tokens && !ownText ? text.replaceAll('%', '%%') : text;
    return spelling.line ? literal : escaped(literal);
  };
  if (typeof given === 'string') return [spelling.as, word(given)];
  return [spelling.as, spelling.files ? given.map(word) : word(given.join(','))];
}

/** Returns a value as written in ssh_config, where `ssh -G` prints it differently. */
function asWritten(option: string, value: Value | undefined): string | readonly string[] | undefined {
  if (typeof value !== 'string' && typeof value !== 'number') return value;
  if (option === 'stricthostkeychecking' && value === 'true') return 'yes';
  return option === 'connecttimeout' && value === 0 ? 'none' : String(value);
}

function hasControl(host: string, name: string, text: string): Error {
  return usageError({
    code: 'ssh.config',
    host,
    what: `${name} has a control character`,
    expected: 'one line',
    seen: JSON.stringify(text),
    next: 'correct it in the inventory or in the SSH configuration',
  });
}
