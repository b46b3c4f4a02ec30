import { isIP } from 'node:net';
import { posix } from 'node:path';

import { usageError } from '../../../shared/base/errors.ts';
import type { SshSpec } from '../../inventory/fleet.ts';
import type { ConnectionOptions, HandedOn } from './connection-options.ts';
import { type Dump, filesOf } from './dump.ts';
import { inventoryArguments, inventoryOptions } from './from-inventory.ts';
import { chainOf } from './hops.ts';
import { checkHostName, checkUserName } from './names.ts';
import { commandTokens, expandFile, expandHome, expandTokens, fileTokens, type Local } from './tokens.ts';

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
