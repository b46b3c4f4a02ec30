import { poolsOf, type Pooled } from '../../shared/contract/slots.ts';

/** What may stand in braces in the name of a pool. `group` and `host` the inventory knows, the others the host's facts. */
export const placeholders = ['arch', 'cuda', 'cudaMajor', 'generation', 'group', 'host'] as const;

type Placeholder = (typeof placeholders)[number];
export type PlaceholderValues = Partial<Readonly<Record<Placeholder, string>>>;

const braced = /\{([^{}]*)\}/g;

/** What stands in braces in it, known or not. */
export function placeholdersIn(pattern: string): string[] {
  return [...pattern.matchAll(braced)].map(([, name = '']) => name);
}

export function isPlaceholder(name: string): name is Placeholder {
  return (placeholders as readonly string[]).includes(name);
}

/** A brace without its partner. */
export function hasStrayBrace(pattern: string): boolean {
  return /[{}]/.test(pattern.replaceAll(braced, ''));
}

/** With the values that are known; what is not known stays in its braces. A name without braces stays as it is. */
export function fillPool(pattern: string, values: PlaceholderValues): string {
  return pattern.replaceAll(braced, (whole, name: string) => {
    const value = Object.hasOwn(values, name) ? values[name as Placeholder] : undefined;
    return value === undefined ? whole : clean(value);
  });
}

/** Facts put nothing into a name that Azure DevOps refuses in one, or that looks like another placeholder. */
function clean(value: string): string {
  return value.replaceAll(/[^\p{L}\p{N}._-]+/gu, '-').replaceAll(/^[-._]+|[-._]+$/g, '');
}

/** Whether the pattern could become this name (in any case: Azure DevOps tells pools apart without). */
export function mayBecome(pattern: string, name: string): boolean {
  const literal = pattern.split(braced).filter((_, index) => index % 2 === 0);
  const parts = literal.map((part) => part.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`));
  return new RegExp(`^${parts.join('.+')}$`, 'iu').test(name);
}

/** The pools of hosts that need nothing of them to be known, each once. */
export function plainPools(hosts: readonly Pooled[]): string[] {
  return [...new Set(hosts.flatMap(poolsOf))].filter((pool) => placeholdersIn(pool).length === 0);
}
