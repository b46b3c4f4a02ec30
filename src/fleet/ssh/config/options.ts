import { createHash } from 'node:crypto';
import { isIP } from 'node:net';
import { posix } from 'node:path';

import { usageError } from '../../../shared/base/errors.ts';
import { foreignLine } from '../../../shared/base/foreign-text.ts';
import { isHostName, isUserName, hopExpected, hopsIn, parseHop } from '../../../shared/base/jump-chain.ts';
import type { SshSpec } from '../../inventory/fleet.ts';
import { inventoryArguments, inventoryOptions } from './inventory-options.ts';
import { keywordOf } from './keywords.ts';
import { type Dump, filesOf } from './ssh-dump.ts';

/** Settings that jump hosts inherit from the host behind them. */
export interface InheritedSettings {
  /** Overridden by the hop's own SSH configuration. */
  readonly hostKeyPolicy: ConnectionOptions['hostKeyPolicy'];
  /** Set by the inventory: no configuration of a hop weakens it. */
  readonly strict: boolean;
  /** The inventory's keys, offered to a jump host without its own keys. */
  readonly identityFiles: readonly string[];
}

/** A way to log in, by its name in the SSH protocol. */
export type LoginMethod = 'publickey' | 'keyboard-interactive' | 'password';

/** What the SSH configuration allows in a login. */
interface LoginRules {
  /** Allowed methods, in the order in which they are tried. */
  readonly methods: readonly LoginMethod[];
  /** Whether the user may be asked; false with BatchMode. */
  readonly asks: boolean;
  /** Most attempts with each way to ask for a password, and questions for one passphrase. */
  readonly prompts: number;
  /** Signature algorithms of the user's keys. Undefined: ssh's default list. */
  readonly keyAlgorithms: readonly string[] | undefined;
  /** Shortest RSA key of user and host, in bits. */
  readonly minimumRsaBits: number;
}

/** An option that the SSH configuration sets. */
interface SetOption {
  /** As ssh_config(5) spells it. */
  readonly keyword: string;
  readonly value: string;
  /** `FILE:LINE` of each line with the keyword, also in blocks of other hosts. */
  readonly places: readonly string[];
}

/** All settings of a connection, expanded. */
export interface ConnectionOptions {
  /** Name in the inventory and in messages. */
  readonly name: string;
  /** False for a jump host that only ssh knows. */
  readonly inInventory: boolean;
  /** The argument that a user would type after `ssh`. */
  readonly typed: string;
  /** The ssh_config to read instead of the default ones; `none`: reads none. */
  readonly sshConfig: string | undefined;
  readonly hostname: string;
  readonly port: number;
  readonly user: string;
  readonly identityFiles: readonly string[];
  /** Identity file of the inventory; ssh omits a missing file from its list. */
  readonly identityOfInventory: string | undefined;
  /** The configuration or the inventory names the identity files. */
  readonly identitiesNamed: boolean;
  readonly identitiesOnly: boolean;
  /** Socket path; undefined: no agent. */
  readonly agent: string | undefined;
  /** Hops in the order of the connection, as written: `user@host:port`. */
  readonly jump: readonly string[];
  readonly inherited: InheritedSettings;
  readonly proxyCommand: string | undefined;
  /** Undefined: both. */
  readonly family: 4 | 6 | undefined;
  readonly bindAddress: string | undefined;
  readonly userKnownHosts: readonly string[];
  readonly globalKnownHosts: readonly string[];
  readonly hostKeyAlias: string | undefined;
  /** `ask`: set by a configuration file. */
  readonly hostKeyPolicy: 'accept-new' | 'strict' | 'ask';
  readonly pinned: readonly string[];
  readonly hashKnownHosts: boolean;
  /** 0: no limit. */
  readonly connectTimeoutMs: number;
  /** 0: no keep-alive. */
  readonly aliveIntervalMs: number;
  readonly aliveCountMax: number;
  /** Undefined: ssh's default list. */
  readonly algorithms: {
    readonly ciphers: readonly string[] | undefined;
    readonly kex: readonly string[] | undefined;
    readonly macs: readonly string[] | undefined;
    readonly hostKey: readonly string[] | undefined;
  };
  readonly login: LoginRules;
  /** Options in effect that only add a way to log in, with the system's ssh. In lower case. */
  readonly unsupported: readonly string[];
  /** Options in effect that the built-in client would ignore, and must not: it makes no connection. */
  readonly refused: readonly SetOption[];
  /** The inventory's values as arguments of ssh, which override its files. */
  readonly arguments: readonly string[];
  /** Options that the inventory sets, by their names in `ssh -G`. */
  readonly ofInventory: ReadonlySet<string>;
  /** Options that a file of ssh sets to another value than ssh's default. */
  readonly ofSsh: ReadonlySet<string>;
}

