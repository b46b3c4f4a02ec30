import { setFlagsFromString } from 'node:v8';

import type { Fleet, HostSpec } from '../../fleet/inventory/fleet.ts';
import { loadFleet } from '../../fleet/inventory/load.ts';
import { selectHosts } from '../../fleet/inventory/select.ts';
import type { Context } from '../../shared/base/context.ts';
import type { CommandInput } from '../command.ts';
import { hideSecrets } from './secrets.ts';

/** The inventory and the selected hosts. */
export interface OpenHosts {
  readonly fleet: Fleet;
  readonly hosts: readonly HostSpec[];
  /** Redirects notes on waiting times to the progress display once it is drawn. */
  readonly noteBy?: (say: (text: string) => void) => void;
}

/** Overrides the SSH configuration file of every host. */
function bySshConfig(fleet: Fleet, sshConfig: string | undefined): Fleet {
  if (sshConfig === undefined) return fleet;
  return { ...fleet, hosts: fleet.hosts.map((host) => ({ ...host, ssh: { ...host.ssh, sshConfig } })) };
}

/** Loads the inventory and redacts its secrets from now on. */
export function openInventory(context: Context, file: string): Fleet {
  const fleet = loadFleet(file, context);
  hideSecrets(context, fleet);
  return fleet;
}

/** Loads the inventory and selects hosts. `patterns`: the hosts, within --limit. */
export function openHosts(
  context: Context,
  { inventory, options, positionals }: CommandInput,
  patterns: readonly string[] = positionals,
): OpenHosts {
  const loaded = openInventory(context, inventory);
  const fleet = bySshConfig(loaded, options.sshConfig(context.cwd));
  const hosts = selectHosts(fleet, patterns, options.list('limit'));
  if (hosts.length >= largeFleet) limitGarbage();
  return { fleet, hosts };
}

/** Hosts from which on memory counts more than a few seconds. */
const largeFleet = 100;

/**
 * Makes the heap grow less before garbage is collected: `plan` of 1,000 hosts takes half the memory, and some 10 % more time. V8
 * reads both flags at each collection.
 */
function limitGarbage(): void {
  setFlagsFromString('--semi-space-growth-factor=1');
  setFlagsFromString('--heap-growing-percent=80');
}
