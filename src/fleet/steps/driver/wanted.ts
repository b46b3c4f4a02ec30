import type { Facts } from '../../facts/facts.ts';
import type { DriverSpec, HostSpec } from '../../inventory/fleet.ts';
import { flavorFits } from './flavor.ts';

/** `580.95.05` is of branch 580, and equal to the exact version where the inventory has one. */
export function versionFits(version: string, spec: DriverSpec): boolean {
  return spec.version === undefined ? version.startsWith(`${spec.branch}.`) : version === spec.version;
}

/** The running driver is what the inventory asks for, and its libraries belong to it, whoever installed it. */
export function driverIsWanted(facts: Facts, host: Pick<HostSpec, 'driver'>): boolean {
  const { loaded, userspace, takenAway } = facts.driver;
  if (!host.driver.install) return true;
  return (
    loaded !== undefined &&
    versionFits(loaded, host.driver) &&
    (userspace === undefined ? !takenAway : userspace === loaded) &&
    flavorFits(facts, host.driver)
  );
}
