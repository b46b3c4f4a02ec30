import type { PackageManager } from './package-manager.ts';
import { refusedSystems, systems, type Distribution } from './systems.ts';
import type { Machine, System } from './vendors.ts';

/** The package managers of all supported systems. */
export const packageManagers: readonly PackageManager[] = [
  ...new Set(systems.map(({ packages }) => packages)),
];

const machines: readonly Machine[] = ['x86_64', 'aarch64'];

/** A supported distribution on a machine type. */
export interface Platform extends Distribution, System {}

/** A host's operating system and machine type. */
interface Host {
  readonly os: { readonly id: string; readonly versionId: string; readonly pretty: string };
  /** `uname -m` */
  readonly arch: string;
}

/** Returns the platform of a host; undefined: it is not supported. */
export function platformOf({ os, arch }: Host): Platform | undefined {
  const machine = machines.find((name) => name === arch);
  const found = systemOf(os);
  return found === undefined || machine === undefined ? undefined : { ...found, machine };
}

/** Returns the supported system of a release: 9.5 belongs to 9. */
export function systemOf(os: Pick<Host['os'], 'id' | 'versionId'>): Distribution | undefined {
  return systems.find((system) => isOf(system, os));
}

/** Returns why a host is not supported, and the next action. */
export function unsupported({ os, arch }: Host): { readonly what: string; readonly next: string } {
  const others = `${systemNames()} on ${machines.join(' or ')}, or exclude this host with --limit`;
  const refused = refusedSystems.find(({ id, versionId = os.versionId }) => isOf({ id, versionId }, os));
  if (refused !== undefined) {
    const next = refused.versionId === undefined ? `use ${others}` : `upgrade it to one of ${others}`;
    return { what: `${os.pretty} is not supported: ${refused.why}`, next };
  }
  return { what: `${os.pretty} on ${arch} is not supported`, next: `use ${others}` };
}

function isOf(
  system: Pick<Distribution, 'id' | 'versionId'>,
  os: Pick<Host['os'], 'id' | 'versionId'>,
): boolean {
  return system.id === os.id && `${os.versionId}.`.startsWith(`${system.versionId}.`);
}

/** `debian 12 or 13, ubuntu 22.04` */
function systemNames(): string {
  const byId = Map.groupBy(systems, ({ id }) => id);
  return [...byId]
    .map(([id, each]) => `${id} ${each.map(({ versionId }) => versionId).join('/')}`)
    .join(', ');
}
