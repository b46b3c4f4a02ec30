import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The repository's root. */
export const repository = fileURLToPath(new URL('../../', import.meta.url));

/** Everything the lab keeps on this machine lies under this one folder. */
export const state = process.env['AZP_FLEET_LAB_DIR'] ?? '/var/lib/azp-fleet-lab';

/**
 * Labs with another AZP_FLEET_LAB_DIR share this folder: their locks, the packages that they installed, and the kernel's
 * settings before the first of them.
 */
export const sharedByLabs = '/var/lib/azp-fleet-labs';

export const inState = (...parts: string[]): string => join(state, ...parts);
/** What the lab's mirror serves, laid out as the vendors lay it out. */
export const mirrorRoot = inState('mirror');
export const labFiles = (...parts: string[]): string => join(repository, 'practice/images', ...parts);

/** First three parts of the hosts' network, should the usual one be taken. */
const prefix = process.env['AZP_FLEET_LAB_NET'] ?? '10.213.0';
const isUsual = prefix === '10.213.0';

/** The hosts' network. Not 172.17.0.0/16: the engines inside the hosts take that for their own bridge. */
export const network = {
  name: 'azp-fleet-lab',
  bridge: isUsual ? 'azpfleet0' : `azpf${prefix.replaceAll('.', '')}`.slice(0, 15),
  subnet: `${prefix}.0/24`,
  gateway: `${prefix}.1`,
  /** For containers without a fixed address. */
  spare: `${prefix}.240/28`,
  address: (last: number): string => `${prefix}.${last}`,
} as const;

/** Served on the gateway: the vendors' repositories over HTTP, container images over TLS. */
export const ports = { mirror: 8213, registry: 5443, passwordRegistry: 5444 } as const;
export const registry = `${network.gateway}:${ports.registry}`;
export const mirror = `http://${network.gateway}:${ports.mirror}`;

export const releases = ['bookworm', 'trixie'] as const;
export type Release = (typeof releases)[number];

/** Name servers that a container can reach: a resolver on loopback is none. */
export function nameServers(): string[] {
  const files = ['/run/systemd/resolve/resolv.conf', '/etc/resolv.conf'].filter((file) => existsSync(file));
  for (const file of files) {
    const found = [...readFileSync(file, 'utf8').matchAll(/^nameserver\s+(\S+)/gm)].map(
      (match) => match[1] ?? '',
    );
    const reachable = found.filter(
      (address) => address !== '' && !address.startsWith('127.') && address !== '::1',
    );
    if (reachable.length > 0) return reachable;
  }
  return [];
}
