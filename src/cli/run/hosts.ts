import type { Context } from '../../shared/base/context.ts';
import type { Fleet, HostSpec } from '../../fleet/inventory/fleet.ts';
import { loadFleet } from '../../fleet/inventory/load.ts';
import { selectHosts } from '../../fleet/inventory/select.ts';
import type { CommandInput } from '../command.ts';
import { hideSecrets } from './secrets.ts';

/** The inventory and the hosts that the command is about. */
export interface OpenHosts {
  readonly fleet: Fleet;
  readonly hosts: readonly HostSpec[];
  /** Told once progress is drawn: from then on waits are told there. */
  readonly tellBy?: (say: (text: string) => void) => void;
}

/** Every host is reached by this configuration of ssh, whatever the inventory says. */
function bySshConfig(fleet: Fleet, sshConfig: string | undefined): Fleet {
  if (sshConfig === undefined) return fleet;
  return { ...fleet, hosts: fleet.hosts.map((host) => ({ ...host, ssh: { ...host.ssh, sshConfig } })) };
}

/** The inventory, its secrets hidden from now on. */
export function openInventory(context: Context, file: string): Fleet {
  const fleet = loadFleet(file, context);
  hideSecrets(context, fleet);
  return fleet;
}

/** Loads the inventory; its secrets only to hide them, as far as they are known without asking. `patterns`: which of its hosts, within --limit. */
export function openHosts(
  context: Context,
  { inventory, options, positionals }: CommandInput,
  patterns: readonly string[] = positionals,
): OpenHosts {
  const loaded = openInventory(context, inventory);
  const fleet = bySshConfig(loaded, options.sshConfig(context.cwd));
  return { fleet, hosts: selectHosts(fleet, patterns, options.list('limit')) };
}
