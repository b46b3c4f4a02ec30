import { usageError } from '../../../shared/base/errors.ts';
import { type Hop, parseHop } from '../../../shared/base/jump-chain.ts';
import type { SecretSource, SshSpec } from '../../inventory/fleet.ts';
import type { Target } from '../transport.ts';
import { plainSpec } from './inventory-options.ts';
import { type ConnectionOptions, type InheritedSettings, chainOf } from './options.ts';

/** One jump host, with the options of its login. */
export interface JumpHost {
  readonly options: ConnectionOptions;
  /** The inventory's password for this host and user. */
  readonly loginPassword: SecretSource | undefined;
}

type Resolve = (name: string, spec: SshSpec, inherited: InheritedSettings) => Promise<ConnectionOptions>;

/** Maximum jump hosts: tokens can create new names without end. */
const mostHops = 16;

/**
 * Returns the jump hosts of a host, in the order of the connection: each has the policy of the host behind it, and its
 * own inventory settings. Throws `ssh.jump` if they form a loop.
 */
export async function jumpHostsTo(
  options: ConnectionOptions,
  hosts: readonly Target[],
  resolve: Resolve,
): Promise<readonly JumpHost[]> {
  const jumps: JumpHost[] = [];
  const visited = new Set<string>();
  for (let behind = options; behind.proxyCommand === undefined && behind.jump.length > 0;) {
    const chain = [behind.sshConfig, ...behind.jump].join('\n');
    if (visited.has(chain) || jumps.length === mostHops) throw loop(options.name, behind.jump);
    visited.add(chain);
    const hop = await jumpHost(behind, hosts, resolve);
    jumps.unshift(hop);
    behind = hop.options;
  }
  return jumps;
}

async function jumpHost(
  behind: ConnectionOptions,
  hosts: readonly Target[],
  resolve: Resolve,
): Promise<JumpHost> {
  const { name, ssh, known } = hopTarget(behind, hosts);
  const { loginPassword, ...spec } = ssh;
  const options = await resolve(name, spec, behind.inherited);
  if (known) return { options, loginPassword };
  const host = hostAt(options, hosts);
  if (host === undefined) return { options: { ...options, inInventory: false }, loginPassword };
  // The same machine under another name: its pinned keys apply.
  const { hostKeys, hostKeyPolicy } = host.ssh;
  const pinned = { ...spec, address: name, hostKeys };
  const strict = hostKeyPolicy === 'strict' ? { ...pinned, hostKeyPolicy } : pinned;
  return { options: await resolve(host.name, strict, behind.inherited), loginPassword };
}

function loop(host: string, chain: readonly string[]): Error {
  return usageError({
    code: 'ssh.jump',
    host,
    step: 'connect',
    what: `the jump hosts to ${chain.at(-1) ?? ''} form a loop`,
    next: 'end the chain for the jump host: "ProxyJump none" in ~/.ssh/config, or "jump: none" in the inventory',
  });
}

const sshPort = 22;
const same = (one: string, other: string): boolean => one.toLowerCase() === other.toLowerCase();

/**
 * Finds the host of the inventory that a hop refers to: by its name, else by its address. If several share the address
 * (ports of one gateway), by the hop's port, default 22; a hop without a port matches the only host with the address.
 */
export function hostOfHop({ host, port }: Hop, hosts: readonly Target[]): Target | undefined {
  const named = hosts.find(({ name }) => same(name, host));
  if (named !== undefined) return named;
  const sameAddress = hosts.filter(({ ssh }) => ssh.address !== undefined && same(ssh.address, host));
  const exact = sameAddress.find(({ ssh }) => (ssh.port ?? sshPort) === (port ?? sshPort));
  return exact ?? (port === undefined && sameAddress.length === 1 ? sameAddress[0] : undefined);
}

/** Finds the host of the inventory with the address and port of a hop, under any name. */
function hostAt(
  { hostname, port }: Pick<ConnectionOptions, 'hostname' | 'port'>,
  hosts: readonly Target[],
): Target | undefined {
  return hosts.find(({ name, ssh }) => same(ssh.address ?? name, hostname) && (ssh.port ?? sshPort) === port);
}

/** A hop as a connection target. */
interface HopTarget extends Target {
  /** Whether the inventory has it. */
  readonly known: boolean;
}

/**
 * Returns the last hop before a host with its inventory settings, or with the ssh_config of the host behind it. Values
 * written in the hop override these; the hops before it are its jump hosts.
 */
export function hopTarget(
  { jump, sshConfig, inherited }: Pick<ConnectionOptions, 'jump' | 'sshConfig' | 'inherited'>,
  hosts: readonly Target[],
): HopTarget {
  const [text = '', ...before] = jump.toReversed();
  const hop = parseHop(text) ?? { host: text };
  const { host, ...written } = hop;
  const found = hostOfHop(hop, hosts);
  const { loginPassword, ...own } = found?.ssh ?? plainSpec(sshConfig);
  const isSameUser = hop.user === undefined || hop.user === own.user;
  const ssh: SshSpec = {
    ...own,
    ...written,
    ...(before.length === 0 ? {} : { jump: before.toReversed().join(',') }),
    ...(inherited.strict ? { hostKeyPolicy: 'strict' } : {}),
    // The password belongs to the inventory's user.
    ...(loginPassword !== undefined && isSameUser ? { loginPassword } : {}),
  };
  return { name: found?.name ?? host, ssh, known: found !== undefined };
}

/**
 * Returns the hops of a host, cut before the host itself, so that `jump:` in `defaults` also works for the jump hosts.
 * `none` if no hop is left.
 */
export function jumpTo({ name, ssh: { jump } }: Target, hosts: readonly Target[]): string | undefined {
  if (jump === undefined) return undefined;
  const chain = chainOf(jump, name);
  const self = chain.findIndex((text) => {
    const hop = parseHop(text);
    return hop !== undefined && hostOfHop(hop, hosts)?.name === name;
  });
  if (self === -1) return jump;
  return chain.slice(0, self).join(',') || 'none';
}
