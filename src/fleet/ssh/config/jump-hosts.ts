import { usageError } from '../../../shared/base/errors.ts';
import { type Hop, parseHop } from '../../../shared/base/jump-chain.ts';
import type { SecretSource, SshSpec } from '../../inventory/fleet.ts';
import type { Target } from '../transport.ts';
import { plainSpec } from './inventory-options.ts';
import { type ConnectionOptions, type HandedOn, chainOf } from './options.ts';

/** One jump host, with the options of its login. */
export interface JumpHost {
  readonly options: ConnectionOptions;
  /** What the inventory gives for this host and user. */
  readonly loginPassword: SecretSource | undefined;
}

type Resolve = (name: string, spec: SshSpec, handed: HandedOn) => Promise<ConnectionOptions>;

/** Names that a token makes grow have no end, and a person writes no such chain. */
const mostHops = 16;

/**
 * The jump hosts before a host, in the order they are passed: each has the policy of the host behind it, and what the
 * inventory says of it. Throws `ssh.jump` where the way leads through itself.
 */
export async function jumpHostsTo(
  options: ConnectionOptions,
  hosts: readonly Target[],
  resolve: Resolve,
): Promise<readonly JumpHost[]> {
  const way: JumpHost[] = [];
  const passed = new Set<string>();
  for (let behind = options; behind.proxyCommand === undefined && behind.jump.length > 0;) {
    const chain = [behind.sshConfig, ...behind.jump].join('\n');
    if (passed.has(chain) || way.length === mostHops) throw loop(options.name, behind.jump);
    passed.add(chain);
    const hop = await jumpHost(behind, hosts, resolve);
    way.unshift(hop);
    behind = hop.options;
  }
  return way;
}

async function jumpHost(
  behind: ConnectionOptions,
  hosts: readonly Target[],
  resolve: Resolve,
): Promise<JumpHost> {
  const { name, ssh, known } = hopTarget(behind, hosts);
  const { loginPassword, ...spec } = ssh;
  const options = await resolve(name, spec, behind.handsOn);
  if (known) return { options, loginPassword };
  const there = hostAt(options, hosts);
  if (there === undefined) return { options: { ...options, inInventory: false }, loginPassword };
  // By another name it is the same machine: what is pinned for it holds.
  const { hostKeys, hostKeyPolicy } = there.ssh;
  const pinned = { ...spec, address: name, hostKeys };
  const strict = hostKeyPolicy === 'strict' ? { ...pinned, hostKeyPolicy } : pinned;
  return { options: await resolve(there.name, strict, behind.handsOn), loginPassword };
}

function loop(host: string, chain: readonly string[]): Error {
  return usageError({
    code: 'ssh.jump',
    host,
    step: 'connect',
    what: `the network path to ${chain.at(-1) ?? ''} leads through itself`,
    next: 'end the chain for the jump host: "ProxyJump none" in ~/.ssh/config, or "jump: none" in the inventory',
  });
}

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
function hostAt(
  { hostname, port }: Pick<ConnectionOptions, 'hostname' | 'port'>,
  hosts: readonly Target[],
): Target | undefined {
  return hosts.find(({ name, ssh }) => same(ssh.address ?? name, hostname) && (ssh.port ?? sshPort) === port);
}

/** A hop as a target of its own. */
interface HopTarget extends Target {
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
