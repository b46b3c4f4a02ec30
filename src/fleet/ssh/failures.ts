import type { ErrorCode } from '../../shared/base/codes/code.ts';
import { FleetError, type Problem, usageError } from '../../shared/base/errors.ts';
import { quote } from '../../shared/base/shell.ts';
import { type ConnectionOptions, loginMethods } from './config/options.ts';

/** Returns the address as a user writes it: `ann@192.0.2.7:2222`. */
export function where({
  user,
  hostname,
  port,
}: Pick<ConnectionOptions, 'user' | 'hostname' | 'port'>): string {
  return `${user}@${hostname}${port === 22 ? '' : `:${port}`}`;
}

/** Returns the command that reproduces a connection by hand. */
export function byHand(options: ConnectionOptions, flags = ''): string {
  const { sshConfig } = options;
  const file = sshConfig === undefined ? '' : `-F ${quote(sshConfig)} `;
  const port = options.port === 22 ? '' : `-p ${options.port} `;
  const jump = options.ofInventory.has('proxyjump') ? `-J ${options.jump.join(',') || 'none'} ` : '';
  return `ssh ${flags}${file}${jump}${port}${options.user}@${options.typed}`;
}

/** Returns the next action for an unknown host key. */
export function reviewKey(options: ConnectionOptions): string {
  return options.inInventory
    ? `azp-fleet trust --limit ${options.name}   # shows the key for review and pins it in the inventory`
    : `${byHand(options, '-o StrictHostKeyChecking=ask ')} true   # shows the key for review and files it`;
}

/** Returns the next action for a name that does not resolve. */
function nameNext({ name, typed, hostname, inInventory }: ConnectionOptions): string {
  if (!inInventory) return `correct "jump:" in the inventory, or make ${hostname} resolvable on this machine`;
  const key = typed === name ? 'set' : 'correct';
  return `${key} "address:" of ${name} in the inventory: a name that this machine can resolve, or an IP address`;
}

interface Parts {
  readonly code: ErrorCode;
  readonly what: string;
  readonly expected?: string;
  readonly seen?: string;
  readonly next: string;
}

export function connectError(options: ConnectionOptions, parts: Parts, cause?: unknown): FleetError {
  return new FleetError({ host: options.name, step: 'connect', ...parts }, { cause });
}

/** Returns the error for a failed connection, from the error of the socket or of ssh2. */
export function connectFailure(options: ConnectionOptions, error: unknown): FleetError {
  if (error instanceof FleetError) return error;
  const { code, level, message } = error as { code?: string; level?: string; message?: string };
  const seen = message ?? String(error);
  const address = `${options.hostname}:${options.port}`;
  const make = (parts: Parts): FleetError => connectError(options, { seen, ...parts }, error);
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
    return make({
      code: 'ssh.dns',
      what: `the name ${options.hostname} cannot be resolved`,
      next: nameNext(options),
    });
  }
  if (code === 'ECONNREFUSED') {
    return make({
      code: 'ssh.refused',
      what: `nothing listens on ${address}`,
      expected: 'an SSH server',
      next: `check that sshd runs there and that the port is right ("port:" in the inventory)`,
    });
  }
  if (code === 'ETIMEDOUT' || code === 'EHOSTUNREACH' || code === 'ENETUNREACH' || code === 'EHOSTDOWN') {
    return make({
      code: code === 'ETIMEDOUT' ? 'ssh.timeout' : 'ssh.unreachable',
      what: `${address} does not answer`,
      next: `correct "address:" or "port:" in the inventory, or check the network path: is the machine up (ping -c 3 ${options.hostname}), does a firewall or a VPN block it?`,
    });
  }
  if (level === 'handshake' || /no matching/i.test(seen)) {
    return make({
      code: 'ssh.handshake',
      what: `no common algorithms with ${address}`,
      next: 'set "transport: openssh" for this host: the system\'s ssh may support the algorithms of the server',
    });
  }
  return make({
    code: 'ssh.connection-lost',
    what: `${address} closed the connection before login`,
    next: 'check journalctl -u ssh on the host: MaxStartups, fail2ban or a firewall may reject this machine',
  });
}

/** Throws if the built-in client would ignore a restriction of the SSH configuration. */
export function checkSupported(options: ConnectionOptions): void {
  const { refused } = options;
  if (refused.length === 0) return;
  const names = [...new Set(refused.map(({ keyword }) => keyword))].join(', ');
  const shown = refused.map(({ keyword, value, places }) => {
    const more = places.length > mostPlaces ? ', …' : '';
    return `${keyword} ${value}${places.length === 0 ? '' : ` (${places.slice(0, mostPlaces).join(', ')}${more})`}`;
  });
  throw usageError({
    code: 'ssh.unsupported',
    host: options.name,
    step: 'connect',
    what: `the built-in client does not support ${names} of the SSH configuration; nothing was sent`,
    seen: shown.join('\n'),
    next: 'set "transport: openssh" for this host in the inventory, or remove the option for it',
  });
}

/** Maximum lines of the configuration that an error names for one option. */
const mostPlaces = 3;

/** A key that was not offered. */
export interface LeftOut {
  /** File of the key. */
  readonly key: string;
  readonly why: string;
  /** The fix. */
  readonly next?: string;
}

interface Attempts {
  readonly tried: readonly string[];
  readonly leftOut?: readonly LeftOut[];
  /** Methods of which the host wants one more, after a credential that it accepted. */
  readonly missing?: readonly string[];
}

