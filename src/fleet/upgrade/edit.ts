import { isMap, parseDocument } from 'yaml';

import { stableJson } from '../../shared/base/digest.ts';
import { FleetError } from '../../shared/base/errors.ts';
import { setValues, type ValueEdit } from '../inventory/document/set-values.ts';
import type { Fleet, HostSpec } from '../inventory/fleet.ts';
import { configuredOf, type SetPart } from './parts.ts';

/** The version that hosts of an inventory shall have of a part. */
export interface Target {
  readonly part: SetPart;
  /** A version, or a branch of the driver. */
  readonly to: string;
}

/** The hosts of an upgrade. */
export interface Meant {
  readonly hosts: ReadonlySet<string>;
  /** Groups that the user named, and `defaults` if the user named no host. */
  readonly places: ReadonlySet<string>;
}

/** One value in the text of the inventory. */
export interface EditedValue {
  /** `defaults`, `groups.hopper.vars`, `hosts.gpu1`. */
  readonly place: string;
  readonly part: SetPart;
  readonly to: string;
}

export interface EditedInventory {
  readonly text: string;
  /** Empty: the inventory says it already. */
  readonly edits: readonly EditedValue[];
}

/**
 * Returns the inventory with this version at the hosts that are meant, and nothing else changed. The value is written at `defaults` or
 * a group only where all of its hosts are meant; where that would not give exactly this fleet, at each host. Undefined: no edit of
 * the text does. Throws the mistake of the edited inventory where a check refuses it. Pure.
 */
export function editInventory(
  source: string,
  target: Target,
  meant: Meant,
  parse: (source: string) => Fleet,
): EditedInventory | undefined {
  const fleet = parse(source);
  const desired = withTarget(fleet, target, meant.hosts);
  if (stableJson(desired) === stableJson(fleet)) return { text: source, edits: [] };
  const alone = [...meant.hosts].map((host) => ['hosts', host]);
  let refusal: FleetError | undefined;
  for (const places of [placesOf(source, fleet, target.part, meant), alone]) {
    const values = places.map((place) => valueEdit(place, target));
    const text = setValues(source, values);
    if (text === undefined) continue;
    const edited = parsed(text, parse);
    if (edited instanceof FleetError) refusal = edited;
    else if (stableJson(edited) === stableJson(desired))
      return { text, edits: places.map((place) => ({ place: place.join('.'), ...target })) };
  }
  if (refusal !== undefined) throw refusal;
  return undefined;
}

/** Returns the fleet of an inventory, or the mistake in it. */
function parsed(text: string, parse: (source: string) => Fleet): Fleet | FleetError {
  try {
    return parse(text);
  } catch (error) {
    if (error instanceof FleetError) return error;
    throw error;
  }
}

/** Returns the fleet as it shall be. Pure. */
export function withTarget(fleet: Fleet, target: Target, hosts: ReadonlySet<string>): Fleet {
  return {
    ...fleet,
    hosts: fleet.hosts.map((host) => (hosts.has(host.name) ? withVersion(host, target) : host)),
  };
}

function withVersion(host: HostSpec, { part, to }: Target): HostSpec {
  if (part === 'driver') {
    const { version: _version, sha256: _sha256, orNewer: _newer, ...rest } = host.driver;
    const branch = branchOf(to);
    return { ...host, driver: { ...rest, branch, ...(to === branch ? {} : { version: to }) } };
  }
  if (part !== 'agent') return { ...host, [part]: { version: to } };
  // Another version has other digests.
  const sha256 = host.agent.version === to ? host.agent.sha256 : { x64: undefined, arm64: undefined };
  return { ...host, agent: { version: to, sha256 } };
}

function branchOf(driver: string): string {
  return driver.split('.')[0] ?? driver;
}

function valueEdit(place: readonly string[], { part, to }: Target): ValueEdit {
  const path = [...place, part];
  if (part !== 'driver') return { path, set: { version: to }, unset: part === 'agent' ? ['sha256'] : [] };
  const branch = branchOf(to);
  return to === branch
    ? { path, set: { branch }, unset: ['version', 'sha256'] }
    : { path, set: { branch, version: to }, unset: ['sha256'] };
}

/**
 * Returns the paths at which the value is set: the weakest layer of each host that is meant as a whole, and the stronger layers that
 * override it. A layer with one host counts as that host, unless the user named the layer or it overrides.
 */
function placesOf(
  source: string,
  { hosts }: Fleet,
  part: SetPart,
  meant: Meant,
): readonly (readonly string[])[] {
  const document = parseDocument(source, { uniqueKeys: false, logLevel: 'silent' });
  const sets = (place: readonly string[]): boolean => {
    const found = document.getIn([...place, part]);
    return isMap(found) && (found.has('version') || (part === 'driver' && found.has('branch')));
  };
  const wholes = wholeLayers(hosts, part, meant.hosts);
  const places = new Map<string, readonly string[]>();
  for (const { name, groups } of hosts.filter((host) => meant.hosts.has(host.name))) {
    const own = ['hosts', name];
    const layers = [['defaults'], ...groups.map((group) => ['groups', group, 'vars']), own];
    const base = layers.findIndex((place) => {
      const size = wholes.get(place.join('.')) ?? 0;
      return place === own || size > 1 || (size === 1 && meant.places.has(place[1] ?? 'defaults'));
    });
    for (const [index, place] of layers.entries()) {
      if (index < base || (index > base && !sets(place))) continue;
      const at = wholes.has(place.join('.')) ? place : own;
      places.set(at.join('\n'), at);
    }
  }
  return [...places.values()];
}

/** Returns the layers whose hosts are all meant, with the number of their hosts. Hosts without the part do not count against it. */
function wholeLayers(
  hosts: readonly HostSpec[],
  part: SetPart,
  meant: ReadonlySet<string>,
): ReadonlyMap<string, number> {
  const groups = new Set(hosts.flatMap((host) => host.groups));
  const layers = [
    { layer: 'defaults', members: hosts },
    ...[...groups].map((group) => ({
      layer: `groups.${group}.vars`,
      members: hosts.filter((host) => host.groups.includes(group)),
    })),
  ];
  const affected = (members: readonly HostSpec[]) =>
    members.filter((host) => configuredOf(part, host).left === undefined);
  return new Map(
    layers
      .filter(({ members }) => affected(members).every(({ name }) => meant.has(name)))
      .map(({ layer, members }) => [layer, members.length]),
  );
}
