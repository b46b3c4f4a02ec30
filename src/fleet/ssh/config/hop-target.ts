import { type Hop, parseHop } from '../../../shared/base/notation/hop.ts';
import type { SshSpec } from '../../inventory/fleet.ts';
import type { Target } from '../transport.ts';
import type { ConnectionOptions } from './connection-options.ts';
import { plainSpec } from './from-inventory.ts';
import { chainOf } from './hops.ts';

const sshPort = 22;
const same = (one: string, other: string): boolean => one.toLowerCase() === other.toLowerCase();

/**
 * The host of the inventory that a hop means: by its name, else by its address. Several may share an address (ports of one
 * gateway): then that with the hop's port, or with 22 where none is written; where none is and only one is there, that one.
 */
export function hostOfHop({ host, port }: Hop, hosts: readonly Target[]): Target | undefined {
  const named = hosts.find(({ name }) => same(name, host));
  if (named !== undefined) return named;
  const there = hosts.filter(({ ssh }) => ssh.address !== undefined && same(ssh.address, host));
  const exact = there.find(({ ssh }) => (ssh.port ?? sshPort) === (port ?? sshPort));
  return exact ?? (port === undefined && there.length === 1 ? there[0] : undefined);
}

/** The host of the inventory whose address and port a connection to a hop would use, whatever the hop is called. */
export function hostAt(
  { hostname, port }: Pick<ConnectionOptions, 'hostname' | 'port'>,
  hosts: readonly Target[],
): Target | undefined {
  return hosts.find(({ name, ssh }) => same(ssh.address ?? name, hostname) && (ssh.port ?? sshPort) === port);
}

/** A hop as a target of its own. */
export interface HopTarget extends Target {
  /** Found in the inventory. */
  readonly known: boolean;
}

/**
 * The last hop before a host: what the inventory says of it, else only what is written, out of the same file of ssh's as
 * the host behind it. What is written at the hop counts for more; hops before it are how it is reached.
 */
export function hopTarget(
  { jump, sshConfig, handsOn }: Pick<ConnectionOptions, 'jump' | 'sshConfig' | 'handsOn'>,
  hosts: readonly Target[],
): HopTarget {
  const [text = '', ...before] = jump.toReversed();
  const hop = parseHop(text) ?? { host: text };
  const { host, ...written } = hop;
  const found = hostOfHop(hop, hosts);
  const { loginPassword, ...own } = found?.ssh ?? plainSpec(sshConfig);
  const isTheirs = hop.user === undefined || hop.user === own.user;
  const ssh: SshSpec = {
    ...own,
    ...written,
    ...(before.length === 0 ? {} : { jump: before.toReversed().join(',') }),
    ...(handsOn.strict ? { hostKeyPolicy: 'strict' } : {}),
    // Another user's password is not theirs.
    ...(loginPassword !== undefined && isTheirs ? { loginPassword } : {}),
  };
  return { name: found?.name ?? host, ssh, known: found !== undefined };
}

/**
 * A host's own chain of hops: it ends before the host itself, so that `jump:` in `defaults` leads to its own jump hosts,
 * too. `none` where nothing is left of it.
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
