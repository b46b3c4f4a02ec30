import path from 'node:path';

import { FleetError, type Problem } from '../../../shared/base/errors.ts';
import type { InventoryFile } from '../schema/file.ts';
import type { Found } from './found-host.ts';
import { readSource, unusable } from './read-source.ts';
import { fromTerraform } from './terraform.ts';

type Hosts = InventoryFile['hosts'];

/** All hosts of an inventory: those of `hostsFrom`, over them what `hosts` says of them, and its own. */
export function hostsFrom(
  { hosts, hostsFrom }: InventoryFile,
  folder: string,
): { readonly hosts: Hosts; readonly problems: readonly Problem[] } {
  if (hostsFrom === undefined) return { hosts, problems: [] };
  try {
    const found = terraformHosts(path.resolve(folder, hostsFrom.terraform), hostsFrom.terraform);
    const theirs = found.hosts.map(({ name, entry }) => {
      const own = hosts[name] ?? {};
      return [name, { ...entry, ...own, labels: { ...entry.labels, ...own.labels } }] as const;
    });
    const problems = found.leftOut.map(({ what, why }): Problem => ({
      code: 'inventory.import',
      step: 'inventory',
      what: `${what} of ${hostsFrom.terraform} cannot be used`,
      seen: why,
      next: 'correct the output azp_fleet_hosts, and write the file again',
    }));
    return { hosts: { ...Object.fromEntries(theirs), ...withoutThose(hosts, found) }, problems };
  } catch (error) {
    if (!(error instanceof FleetError)) throw error;
    return { hosts, problems: [error.problem] };
  }
}

/** Hosts of a file of Terraform's. Throws a usage error where there are none to be read. */
export function terraformHosts(file: string, shown: string): Found {
  const next = `have Terraform write it: terraform output -json > ${shown}`;
  const found = fromTerraform(readSource(file, shown, next));
  if (!('why' in found)) return found;
  throw unusable(shown, found.why, next);
}

function withoutThose(hosts: Hosts, found: Found): Hosts {
  const names = new Set(found.hosts.map(({ name }) => name));
  return Object.fromEntries(Object.entries(hosts).filter(([name]) => !names.has(name)));
}
