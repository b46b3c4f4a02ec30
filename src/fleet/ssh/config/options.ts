import { createHash } from 'node:crypto';
import { isIP } from 'node:net';
import { posix } from 'node:path';

import { usageError } from '../../../shared/base/errors.ts';
import { foreignLine } from '../../../shared/base/foreign-text.ts';
import { isHostName, isUserName, hopExpected, hopsIn, parseHop } from '../../../shared/base/jump-chain.ts';
import type { SshSpec } from '../../inventory/fleet.ts';
import { inventoryArguments, inventoryOptions } from './inventory-options.ts';
import { type Dump, filesOf } from './ssh-dump.ts';

/** What a host hands on to the jump hosts before it. */
export interface HandedOn {
  /** A hop's own configuration of ssh stands before it. */
  readonly hostKeyPolicy: ConnectionOptions['hostKeyPolicy'];
  /** The inventory says so: no configuration of a hop makes it less. */
  readonly strict: boolean;
  /** The inventory's keys, offered to a jump host without keys of its own. */
  readonly identityFiles: readonly string[];
}

/** Everything that decides how a host is reached, expanded. */
export interface ConnectionOptions {
  /** The inventory's name; what messages call the host. */
  readonly name: string;
  /** False for a jump host that only ssh knows. */
  readonly inInventory: boolean;
  /** What a person would type after `ssh`. */
  readonly typed: string;
  /** The ssh_config to read instead of the usual ones; `none`: none. */
  readonly sshConfig: string | undefined;
  readonly hostname: string;
  readonly port: number;
  readonly user: string;
  readonly identityFiles: readonly string[];
  /** What the inventory names; ssh leaves it out of its list where there is no such file. */
  readonly identityOfInventory: string | undefined;
  /** The configuration or the inventory names the identity files. */
  readonly identitiesNamed: boolean;
  readonly identitiesOnly: boolean;
  /** Socket path; undefined: no agent. */
  readonly agent: string | undefined;
  /** Hops in the order they are passed, as written: `user@host:port`. */
  readonly jump: readonly string[];
  readonly handsOn: HandedOn;
  readonly proxyCommand: string | undefined;
  /** Undefined: whichever address works. */
  readonly family: 4 | 6 | undefined;
  readonly bindAddress: string | undefined;
  readonly userKnownHosts: readonly string[];
  readonly globalKnownHosts: readonly string[];
  readonly hostKeyAlias: string | undefined;
  /** `ask`: a configuration file says so. */
  readonly hostKeyPolicy: 'accept-new' | 'strict' | 'ask';
  readonly pinned: readonly string[];
  readonly hashKnownHosts: boolean;
  /** 0: no limit of ours. */
  readonly connectTimeoutMs: number;
  /** 0: no keep-alive. */
  readonly aliveIntervalMs: number;
  readonly aliveCountMax: number;
  /** Undefined: the configuration leaves the list as ssh has it. */
  readonly algorithms: {
    readonly ciphers: readonly string[] | undefined;
    readonly kex: readonly string[] | undefined;
    readonly macs: readonly string[] | undefined;
    readonly hostKey: readonly string[] | undefined;
  };
  /** Options in effect that only the system's ssh can honour, in lower case. */
  readonly unsupported: readonly string[];
  /** The inventory's values as arguments of ssh, which win over what its files say. */
  readonly arguments: readonly string[];
  /** Options by their names in `ssh -G` that the inventory sets. */
  readonly ofInventory: ReadonlySet<string>;
  /** Those that a file of ssh sets to something else than ssh's default. */
  readonly ofSsh: ReadonlySet<string>;
}

/** `%x` → text. */
type Tokens = Readonly<Record<string, string>>;

/** This machine and its user, as tokens and paths need them. */
export interface Local {
  readonly home: string;
  /** The invoking user. */
  readonly user: string;
  readonly uid: number;
  /** This machine's name, as `hostname` prints it. */
  readonly host: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** The values of a connection that tokens stand for. */
interface Told {
  readonly typed: string;
  readonly hostname: string;
  readonly port: number;
  readonly user: string;
  readonly alias: string | undefined;
  readonly jump: string;
}

/** Replaces `%x`, and `%%` by a percent sign. Undefined, as ssh fails, when there is no such token. */
function expandTokens(text: string, tokens: Tokens): string | undefined {
  let unknown = false;
  const expanded = text.replaceAll(/%(.?)/gs, (_whole, letter: string) => {
    if (letter === '%') return '%';
    unknown ||= tokens[letter] === undefined;
    return tokens[letter] ?? '';
  });
  return unknown ? undefined : expanded;
}

/** `~` and `~/x`. */
export function expandHome(text: string, home: string): string {
  return text === '~' || text.startsWith('~/') ? posix.join(home, text.slice(1)) : text;
}

/** `~`, `%x` and `${VAR}`. Undefined, as ssh fails, when a token or a variable is unknown. */
function expandFile(text: string, tokens: Tokens, { home, env }: Local): string | undefined {
  let unset = false;
  const expanded = expandTokens(expandHome(text, home), tokens);
  const filled = expanded?.replaceAll(/\$\{([^}]*)\}/g, (_whole, name: string) => {
    unset ||= env[name] === undefined;
    return env[name] ?? '';
  });
  return unset ? undefined : filled;
}

