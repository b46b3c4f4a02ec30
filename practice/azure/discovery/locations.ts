import table from './locations.json' with { type: 'json' };

/**
 * One resource of the service: its path, and its versions of the interface. The table has the resources that this server
 * answers, each row as the live service returned it (test/fixtures/azure/resource-locations.json).
 */
export interface ResourceLocation {
  /** Clients find the resource by this id, which is the same on every server. */
  readonly id: string;
  readonly area: string;
  readonly resourceName: string;
  /** `{area}` and `{resource}` are the names above; trailing parameters may be omitted. */
  readonly routeTemplate: string;
  /** The newest form of the resource; `-preview.N` selects one. */
  readonly resourceVersion: number;
  readonly minVersion: string;
  readonly maxVersion: string;
  /** Versions above this one, up to the newest, need `-preview`; 0.0: all of them. */
  readonly releasedVersion: string;
}

export const locations: readonly ResourceLocation[] = table;

const patterns = locations
  .map((location) => ({ location, pattern: patternOf(location), fixed: fixedParts(location).length }))
  // If two match, the one that names more of the path is chosen.
  .toSorted((a, b) => b.fixed - a.fixed);

/** Returns the resource of a path below the organisation; undefined: none that this server answers. */
export function locationOf(path: string): ResourceLocation | undefined {
  return patterns.find(({ pattern }) => pattern.test(path))?.location;
}

/** Returns the resources of an area, or of one resource in it, in any case; without names all of them. */
export function locationsOf(area?: string, resource?: string): readonly ResourceLocation[] {
  const same = (name: string | undefined, other: string) =>
    name === undefined || name.toLowerCase() === other.toLowerCase();
  return locations.filter((each) => same(area, each.area) && same(resource, each.resourceName));
}

function partsOf({ routeTemplate, area, resourceName }: ResourceLocation): string[] {
  return routeTemplate.replace('{area}', area).replace('{resource}', resourceName).split('/');
}

function fixedParts(location: ResourceLocation): string[] {
  return partsOf(location).filter((part) => !part.startsWith('{'));
}

function patternOf(location: ResourceLocation): RegExp {
  const parts = partsOf(location);
  const last = parts.findLastIndex((part) => !part.startsWith('{'));
  const needed = parts.slice(0, last + 1).map((part) => `/${part.startsWith('{') ? '[^/]+' : part}`);
  const optional = parts.length - needed.length;
  return new RegExp(`^${needed.join('')}${'(?:/[^/]+'.repeat(optional)}${')?'.repeat(optional)}$`, 'iu');
}
