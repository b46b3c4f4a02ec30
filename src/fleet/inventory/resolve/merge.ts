import { defined } from '../../../shared/base/objects.ts';
import type { Group, InventoryFile } from '../schema/file.ts';
import type { HostEntry, HostVars } from '../schema/host.ts';

/** Groups a host is in, outer ones first: a later one overrides an earlier one. */
export function groupsOf(host: string, groups: Readonly<Record<string, Group>>): string[] {
  const direct = Object.keys(groups).filter((name) => groups[name]?.hosts?.includes(host) === true);
  const found: string[] = [];
  for (const name of direct)
    for (const each of withParents(name, groups, [])) if (!found.includes(each)) found.push(each);
  return found;
}

function withParents(
  name: string,
  groups: Readonly<Record<string, Group>>,
  below: readonly string[],
): string[] {
  if (below.includes(name)) return [];
  const parents = Object.keys(groups).filter((each) => groups[each]?.children?.includes(name) === true);
  return [...parents.flatMap((parent) => withParents(parent, groups, [...below, name])), name];
}

/** `defaults`, then the groups' vars, then the host's own. Maps are merged key by key; volumes become datasets. */
export function varsOf(file: InventoryFile, host: string, groups: readonly string[]): HostEntry {
  const layers: (HostVars | HostEntry)[] = [
    file.defaults ?? {},
    ...groups.map((name) => file.groups?.[name]?.vars ?? {}),
    file.hosts[host] ?? {},
  ];
  return layers.map(withoutVolumes).reduce<HostEntry>(merge, {});
}

function merge(below: HostEntry, above: HostEntry): HostEntry {
  return {
    ...below,
    ...above,
    ...oneImage(above),
    ...both('limits', below, above),
    ...both('labels', below, above),
    ...both('capabilities', below, above),
    ...both('docker', below, above),
    ...both('toolkit', below, above),
    ...both('jobs', below, above),
    ...both('datasets', below, above),
    ...mergeAgent(below, above),
    ...mergeDriver(below, above),
    ...mergeGpus(below, above),
  };
}

/** An image from a registry and a folder to build exclude each other: the stronger layer's takes the place of both. */
function oneImage(above: HostVars): Partial<HostVars> {
  if (above.dockerfile !== undefined && above.image === undefined) return { image: undefined };
  return above.image !== undefined && above.dockerfile === undefined ? { dockerfile: undefined } : {};
}

/** The short form is a dataset like any other from here on. */
function withoutVolumes(layer: HostVars | HostEntry): HostEntry {
  const { volumes, ...rest } = layer;
  if (volumes === undefined) return rest;
  const short = volumes.map((volume) => {
    const { name, host, container } = parseVolume(volume);
    return [name, { host, container }] as const;
  });
  return { ...rest, datasets: { ...Object.fromEntries(short), ...rest.datasets } };
}

/** `host:container:ENV`, whose shape the schema has checked. */
export function parseVolume(text: string): { name: string; host: string; container: string } {
  const [host = '', container = '', name = ''] = text.split(':');
  return { name, host, container };
}

type MapKey = 'limits' | 'labels' | 'capabilities' | 'docker' | 'toolkit' | 'jobs' | 'datasets';

function both(key: MapKey, below: HostVars, above: HostVars): Partial<HostVars> {
  const [lower, upper] = [below[key], above[key]];
  return typeof lower === 'object' && typeof upper === 'object' ? { [key]: { ...lower, ...upper } } : {};
}

function mergeAgent(below: HostVars, above: HostVars): Partial<HostVars> {
  if (!below.agent || !above.agent) return {};
  // Another version has other digests: those of the layer below would refuse it.
  const keep = above.agent.version === undefined || above.agent.version === below.agent.version;
  const sha256 = { ...(keep ? below.agent.sha256 : {}), ...above.agent.sha256 };
  return { agent: { ...below.agent, ...above.agent, sha256 } };
}

/** A number alone is the short form of a count. */
function mergeGpus(below: HostVars, above: HostVars): Partial<HostVars> {
  if (below.gpus === undefined || above.gpus === undefined) return {};
  const [lower, upper] = [below.gpus, above.gpus].map((gpus) =>
    typeof gpus === 'number' ? { count: gpus } : gpus,
  );
  return { gpus: { ...lower, ...upper } };
}

function mergeDriver(below: HostVars, above: HostVars): Partial<HostVars> {
  const [lower, upper] = [below.driver, above.driver];
  if (typeof lower !== 'object' || typeof upper !== 'object') return {};
  // An exact version belongs to its branch, and a digest to its version.
  const { version, sha256, ...rest } = lower;
  const keep = version !== undefined && (upper.branch === undefined || upper.branch === lower.branch);
  const same = keep && (upper.version === undefined || upper.version === version);
  return {
    driver: { ...rest, ...(keep ? { version } : {}), ...(same ? defined({ sha256 }) : {}), ...upper },
  };
}