/** `%x` → text. */
type Tokens = Readonly<Record<string, string>>;

/** This machine and its user, for tokens and paths. */
export interface Local {
  readonly home: string;
  /** The invoking user. */
  readonly user: string;
  readonly uid: number;
  /** This machine's name, as `hostname` prints it. */
  readonly host: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** The values of a connection, for tokens. */
interface TokenValues {
  readonly typed: string;
  readonly hostname: string;
  readonly port: number;
  readonly user: string;
  readonly alias: string | undefined;
  readonly jump: string;
}

/** Replaces `%x`, and `%%` by a percent sign. Returns undefined for an unknown token, where ssh fails. */
function expandTokens(text: string, tokens: Tokens): string | undefined {
  let unknown = false;
  const expanded = text.replaceAll(/%(.?)/gs, (_whole, letter: string) => {
    if (letter === '%') return '%';
    unknown ||= tokens[letter] === undefined;
    return tokens[letter] ?? '';
  });
  return unknown ? undefined : expanded;
}

/** Expands `~` and `~/x`. */
export function expandHome(text: string, home: string): string {
  return text === '~' || text.startsWith('~/') ? posix.join(home, text.slice(1)) : text;
}

/** Expands `~`, `%x` and `${VAR}`. Returns undefined for an unknown token or variable, where ssh fails. */
function expandFile(text: string, tokens: Tokens, { home, env }: Local): string | undefined {
  let unset = false;
  const expanded = expandTokens(expandHome(text, home), tokens);
  const filled = expanded?.replaceAll(/\$\{([^}]*)\}/g, (_whole, name: string) => {
    unset ||= env[name] === undefined;
    return env[name] ?? '';
  });
  return unset ? undefined : filled;
}

