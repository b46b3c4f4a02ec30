import type { HostSpec } from '../inventory/fleet.ts';
import { parseFleet } from '../inventory/load.ts';
import type { HostChoice } from './choices.ts';
import { withHosts } from './inventory-text.ts';
import type { Wizard } from './wizard-context.ts';

/** The host as it will be once it stands in this inventory: with its defaults, so that the test is the real one. */
export function describeIn(
  source: string,
  file: string,
  { context }: Pick<Wizard, 'context'>,
): (host: HostChoice) => HostSpec {
  return (host) => {
    const fleet = parseFleet(withHosts(source, [host]), file, context);
    const described = fleet.hosts.find(({ name }) => name === host.name);
    if (described === undefined) throw new TypeError(`${host.name} was added and is not there`);
    return described;
  };
}
