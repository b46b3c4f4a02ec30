import type { HostSpec } from '../../../fleet/inventory/fleet.ts';
import { parseFleet } from '../../../fleet/inventory/load.ts';
import type { HostChoice } from '../choices.ts';
import { withHosts } from '../file/inventory-text.ts';
import type { Wizard } from '../wizard-context.ts';

/** How a host would be reached with this choice; differs when it joins an inventory that has defaults. */
type Describe = (host: HostChoice) => HostSpec;

/** Where hosts are to stand. */
export interface Among {
  readonly describe: Describe;
  /** With what a host has to say for itself, because the inventory does not say it for all. */
  readonly entry: (host: HostChoice) => HostChoice;
  /** The hosts that stand there already; jump hosts may be among them. */
  readonly inventory: readonly HostSpec[];
}

/**
 * The host as it will be once it stands in this inventory: with its defaults, so that the test is the real one. The
 * ssh_config that was named here is its own where the inventory reads another one.
 */
export function describeIn(
  source: string,
  file: string,
  { context, sshConfig }: Pick<Wizard, 'context' | 'sshConfig'>,
  inventory: readonly HostSpec[],
): Among {
  const asWritten = (host: HostChoice): HostSpec => {
    const fleet = parseFleet(withHosts(source, [host]), file, context);
    const described = fleet.hosts.find(({ name }) => name === host.name);
    if (described === undefined) throw new TypeError(`${host.name} was added and is not there`);
    return described;
  };
  const entry = (host: HostChoice): HostChoice =>
    sshConfig === undefined || asWritten(host).ssh.sshConfig === sshConfig ? host : { ...host, sshConfig };
  return { describe: (host) => asWritten(entry(host)), entry, inventory };
}