/** The tokens of ssh_config(5) that files may hold. */
function fileTokens(told: Told, local: Local): Tokens {
  const { hostname, port, user, jump, typed, alias } = told;
  return {
    ...commandTokens(told),
    u: local.user,
    i: String(local.uid),
    d: local.home,
    l: local.host,
    L: local.host.split('.')[0] ?? '',
    j: jump,
    k: alias ?? typed,
    C: createHash('sha1').update(`${local.host}${hostname}${port}${user}${jump}`).digest('hex'),
  };
}

/** Those that ProxyCommand and ProxyJump may hold. */
function commandTokens({ typed, hostname, port, user, alias }: Told): Tokens {
  return { h: hostname, n: typed, p: String(port), r: user, k: alias ?? typed };
}

/** Throws when the name could be something else than a name. `host`: the inventory's name of the host that it is for. */
export function checkHostName(text: string, host: string): void {
  if (!isHostName(text)) throw refused(text, 'the name of a host', host);
}

/** Throws when the name could be something else than a name. */
export function checkUserName(text: string, host: string): void {
  if (!isUserName(text)) throw refused(text, 'the name of a user', host);
}

function refused(text: string, what: string, host: string): Error {
  return usageError({
    code: 'ssh.config',
    host,
    step: 'connect',
    what: `${JSON.stringify(foreignLine(text, 80))} is not ${what}`,
    expected: 'a name as ssh takes it: no blanks, quotes or signs that a shell obeys, no - at its beginning',
    next: 'correct the name in the inventory or in the SSH configuration',
  });
}

/** The hops of a chain in the order they are passed, as written: `user@host:port`. Throws when one is none. */
export function chainOf(jump: string, name: string): readonly string[] {
  const hops = hopsIn(jump);
  const wrong = hops.find((hop) => parseHop(hop) === undefined);
  if (wrong === undefined) return hops;
  throw usageError({
    code: 'ssh.config',
    host: name,
    step: 'connect',
    what: `${JSON.stringify(foreignLine(wrong, 80))} is not a jump host`,
    expected: hopExpected,
    next: 'correct jump: in the inventory, or ProxyJump in the SSH configuration',
  });
}

/** What ssh says of a host. */
export interface SshSays {
  readonly options: Dump;
  /** What it says where nothing is configured. */
  readonly defaults: Dump;
  /** Of the options that have other defaults with us, those that no file sets. */
  readonly silent: { readonly strictness: boolean; readonly keepAlive: boolean };
  /** Kerberos is switched on by a file of the user's own: distributions do that for everybody. */
  readonly ownKerberos: boolean;
}

/** Where no configuration is: only the inventory counts. */
export const nothingSaid: SshSays = {
  options: new Map(),
  defaults: new Map(),
  silent: { strictness: true, keepAlive: true },
  ownKerberos: false,
};

/** Our own defaults where OpenSSH has none that suits many hosts: it waits for ever, for TCP and for a dead peer. */
export const ourDefaults = { connectTimeoutS: 15, aliveIntervalS: 15, aliveCountMax: 3 } as const;

/** Keys that OpenSSH looks for and ssh2 can use. */
const defaultIdentities = ['id_ed25519', 'id_ecdsa', 'id_rsa'];
const families: Readonly<Record<string, 4 | 6 | undefined>> = { inet: 4, inet6: 6 };

const onlyOpenssh = [
  'certificatefile',
  'pkcs11provider',
  'securitykeyprovider',
  'knownhostscommand',
  'verifyhostkeydns',
  'proxyusefdpass',
  'bindinterface',
  'revokedhostkeys',
  'gssapiauthentication',
];

/**
 * Puts together how a host is reached. Throws when a name or a command of the configuration cannot be used.
 * `handed`: what a jump host has of the host behind it.
 */
