import { posix } from 'node:path';

import type { SshSpec } from '../../inventory/fleet.ts';
import { evaluateConfig } from './evaluate.ts';
import type { ConfigFiles, ConfigWorld, RawOptions } from './outside.ts';
import { expandPath, expandTokens, tokensFor } from './tokens.ts';

/** Everything that decides how a host is reached, expanded, with the place each value came from. */
export interface ConnectionOptions {
  /** The inventory's name; what messages call the host. */
  readonly name: string;
  /** What a person would type after `ssh`. */
  readonly typed: string;
  readonly hostname: string;
  readonly port: number;
  readonly user: string;
  readonly identityFiles: readonly string[];
  /** The identity files were named by somebody, not guessed. */
  readonly identitiesNamed: boolean;
  readonly identitiesOnly: boolean;
  /** Socket path; undefined: no agent. */
  readonly agent: string | undefined;
  /** Hops in the order they are passed, as written: `user@host:port`. */
  readonly jump: readonly string[];
  readonly proxyCommand: string | undefined;
  /** Undefined: whichever address works. */
  readonly family: 4 | 6 | undefined;
  readonly bindAddress: string | undefined;
  readonly userKnownHosts: readonly string[];
  readonly globalKnownHosts: readonly string[];
  readonly hostKeyAlias: string | undefined;
  readonly hostKeyPolicy: 'accept-new' | 'strict';
  readonly pinned: readonly string[];
  readonly hashKnownHosts: boolean;
  /** 0: no limit of ours. */
  readonly connectTimeoutMs: number;
  /** 0: no keep-alive. */
  readonly aliveIntervalMs: number;
  readonly aliveCountMax: number;
  readonly algorithms: {
    readonly ciphers: string | undefined;
    readonly kex: string | undefined;
    readonly macs: string | undefined;
    readonly hostKey: string | undefined;
  };
  /** Options in effect that only the system's ssh can honour. */
  readonly unsupported: readonly { readonly option: string; readonly from: string }[];
  /** ssh_config options as read, unexpanded. */
  readonly raw: RawOptions;
}

/** Our own defaults where OpenSSH has none that suits many hosts: it waits for ever, for TCP and for a dead peer. */
const connectTimeoutS = 15;
const aliveIntervalS = 15;
const aliveCountMax = 3;

const families: Readonly<Record<string, 4 | 6 | undefined>> = { inet: 4, inet6: 6 };

/** Keys that OpenSSH looks for and ssh2 can use. */
const defaultIdentities = ['id_ed25519', 'id_ecdsa', 'id_rsa'];

const onlyOpenssh = [
  'certificatefile',
  'pkcs11provider',
  'securitykeyprovider',
  'knownhostscommand',
  'verifyhostkeydns',
  'canonicalizehostname',
  'proxyusefdpass',
  'bindinterface',
  'revokedhostkeys',
  'gssapiauthentication',
];

/** The inventory's values stand where ssh has its command line: they win over both files. */
export function resolveConnection(
  name: string,
  spec: SshSpec,
  files: ConfigFiles,
  world: ConfigWorld,
  env: Readonly<Record<string, string | undefined>>,
): ConnectionOptions {
  const typed = spec.address ?? name;
  const raw = evaluateConfig(typed, files, world, fromInventory(spec));
  const first = (key: string): string | undefined => raw.get(key)?.[0]?.args[0];
  const list = (key: string, fallback: string[]): readonly string[] => raw.get(key)?.[0]?.args ?? fallback;
  const tokens = tokensFor(typed, typed, raw, world);
  const path = (text: string): string => expandTokens(expandPath(text, world.home, env), tokens);
  const ssh = posix.join(world.home, '.ssh');
  const identities = raw.get('identityfile')?.flatMap((value) => value.args) ?? [];
  const proxy = proxyOf(raw);
  return {
    name,
    typed,
    hostname: lowercase(tokens['h'] ?? typed, world),
    port: Number(tokens['p']),
    user: tokens['r'] ?? world.user,
    identityFiles: (identities.length > 0
      ? identities
      : defaultIdentities.map((file) => posix.join(ssh, file))
    )
      .filter((file) => file.toLowerCase() !== 'none')
      .map(path),
    identitiesNamed: identities.length > 0,
    identitiesOnly: first('identitiesonly')?.toLowerCase() === 'yes',
    agent: agentSocket(first('identityagent'), env, path),
    jump: proxy.jump,
    proxyCommand:
      proxy.command === undefined ? undefined : expandTokens(proxy.command.replace(/^exec\s+/, ''), tokens),
    family: families[first('addressfamily')?.toLowerCase() ?? 'any'],
    bindAddress: first('bindaddress'),
    userKnownHosts: list('userknownhostsfile', [`${ssh}/known_hosts`, `${ssh}/known_hosts2`])
      .filter(notNone)
      .map(path),
    globalKnownHosts: list('globalknownhostsfile', ['/etc/ssh/ssh_known_hosts', '/etc/ssh/ssh_known_hosts2'])
      .filter(notNone)
      .map(path),
    hostKeyAlias: first('hostkeyalias')?.toLowerCase(),
    hostKeyPolicy:
      spec.hostKeyPolicy === 'strict' || /^(yes|true)$/i.test(first('stricthostkeychecking') ?? '')
        ? 'strict'
        : 'accept-new',
    pinned: spec.hostKeys,
    hashKnownHosts: first('hashknownhosts')?.toLowerCase() === 'yes',
    connectTimeoutMs: seconds(first('connecttimeout'), connectTimeoutS) * 1000,
    aliveIntervalMs: seconds(first('serveraliveinterval'), aliveIntervalS) * 1000,
    aliveCountMax: Number(first('serveralivecountmax') ?? aliveCountMax),
    algorithms: {
      ciphers: first('ciphers'),
      kex: first('kexalgorithms'),
      macs: first('macs'),
      hostKey: first('hostkeyalgorithms'),
    },
    unsupported: onlyOpenssh.flatMap((option) => {
      const value = raw.get(option)?.[0];
      if (value === undefined || /^(no|none|false)$/i.test(value.args[0] ?? '')) return [];
      // Distributions switch it on for everybody; other methods follow it.
      if (option === 'gssapiauthentication' && value.from.startsWith('/etc/ssh/')) return [];
      return [{ option, from: value.from }];
    }),
    raw,
  };
}