/** Returns the tokens of ssh_config(5) for file names. */
function fileTokens(values: TokenValues, local: Local): Tokens {
  const { hostname, port, user, jump, typed, alias } = values;
  return {
    ...commandTokens(values),
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

/** Returns the tokens for ProxyCommand and ProxyJump. */
function commandTokens({ typed, hostname, port, user, alias }: TokenValues): Tokens {
  return { h: hostname, n: typed, p: String(port), r: user, k: alias ?? typed };
}

/** Throws if a text is not a safe host name. `host`: the inventory's name of the host, for the error. */
export function checkHostName(text: string, host: string): void {
  if (!isHostName(text)) throw invalidName(text, 'the name of a host', host);
}

/** Throws if a text is not a safe user name. */
export function checkUserName(text: string, host: string): void {
  if (!isUserName(text)) throw invalidName(text, 'the name of a user', host);
}

function invalidName(text: string, what: string, host: string): Error {
  return usageError({
    code: 'ssh.config',
    host,
    step: 'connect',
    what: `${JSON.stringify(foreignLine(text, 80))} is not ${what}`,
    expected: 'a name that ssh accepts: no spaces, quotes or shell characters, no leading -',
    next: 'correct the name in the inventory or in the SSH configuration',
  });
}

/** Returns the hops of a chain in order, as written: `user@host:port`. Throws for an invalid one. */
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

/** The output of `ssh -G` for a host. */
export interface SshConfig {
  readonly options: Dump;
  /** Its output without configuration. */
  readonly defaults: Dump;
  /** Whether options with a default of azp-fleet are set by no file. */
  readonly unset: { readonly strictness: boolean; readonly keepAlive: boolean };
  /** Returns `FILE:LINE` of each line that sets one of these keywords (in lower case), in the order of the files. */
  readonly places: (keywords: readonly string[]) => readonly string[];
}

/** No SSH configuration: only the inventory is used. */
export const noConfig: SshConfig = {
  options: new Map(),
  defaults: new Map(),
  unset: { strictness: true, keepAlive: true },
  places: () => [],
};

/** Defaults instead of OpenSSH's, which waits forever for TCP and for a peer that is gone. */
export const ourDefaults = { connectTimeoutS: 15, aliveIntervalS: 15, aliveCountMax: 3 } as const;

/** OpenSSH's default keys that ssh2 supports. */
const defaultIdentities = ['id_ed25519', 'id_ecdsa', 'id_rsa'];
const families: Readonly<Record<string, 4 | 6 | undefined>> = { inet: 4, inet6: 6 };

/**
 * Combines the inventory and the SSH configuration of a host. Throws for an invalid name, token or jump host.
 * `inherited`: the settings that a jump host inherits from the host behind it.
 */
export function buildOptions(
  name: string,
  spec: SshSpec,
  config: SshConfig,
  local: Local,
  inherited?: InheritedSettings,
): ConnectionOptions {
  const read = configReader(config);
  const { first } = read;
  const typed = spec.address ?? name;
  const hostname = lowercase(first('hostname') ?? typed);
  const user = spec.user ?? first('user') ?? local.user;
  const port = Number(first('port') ?? spec.port ?? 22);
  checkHostName(hostname, name);
  checkUserName(user, name);
  const jump = first('proxyjump') ?? spec.jump ?? '';
  const hostKeyAlias = first('hostkeyalias')?.toLowerCase();
  const values = { typed, hostname, port, user, alias: hostKeyAlias, jump: jump === 'none' ? '' : jump };
  const tokens = commandTokens(values);
  const ofInventory = inventoryOptions(spec);
  const inheritedKeys = inherited?.identityFiles ?? [];
  const { keys, ...identities } = identityOptions(name, spec, read, local, {
    tokens: fileTokens(values, local),
    inheritedKeys,
  });
  const login = loginRules(read);
  const policy = hostKeyPolicyOf(spec, first('stricthostkeychecking'), config.unset.strictness, inherited);
  // As in ssh, BatchMode refuses a key that it would ask about.
  const hostKeyPolicy = policy === 'ask' && !login.asks ? 'strict' : policy;
  return {
    name,
    inInventory: true,
    typed,
    sshConfig: spec.sshConfig,
    hostname,
    port,
    user,
    ...identities,
    agent: agentSocket(first('identityagent'), local),
    jump: chainOf(expandTokens(values.jump, tokens) ?? refuse('ProxyJump', values.jump, name), name),
    inherited: {
      hostKeyPolicy,
      strict: spec.hostKeyPolicy === 'strict',
      identityFiles: [...new Set([spec.identityFile ?? [], inheritedKeys].flat())],
    },
    proxyCommand: proxyCommand(first('proxycommand'), tokens, name),
    family: families[first('addressfamily') ?? 'any'],
    bindAddress: first('bindaddress'),
    ...knownHostsOptions(read, local),
    hostKeyAlias,
    hostKeyPolicy,
    pinned: spec.hostKeys,
    ...timeLimits(read, config.unset.keepAlive),
    algorithms: {
      ciphers: read.list('ciphers'),
      kex: read.list('kexalgorithms'),
      macs: read.list('macs'),
      hostKey: read.list('hostkeyalgorithms'),
    },
    login,
    unsupported: unusedOptions(read, config),
    refused: refusedOptions(spec, read, config, login),
    arguments: [...inventoryArguments(spec), ...withDefaultKeys(keys, config.options.get('identityfile'))],
    ofInventory,
    ofSsh: new Set(
      [...config.options.keys()].filter((option) => read.isSet(option) && !ofInventory.has(option)),
    ),
  };
}

/** Reads options from the output of `ssh -G`. */
interface ConfigReader {
  readonly options: Dump;
  readonly first: (option: string) => string | undefined;
  /** Whether the value differs from ssh's default. */
  readonly isSet: (option: string) => boolean;
  /** The values of a list between commas; undefined: ssh's default. */
  readonly list: (option: string) => readonly string[] | undefined;
}

function configReader({ options, defaults }: SshConfig): ConfigReader {
  const whole = (dump: Dump, option: string): string | undefined => dump.get(option)?.join('\n');
  const first = (option: string): string | undefined => options.get(option)?.[0];
  const isSet = (option: string): boolean =>
    options.has(option) && whole(options, option) !== whole(defaults, option);
  return { options, first, isSet, list: (option) => (isSet(option) ? first(option)?.split(',') : undefined) };
}

/** Returns the settings of key files. `keys`: the inherited keys that are used, as written. */
function identityOptions(
  name: string,
  { identityFile }: SshSpec,
  { options, first, isSet }: ConfigReader,
  local: Local,
  { tokens, inheritedKeys }: { readonly tokens: Tokens; readonly inheritedKeys: readonly string[] },
): Pick<ConnectionOptions, 'identityFiles' | 'identityOfInventory' | 'identitiesNamed' | 'identitiesOnly'> & {
  readonly keys: readonly string[];
} {
  const identitiesNamed = isSet('identityfile') || (options.size === 0 && identityFile !== undefined);
  const written = options.get('identityfile') ?? (identityFile === undefined ? [] : [identityFile]);
  const keys = identitiesNamed ? [] : inheritedKeys;
  const folder = posix.join(local.home, '.ssh');
  const expanded = (file: string): string =>
    expandFile(file, tokens, local) ?? refuse('IdentityFile', file, name);
  return {
    identityFiles: identitiesNamed
      ? written.filter((file) => file.toLowerCase() !== 'none').map(expanded)
      : [...keys.map(expanded), ...defaultIdentities.map((file) => posix.join(folder, file))],
    identityOfInventory: identityFile === undefined ? undefined : expanded(identityFile),
    identitiesNamed,
    identitiesOnly: first('identitiesonly') === 'yes',
    keys,
  };
}

function knownHostsOptions(
  { first }: ConfigReader,
  { home }: Local,
): Pick<ConnectionOptions, 'userKnownHosts' | 'globalKnownHosts' | 'hashKnownHosts'> {
  const files = (option: string, defaults: string): readonly string[] =>
    filesOf(first(option) ?? defaults).map((file) => expandHome(file, home));
  return {
    userKnownHosts: files('userknownhostsfile', '~/.ssh/known_hosts ~/.ssh/known_hosts2'),
    globalKnownHosts: files('globalknownhostsfile', '/etc/ssh/ssh_known_hosts /etc/ssh/ssh_known_hosts2'),
    hashKnownHosts: first('hashknownhosts') === 'yes',
  };
}

function timeLimits(
  { first }: ConfigReader,
  isKeepAliveUnset: boolean,
): Pick<ConnectionOptions, 'connectTimeoutMs' | 'aliveIntervalMs' | 'aliveCountMax'> {
  const interval = isKeepAliveUnset ? undefined : first('serveraliveinterval');
  return {
    connectTimeoutMs: seconds(first('connecttimeout'), ourDefaults.connectTimeoutS) * 1000,
    aliveIntervalMs: seconds(interval, ourDefaults.aliveIntervalS) * 1000,
    aliveCountMax: Number(first('serveralivecountmax') ?? ourDefaults.aliveCountMax),
  };
}

/** The methods of the built-in client, in the order in which they are tried by default. */
export const loginMethods: readonly LoginMethod[] = ['publickey', 'keyboard-interactive', 'password'];
/** OpenSSH's default of NumberOfPasswordPrompts. */
const passwordPrompts = 3;
/** OpenSSH's shortest RSA key in bits: SSH_RSA_MINIMUM_MODULUS_SIZE. */
const shortestRsa = 1024;

function loginRules({ first, list }: ConfigReader): LoginRules {
  const isOff = (option: string): boolean => isNo(first(option));
  const asks = first('batchmode') !== 'yes';
  const prompts = asks ? Number(first('numberofpasswordprompts') ?? passwordPrompts) : 0;
  const questions = ['kbdinteractiveauthentication', 'challengeresponseauthentication'];
  const allowed: Readonly<Record<LoginMethod, boolean>> = {
    publickey: !isOff('pubkeyauthentication'),
    'keyboard-interactive': prompts > 0 && !questions.some(isOff),
    password: prompts > 0 && !isOff('passwordauthentication'),
  };
  const preferred = first('preferredauthentications')?.split(',');
  const order =
    preferred?.flatMap((name) => loginMethods.filter((method) => method === name)) ?? loginMethods;
  return {
    methods: [...new Set(order)].filter((method) => allowed[method]),
    asks,
    prompts,
    keyAlgorithms: list('pubkeyacceptedalgorithms') ?? list('pubkeyacceptedkeytypes'),
    minimumRsaBits: Number(first('requiredrsasize') ?? first('rsaminsize') ?? shortestRsa),
  };
}

/** Whether a value turns an option off. */
function isNo(value: string | undefined): boolean {
  return /^(no|none|false)$/i.test(value ?? '');
}

/** Returns the options that only add a way to log in. Distributions enable Kerberos for every user: not reported. */
function unusedOptions({ options, first, isSet }: ConfigReader, { places }: SshConfig): readonly string[] {
  const ownFile = (option: string): boolean =>
    !option.startsWith('gssapi') || places([option]).some((place) => !place.startsWith('/etc/ssh/'));
  return [...options.keys()].filter(
    (option) =>
      isSet(option) && !isNo(first(option)) && keywordOf(option).outcome === 'unused' && ownFile(option),
  );
}

/** Options that can exclude each method of the built-in client; then only the system's ssh may know another one. */
const methodOptions = new Set([
  'preferredauthentications',
  'pubkeyauthentication',
  'passwordauthentication',
  'kbdinteractiveauthentication',
  'challengeresponseauthentication',
  'batchmode',
  'numberofpasswordprompts',
]);
/** With pinned host keys, other sources of keys are not asked. */
const keySources = new Set(['KnownHostsCommand', 'VerifyHostKeyDNS']);
/** Options whose files `ssh -G` prints with the tilde. */
const fileOptions = new Set(['identityfile', 'globalknownhostsfile']);
/** A file of another user, whose home folder only ssh looks up: `~ann/key`. */
const otherHome = /^~[^/]/;

/** Returns the options that the built-in client must not ignore: no restriction is dropped. */
function refusedOptions(
  { identityFile, hostKeys }: SshSpec,
  { options, isSet }: ConfigReader,
  { places }: SshConfig,
  { methods }: LoginRules,
): readonly SetOption[] {
  const isRefused = (option: string, value: string): boolean => {
    const { name, outcome, isListed } = keywordOf(option);
    if (fileOptions.has(option)) return filesOf(value).some((file) => otherHome.test(file));
    if (methods.length === 0 && methodOptions.has(option)) return true;
    if (option === 'pubkeyauthentication') return value === 'host-bound';
    if (outcome !== 'refused' || (hostKeys.length > 0 && keySources.has(name))) return false;
    return !isListed || !isNo(value);
  };
  const ofFiles = [...options].flatMap(([option, values]) => {
    const { name: keyword, former = [] } = keywordOf(option);
    const lines = (): readonly string[] => places([keyword, ...former].map((each) => each.toLowerCase()));
    return (isSet(option) ? values : [])
      .filter((value) => value !== identityFile && isRefused(option, value))
      .map((value) => ({ keyword, value, places: lines() }));
  });
  if (identityFile === undefined || !otherHome.test(identityFile)) return ofFiles;
  const ofInventory = ['identityFile: in the inventory'];
  return [{ keyword: 'IdentityFile', value: identityFile, places: ofInventory }, ...ofFiles];
}

function hostKeyPolicyOf(
  spec: SshSpec,
  checking: string | undefined,
  isUnset: boolean,
  inherited: InheritedSettings | undefined,
): ConnectionOptions['hostKeyPolicy'] {
  if (spec.hostKeyPolicy === 'strict' || checking === 'true' || checking === 'yes') return 'strict';
  if (isUnset) return inherited?.hostKeyPolicy ?? 'accept-new';
  return checking === 'ask' ? 'ask' : 'accept-new';
}

/** Returns arguments for key files and the default ones, which ssh omits as soon as one is set. */
function withDefaultKeys(
  files: readonly string[],
  own: readonly string[] = defaultIdentities.map((name) => `~/.ssh/${name}`),
): string[] {
  if (files.length === 0) return [];
  return [...files.flatMap((file) => ['-i', file]), ...own.flatMap((name) => ['-o', `IdentityFile=${name}`])];
}

function proxyCommand(command: string | undefined, tokens: Tokens, name: string): string | undefined {
  if (command === undefined || command.toLowerCase() === 'none') return undefined;
  return expandTokens(command, tokens) ?? refuse('ProxyCommand', command, name);
}

function refuse(option: string, text: string, name: string): never {
  throw usageError({
    code: 'ssh.config',
    host: name,
    step: 'connect',
    what: `${option} contains an unknown token or an unset variable`,
    expected: 'tokens of ssh_config and set variables',
    seen: text,
    next: `correct ${option} in the SSH configuration; write a percent sign as %%`,
  });
}

function lowercase(hostname: string): string {
  return isIP(hostname) === 0 ? hostname.toLowerCase() : hostname;
}

/** Returns the agent's socket; ssh has expanded the value except for variable names. */
function agentSocket(value: string | undefined, { env, home }: Local): string | undefined {
  // Empty means unset.
  if (value === undefined || value === 'SSH_AUTH_SOCK') return env['SSH_AUTH_SOCK'] || undefined;
  if (value.toLowerCase() === 'none') return undefined;
  return value.startsWith('$') && !value.startsWith('${') ? env[value.slice(1)] : expandHome(value, home);
}

/** Parses seconds; `none` means unset. */
function seconds(text: string | undefined, fallback: number): number {
  return text === undefined || !/^\d+$/.test(text) ? fallback : Number(text);
}

/**
 * The settings of a connection, with names and values as in `ssh -G` (identityfile, the known-hosts files and the
 * algorithms as lists). `from` has the source of each value: `inventory`, `ssh` (its configuration differs from the
 * default) or `default`. Options that are not in effect are omitted.
 */
export interface ConnectionDescription {
  readonly [option: string]: string | number | readonly string[] | Readonly<Record<string, string>>;
  readonly from: Readonly<Record<string, 'inventory' | 'ssh' | 'default'>>;
}

/** Describes a connection for `inventory show`. */
export function describeConnection(options: ConnectionOptions): ConnectionDescription {
  const { algorithms, unsupported, refused } = options;
  const names = [...unsupported, ...refused.map(({ keyword }) => keyword.toLowerCase())];
  const needOpenssh = names.filter((option) => !fileOptions.has(option));
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
    ...Object.fromEntries(needOpenssh.map((option) => [option, 'only with transport: openssh'])),
  };
  const set = Object.entries(values).filter(
    (entry): entry is [string, string | number | readonly string[]] => entry[1] !== undefined,
  );
  const from = Object.fromEntries(set.map(([option]) => [option, origin(options, option)]));
  return { ...Object.fromEntries(set), from };
}

function origin(options: ConnectionOptions, option: string): 'inventory' | 'ssh' | 'default' {
  // The host's name and its address are from the inventory.
  const same = options.hostname === options.typed.toLowerCase();
  if (options.ofInventory.has(option) || (option === 'hostname' && same)) return 'inventory';
  // ssh's default is `ask`; if a file sets it too, the source is the file.
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