export function buildOptions(
  name: string,
  spec: SshSpec,
  says: SshSays,
  local: Local,
  handed?: HandedOn,
): ConnectionOptions {
  const { options, defaults } = says;
  const typed = spec.address ?? name;
  const first = (option: string): string | undefined => options.get(option)?.[0];
  const own = (option: string): boolean =>
    options.get(option)?.join('\n') !== undefined &&
    options.get(option)?.join('\n') !== defaults.get(option)?.join('\n');
  const list = (option: string): readonly string[] | undefined =>
    own(option) ? first(option)?.split(',') : undefined;
  const hostname = lowercase(first('hostname') ?? typed);
  const user = spec.user ?? first('user') ?? local.user;
  const port = Number(first('port') ?? spec.port ?? 22);
  checkHostName(hostname, name);
  checkUserName(user, name);
  const jump = first('proxyjump') ?? spec.jump ?? '';
  const alias = first('hostkeyalias')?.toLowerCase();
  const told = { typed, hostname, port, user, alias, jump: jump === 'none' ? '' : jump };
  const tokens = commandTokens(told);
  const files = fileTokens(told, local);
  const folder = posix.join(local.home, '.ssh');
  const identitiesNamed = own('identityfile') || (options.size === 0 && spec.identityFile !== undefined);
  const written = options.get('identityfile') ?? (spec.identityFile === undefined ? [] : [spec.identityFile]);
  const ofInventory = inventoryOptions(spec);
  const handedKeys = identitiesNamed ? [] : (handed?.identityFiles ?? []);
  const expanded = (file: string): string =>
    expandFile(file, files, local) ?? refuse('IdentityFile', file, name);
  const hostKeyPolicy = policy(spec, first('stricthostkeychecking'), says.silent.strictness, handed);
  return {
    name,
    inInventory: true,
    typed,
    sshConfig: spec.sshConfig,
    hostname,
    port,
    user,
    identityFiles: identitiesNamed
      ? written.filter((file) => file.toLowerCase() !== 'none').map(expanded)
      : [...handedKeys.map(expanded), ...defaultIdentities.map((file) => posix.join(folder, file))],
    identityOfInventory: spec.identityFile === undefined ? undefined : expanded(spec.identityFile),
    identitiesNamed,
    identitiesOnly: first('identitiesonly') === 'yes',
    agent: agentSocket(first('identityagent'), local),
    jump: chainOf(expandTokens(told.jump, tokens) ?? refuse('ProxyJump', told.jump, name), name),
    handsOn: {
      hostKeyPolicy,
      strict: spec.hostKeyPolicy === 'strict',
      identityFiles: [...new Set([spec.identityFile ?? [], handed?.identityFiles ?? []].flat())],
    },
    proxyCommand: proxyCommand(first('proxycommand'), tokens, name),
    family: families[first('addressfamily') ?? 'any'],
    bindAddress: first('bindaddress'),
    userKnownHosts: filesOf(first('userknownhostsfile') ?? '~/.ssh/known_hosts ~/.ssh/known_hosts2').map(
      (file) => expandHome(file, local.home),
    ),
    globalKnownHosts: filesOf(
      first('globalknownhostsfile') ?? '/etc/ssh/ssh_known_hosts /etc/ssh/ssh_known_hosts2',
    ).map((file) => expandHome(file, local.home)),
    hostKeyAlias: alias,
    hostKeyPolicy,
    pinned: spec.hostKeys,
    hashKnownHosts: first('hashknownhosts') === 'yes',
    connectTimeoutMs: seconds(first('connecttimeout'), ourDefaults.connectTimeoutS) * 1000,
    aliveIntervalMs:
      seconds(says.silent.keepAlive ? undefined : first('serveraliveinterval'), ourDefaults.aliveIntervalS) *
      1000,
    aliveCountMax: Number(first('serveralivecountmax') ?? ourDefaults.aliveCountMax),
    algorithms: {
      ciphers: list('ciphers'),
      kex: list('kexalgorithms'),
      macs: list('macs'),
      hostKey: list('hostkeyalgorithms'),
    },
    unsupported: onlyOpenssh.filter(
      (option) =>
        own(option) &&
        !/^(no|none|false)$/.test(first(option) ?? '') &&
        (option !== 'gssapiauthentication' || says.ownKerberos),
    ),
    arguments: [...inventoryArguments(spec), ...besideDefaults(handedKeys, options.get('identityfile'))],
    ofInventory,
    ofSsh: new Set([...options.keys()].filter((option) => own(option) && !ofInventory.has(option))),
  };
}

function policy(
  spec: SshSpec,
  said: string | undefined,
  silent: boolean,
  handed: HandedOn | undefined,
): ConnectionOptions['hostKeyPolicy'] {
  if (spec.hostKeyPolicy === 'strict' || said === 'true' || said === 'yes') return 'strict';
  if (silent) return handed?.hostKeyPolicy ?? 'accept-new';
  return said === 'ask' ? 'ask' : 'accept-new';
}

/** As arguments of ssh, which leaves its own out as soon as one is named. */
function besideDefaults(
  files: readonly string[],
  own: readonly string[] = defaultIdentities.map((name) => `~/.ssh/${name}`),
): string[] {
  if (files.length === 0) return [];
  return [...files.flatMap((file) => ['-i', file]), ...own.flatMap((name) => ['-o', `IdentityFile=${name}`])];
}

