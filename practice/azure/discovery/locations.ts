import table from './locations.json' with { type: 'json' };

/**
 * One resource of the service: where it is, and in which versions of the interface. The table has what this server
 * answers, each row as the live service gave it (test/fixtures/azure/resource-locations.json).
 */
export interface ResourceLocation {
  /** By this clients look it up; it is the same on every server. */
  readonly id: string;
  readonly area: string;
  readonly resourceName: string;
  /** `{area}` and `{resource}` stand for the names above; the last parts may be left out where they are parameters. */
  readonly routeTemplate: string;
  /** The newest form of the resource; `-preview.N` names one. */
  readonly resourceVersion: number;
  readonly minVersion: string;
  readonly maxVersion: string;
  /** Versions above it, up to the newest, are answered with `-preview` only; 0.0: all of them. */
  readonly releasedVersion: string;
}

export const locations: readonly ResourceLocation[] = table;

const patterns = locations
  .map((location) => ({ location, pattern: patternOf(location), fixed: fixedParts(location).length }))
  // Where two fit, the one that names more of the path is meant.
  .toSorted((a, b) => b.fixed - a.fixed);

/** The resource that a path below the organisation is about; undefined: none that this server answers. */
export function locationOf(path: string): ResourceLocation | undefined {
  return patterns.find(({ pattern }) => pattern.test(path))?.location;
}

/** Those of an area, or of one resource in it, in any case; without names all of them. */
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