export function authFailure(options: ConnectionOptions, attempts: Attempts, cause?: unknown): FleetError {
  const { tried, leftOut = [], missing = [] } = attempts;
  const offered = tried.length === 0 ? 'nothing to offer' : `tried ${tried.join(', ')}`;
  const others = leftOut.map(({ key, why }) => `key ${key} (${why})`).join(', ');
  const { methods } = options.login;
  const none = tried.length === 0 && leftOut.length === 0 && methods.includes('publickey');
  const excluded = loginMethods.filter((method) => !methods.includes(method)).join(', ');
  return connectError(
    options,
    {
      code: 'ssh.auth',
      what:
        missing.length === 0
          ? `${where(options)} accepted no credential`
          : `${where(options)} accepted one credential, and wants another`,
      expected:
        missing.length === 0 ? 'one of the keys to be in ~/.ssh/authorized_keys there' : missing.join(' or '),
      seen: [
        none ? `${offered}: no key file and no agent key found` : offered,
        others && `not offered: ${others}`,
        excluded && `excluded by the SSH configuration: ${excluded}`,
      ]
        .filter(Boolean)
        .join('; '),
      next: nextStep(options, attempts),
    },
    cause,
  );
}

/**
 * Returns the fix for a key that was not offered, if it is configured or nothing else was tried; else other actions.
 */
function nextStep(options: ConnectionOptions, { tried, leftOut = [], missing = [] }: Attempts): string {
  const { identitiesNamed, identityOfInventory } = options;
  const counts = ({ key }: LeftOut): boolean =>
    identitiesNamed || tried.length === 0 || key === identityOfInventory;
  const fixable = leftOut.find((each) => each.next !== undefined && counts(each));
  if (fixable?.next !== undefined) return fixable.next;
  const excluded = loginMethods.filter((method) => !options.login.methods.includes(method));
  const denied = excluded.filter((method) => missing.includes(method));
  if (denied.length > 0 && denied.length === missing.length)
    return `allow ${denied.join(' or ')} for this host in the SSH configuration, which excludes it`;
  if (missing.some((method) => method !== 'publickey'))
    return 'set "loginPassword:" for this host in the inventory, or run this at a terminal, to be asked';
  const named = options.identitiesNamed ? options.identityFiles[0] : undefined;
  const copy = `${copyKey(options, named)}   # certificates, security keys and Kerberos need "transport: openssh"`;
  return tried.length === 0
    ? `ssh-keygen -t ed25519 -f ~/.ssh/id_ed25519 && ${copy}`
    : `check that ${options.user} is the right user ("user:" in the inventory), then: ${copy}`;
}

function copyKey(options: ConnectionOptions, key: string | undefined): string {
  const { port, user, typed, jump, ofInventory } = options;
  const file = key === undefined ? '' : `-i ${quote(key)} `;
  const by = port === 22 ? '' : `-p ${port} `;
  const through = ofInventory.has('proxyjump') && jump.length > 0 ? `-o ProxyJump=${jump.join(',')} ` : '';
  return `ssh-copy-id ${file}${by}${through}${user}@${typed}`;
}

/** Returns the error for a server that is not SSH. `firstLine`: its first line. */
export function noSshServer(options: ConnectionOptions, firstLine: string): FleetError {
  return connectError(options, {
    code: 'ssh.no-server',
    what: `${options.hostname}:${options.port} answers, but not as an SSH server`,
    expected: 'an SSH server, which begins with SSH-2.0',
    seen: firstLine,
    next: 'correct "port:" or "address:" of the host in the inventory',
  });
}

export function connectionLost(host: string, during: string, cause?: unknown): FleetError {
  return new FleetError(
    {
      code: 'ssh.connection-lost',
      host,
      step: 'connect',
      what: `the connection was lost during ${during}`,
      next: 'run the same command again: it continues from the current state of the host',
    },
    { cause },
  );
}

export function isConnectionLost(error: unknown): boolean {
  return error instanceof FleetError && error.problem.code === 'ssh.connection-lost';
}

/** Returns the error for a jump host that accepts the login, but cannot reach the next host. */
export function throughHop(options: ConnectionOptions, hop: ConnectionOptions, error: unknown): FleetError {
  const seen = error instanceof Error ? error.message : String(error);
  const isRefused = /refused/i.test(seen);
  const fix = isRefused
    ? `check that sshd runs there and that the port is right ("port:" in the inventory)`
    : `set AllowTcpForwarding yes in sshd_config of ${hop.name}, and check that it reaches the host`;
  return connectError(
    options,
    {
      code: isRefused ? 'ssh.refused' : 'ssh.jump',
      what: `the jump host ${hop.name} cannot reach ${options.hostname}:${options.port}`,
      seen,
      next: `${fix}: ${byHand(hop)} nc -zv ${options.hostname} ${options.port}`,
    },
    error,
  );
}

/** Turns the error of a jump host into that of the host behind it. */
export function ofHost(host: string, error: unknown): unknown {
  if (!(error instanceof FleetError) || error.problem.host === host) return error;
  const { problem } = error;
  return new FleetError(
    { ...problem, host, what: `jump host ${problem.host ?? ''}: ${problem.what}` },
    { cause: error, exitCode: error.exitCode },
  );
}

/** The next action for a host that does not finish a command. */
export const checkHostLoad =
  'check the host: uptime; dmesg | tail   # heavy load, a hung file system or a hung GPU driver are the usual causes';

/** Returns the error for an aborted signal: Ctrl-C, or the caller's. */
export function interrupted(host: string): FleetError {
  return new FleetError({
    code: 'interrupted',
    host,
    what: 'interrupted',
    next: 'run the same command again',
  });
}

/** Returns whether the host does not answer: its address may be wrong, or it is off. Pure. */
export function cannotReach({ code }: Problem): boolean {
  return /^ssh\.(unreachable|refused|timeout|dns|connection-lost)$/.test(code);
}
