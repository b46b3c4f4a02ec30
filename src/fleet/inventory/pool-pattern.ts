import { poolsOf, type Pooled } from '../../shared/contract/slots.ts';

/** Placeholders in pool names. The inventory sets `group` and `host`, the facts of the host set the others. */
export const placeholders = ['arch', 'cuda', 'cudaMajor', 'generation', 'group', 'host'] as const;

type Placeholder = (typeof placeholders)[number];
export type PlaceholderValues = Partial<Readonly<Record<Placeholder, string>>>;

const braced = /\{([^{}]*)\}/g;

/** Returns the names in braces, known or not. */
export function placeholdersIn(pattern: string): string[] {
  return [...pattern.matchAll(braced)].map(([, name = '']) => name);
}

export function isPlaceholder(name: string): name is Placeholder {
  return (placeholders as readonly string[]).includes(name);
}

/** Returns whether a pattern has an unmatched brace. */
export function hasStrayBrace(pattern: string): boolean {
  return /[{}]/.test(pattern.replaceAll(braced, ''));
}

/** Fills in the known values; a placeholder without a value stays in its braces. */
export function fillPool(pattern: string, values: PlaceholderValues): string {
  return pattern.replaceAll(braced, (whole, name: string) => {
    const value = Object.hasOwn(values, name) ? values[name as Placeholder] : undefined;
    return value === undefined ? whole : clean(value);
  });
}

/** Removes from a fact what Azure DevOps rejects in a pool name, and braces. */
function clean(value: string): string {
  return value.replaceAll(/[^\p{L}\p{N}._-]+/gu, '-').replaceAll(/^[-._]+|[-._]+$/g, '');
}

/** Returns whether the pattern can produce this name, ignoring case as Azure DevOps does. */
export function mayBecome(pattern: string, name: string): boolean {
  const literal = pattern.split(braced).filter((_, index) => index % 2 === 0);
  const parts = literal.map((part) => part.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`));
  return new RegExp(`^${parts.join('.+')}$`, 'iu').test(name);
}

/** Returns the pools without placeholders, each once. */
export function plainPools(hosts: readonly Pooled[]): string[] {
  return [...new Set(hosts.flatMap(poolsOf))].filter((pool) => placeholdersIn(pool).length === 0);
}