/** One hop of a ProxyJump chain as an inventory-like target: its own ssh_config applies, but for what is written. */
export function hopSpec(hop: string): { readonly name: string; readonly spec: SshSpec } {
  const parts = /^(?:([^@]+)@)?(\[[^\]]+\]|[^:]+)(?::(\d+))?$/.exec(hop);
  const [, user, host = hop, port] = parts ?? [];
  const name = host.replace(/^\[(.*)\]$/, '$1');
  return {
    name,
    spec: {
      ...(user === undefined ? {} : { user }),
      ...(port === undefined ? {} : { port: Number(port) }),
      transport: 'builtin',
      hostKeys: [],
      hostKeyPolicy: 'accept-new',
    },
  };
}

function fromInventory(spec: SshSpec): RawOptions {
  const options: RawOptions = new Map();
  const set = (key: string, value: string | number | undefined): void => {
    if (value !== undefined) options.set(key, [{ args: [String(value)], from: 'inventory' }]);
  };
  set('port', spec.port);
  set('user', spec.user);
  set('identityfile', spec.identityFile);
  set('proxyjump', spec.jump);
  return options;
}

/** ProxyJump and ProxyCommand exclude each other: the first one counts, but `ProxyJump none` leaves room for a command. */
function proxyOf(raw: RawOptions): {
  readonly jump: readonly string[];
  readonly command: string | undefined;
} {
  const value = (key: string): string | undefined => raw.get(key)?.[0]?.args[0];
  const none = (text: string | undefined): boolean => text === undefined || text.toLowerCase() === 'none';
  const keys = [...raw.keys()];
  const jump = value('proxyjump');
  const command = value('proxycommand');
  const jumpFirst = command === undefined || keys.indexOf('proxyjump') < keys.indexOf('proxycommand');
  if (jump !== undefined && !none(jump) && jumpFirst) {
    const hops = jump.split(',').map((hop) => hop.trim().replace(/^ssh:\/\/([^/]*)\/?$/, '$1'));
    return { jump: hops, command: undefined };
  }
  return { jump: [], command: none(command) ? undefined : command };
}

function lowercase(hostname: string, world: ConfigWorld): string {
  return world.isAddress(hostname) ? hostname : hostname.toLowerCase();
}

function agentSocket(
  value: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
  path: (text: string) => string,
): string | undefined {
  if (value === undefined || value === 'SSH_AUTH_SOCK') return env['SSH_AUTH_SOCK'];
  if (value.toLowerCase() === 'none') return undefined;
  return value.startsWith('$') && !value.startsWith('${') ? env[value.slice(1)] : path(value);
}

function notNone(file: string): boolean {
  return file.toLowerCase() !== 'none';
}

/** OpenSSH's time format: `90`, `1m30s`. */
function seconds(text: string | undefined, fallback: number): number {
  if (text === undefined) return fallback;
  const units: Readonly<Record<string, number>> = { '': 1, s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 };
  const parts = [...text.toLowerCase().matchAll(/(\d+)([smhdw]?)/g)];
  return parts.length === 0
    ? fallback
    : parts.reduce((sum, [, n, unit]) => sum + Number(n) * (units[unit ?? ''] ?? 1), 0);
}