function proxyCommand(
  said: string | undefined,
  tokens: Readonly<Record<string, string>>,
  name: string,
): string | undefined {
  if (said === undefined || said.toLowerCase() === 'none') return undefined;
  return expandTokens(said, tokens) ?? refuse('ProxyCommand', said, name);
}

function refuse(option: string, text: string, name: string): never {
  throw usageError({
    code: 'ssh.config',
    host: name,
    step: 'connect',
    what: `${option} has a token or a variable that there is not`,
    expected: 'tokens of ssh_config, and variables that are set here',
    seen: text,
    next: `correct ${option} in the SSH configuration; a percent sign is written %%`,
  });
}

function lowercase(hostname: string): string {
  return isIP(hostname) === 0 ? hostname.toLowerCase() : hostname;
}

/** ssh has expanded all of it but the name of a variable. */
function agentSocket(value: string | undefined, { env, home }: Local): string | undefined {
  // Empty is as good as not set.
  if (value === undefined || value === 'SSH_AUTH_SOCK') return env['SSH_AUTH_SOCK'] || undefined;
  if (value.toLowerCase() === 'none') return undefined;
  return value.startsWith('$') && !value.startsWith('${') ? env[value.slice(1)] : expandHome(value, home);
}

/** `none`: not set. */
function seconds(text: string | undefined, fallback: number): number {
  return text === undefined || !/^\d+$/.test(text) ? fallback : Number(text);
}

/**
 * What a connection would use, by the names and in the notation of `ssh -G` (identityfile, the known-hosts files and the
 * algorithms as lists), and under `from` where each value came from: `inventory`, `ssh` (its configuration says something
 * else than the default) or `default`. Options that are not in effect are left out.
 */
export interface ConnectionDescription {
  readonly [option: string]: string | number | readonly string[] | Readonly<Record<string, string>>;
  readonly from: Readonly<Record<string, 'inventory' | 'ssh' | 'default'>>;
}

/** For `inventory show`. */
export function describeConnection(options: ConnectionOptions): ConnectionDescription {
  const { algorithms } = options;
  const values: Record<string, string | number | readonly string[] | undefined> = {
    hostname: options.hostname,
    port: options.port,
    user: options.user,
    identityfile: options.identityFiles,
    identitiesonly: yesNo(options.identitiesOnly),
    identityagent: options.agent,
    proxyjump: options.jump.length > 0 ? options.jump.join(',') : undefined,
    proxycommand: options.proxyCommand,
    userknownhostsfile: orNone(options.userKnownHosts),
    globalknownhostsfile: orNone(options.globalKnownHosts),
    addressfamily: options.family === undefined ? undefined : options.family === 4 ? 'inet' : 'inet6',
    bindaddress: options.bindAddress,
    hostkeyalias: options.hostKeyAlias,
    stricthostkeychecking: strictness(options),
    hashknownhosts: yesNo(options.hashKnownHosts),
    connecttimeout: options.connectTimeoutMs / 1000,
    serveraliveinterval: options.aliveIntervalMs / 1000,
    serveralivecountmax: options.aliveCountMax,
    ciphers: algorithms.ciphers,
    kexalgorithms: algorithms.kex,
    macs: algorithms.macs,
    hostkeyalgorithms: algorithms.hostKey,
    ...Object.fromEntries(options.unsupported.map((option) => [option, 'only with transport: openssh'])),
  };
  const set = Object.entries(values).filter(
    (entry): entry is [string, string | number | readonly string[]] => entry[1] !== undefined,
  );
  const from = Object.fromEntries(set.map(([option]) => [option, origin(options, option)]));
  return { ...Object.fromEntries(set), from };
}

function origin(options: ConnectionOptions, option: string): 'inventory' | 'ssh' | 'default' {
  // The host's name, or its address, is the inventory's.
  const same = options.hostname === options.typed.toLowerCase();
  if (options.ofInventory.has(option) || (option === 'hostname' && same)) return 'inventory';
  // ssh's default is to ask; where a file says so as well, it is the file's.
  const asked = option === 'stricthostkeychecking' && options.hostKeyPolicy === 'ask';
  return asked || options.ofSsh.has(option) ? 'ssh' : 'default';
}

function strictness({ hostKeyPolicy, pinned }: ConnectionOptions): string {
  return hostKeyPolicy === 'strict' || pinned.length > 0 ? 'true' : hostKeyPolicy;
}

function orNone(files: readonly string[]): readonly string[] {
  return files.length === 0 ? ['none'] : files;
}

function yesNo(value: boolean): string {
  return value ? 'yes' : 'no';
}
