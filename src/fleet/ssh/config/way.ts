import { usageError } from '../../../shared/base/errors.ts';
import type { SecretSource, SshSpec } from '../../inventory/fleet.ts';
import type { Target } from '../transport.ts';
import type { ConnectionOptions, HandedOn } from './connection-options.ts';
import { hopTarget, hostAt } from './hop-target.ts';

/** One jump host, as it is logged into. */
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
export async function wayTo(
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
    what: `the way to ${chain.at(-1) ?? ''} leads through itself`,
    next: 'end the chain for the jump host: "ProxyJump none" in ~/.ssh/config, or "jump: none" in the inventory',
  });
}
