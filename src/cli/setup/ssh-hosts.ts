import { readFileSync } from 'node:fs';
import path from 'node:path';
import { SSHConfig } from 'ssh-config';

import { plainSpec } from '../../fleet/ssh/config/inventory-options.ts';
import { SshResolver } from '../../fleet/ssh/config/resolver.ts';
import { parseKnownHosts } from '../../fleet/ssh/connect/known-hosts.ts';
import type { Context } from '../../shared/base/context.ts';
import { FleetError } from '../../shared/base/errors.ts';
import { isHostName } from '../../shared/base/jump-chain.ts';
import { withoutSecretVariables } from './secrets.ts';

/** A host in ssh_config. */
export interface KnownHost {
  readonly name: string;
  /** `user@hostname:port`, the port only if it is not 22; empty if unknown. */
  readonly leadsTo: string;
}

/** Returns the entries that may be GPU hosts. */
export async function sshConfigHosts(
  context: Pick<Context, 'home' | 'user' | 'env'>,
  sshConfig?: string,
): Promise<KnownHost[]> {
  const entries = await sshConfigEntries(context, sshConfig);
  return entries.filter(({ isForge }) => !isForge).map(({ name, leadsTo }) => ({ name, leadsTo }));
}

/**
 * Returns the hosts in the user's ssh configuration and its included files, without patterns. `sshConfig`: this file
 * instead of the default one.
 */
export async function sshConfigEntries(
  { home, user, env }: Pick<Context, 'home' | 'user' | 'env'>,
  sshConfig?: string,
): Promise<(KnownHost & { readonly isForge: boolean })[]> {
  const ssh = new SshResolver({
    home,
    user,
    env: withoutSecretVariables(env),
    notice: () => undefined,
    hosts: [],
  });
  const resolve = async (name: string): Promise<KnownHost & { readonly hostname: string }> => {
    const to = await ssh.resolve(name, plainSpec(sshConfig)).catch(nothing);
    if (to === undefined) return { name, leadsTo: '', hostname: name };
    const port = to.port === 22 ? '' : `:${to.port}`;
    return { name, leadsTo: `${to.user}@${to.hostname}${port}`, hostname: to.hostname };
  };
  try {
    const own = sshConfig ?? `${home}/.ssh/config`;
    // If ssh rejects the configuration, its names are still shown.
    const files = (await ssh.files(sshConfig).catch(nothing)) ?? [];
    const names = (files.length === 0 ? [own] : files)
      .filter((file) => !file.startsWith('/etc/ssh/'))
      .flatMap(namesIn)
      .filter(isHostName);
    const hosts = await Promise.all([...new Set(names)].map(resolve));
    return hosts.map(({ name, leadsTo, hostname }) => ({ name, leadsTo, isForge: forges.test(hostname) }));
  } finally {
    ssh.close();
  }
}

function nothing(error: unknown): undefined {
  if (!(error instanceof FleetError)) throw error;
}

function namesIn(file: string): string[] {
  try {
    return readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => /^\s*"?host"?[\s=]/i.test(line))
      .flatMap(patternsOf)
      .filter((name) => !/[*?!]/.test(name));
  } catch {
    // Unreadable files have no hosts.
    return [];
  }
}

/** Returns the patterns of a Host line; none if the line cannot be parsed. */
function patternsOf(line: string): string[] {
  try {
    const [directive] = SSHConfig.parse(line);
    if (directive === undefined || !('value' in directive)) return [];
    const { value } = directive;
    return typeof value === 'string' ? [value] : value.map(({ val }) => val);
  } catch {
    return [];
  }
}

/** Returns the hosts of known_hosts as typed: `name`, `name:2222`; without hashed names and patterns. */
export function knownHosts({ home }: Pick<Context, 'home'>): string[] {
  const lines = parseKnownHosts(readText(path.join(home, '.ssh', 'known_hosts')), 'known_hosts');
  const words = lines.flatMap(({ marker, names: [first = ''] }) =>
    marker === undefined ? wordFor(first) : [],
  );
  return [...new Set(words)];
}

/** Returns the first name of a line; the others are its addresses. */
function wordFor(name: string): string[] {
  if (/^\||[*?!]/.test(name)) return [];
  const [, inner, port] = /^\[([^\]]+)\]:(\d+)$/.exec(name) ?? [];
  const host = inner ?? name;
  if (!isHostName(host) || forges.test(host)) return [];
  const address = host.includes(':') ? `[${host}]` : host;
  return [port === undefined ? address : `${address}:${port}`];
}

/** Git servers, which are in many configurations and never GPU hosts. */
const forges = /^(ssh\.)?(github|gitlab|bitbucket|codeberg|dev\.azure|vs-ssh\.visualstudio)\.(com|org)$/;

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    // Unreadable files have no hosts.
    return '';
  }
}
