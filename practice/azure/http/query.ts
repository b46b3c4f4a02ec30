import type { JobResult } from '../world/state.ts';

/** A parameter of a query. The service ignores the case of their names, and takes an empty one as none. */
export function parameter(query: URLSearchParams, name: string): string | undefined {
  const wanted = name.toLowerCase();
  for (const [key, value] of query) {
    if (key.toLowerCase() === wanted) return value === '' ? undefined : value;
  }
  return undefined;
}

/** Booleans come in any case: .NET writes `True`. */
export function flag(query: URLSearchParams, name: string): boolean {
  return parameter(query, name)?.toLowerCase() === 'true';
}

/** `a,b` → both; undefined when the parameter is not there. */
export function namesOf(query: URLSearchParams, name: string): readonly string[] | undefined {
  return parameter(query, name)
    ?.split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '');
}

export function idsOf(query: URLSearchParams, name: string): ReadonlySet<number> | undefined {
  const names = namesOf(query, name);
  return names === undefined ? undefined : new Set(names.map(Number));
}

/** Names of an enumeration with the numbers that some clients send in their place. */
export type Names<T extends string> = Readonly<Record<T, number>>;

export const poolTypes: Names<'automation' | 'deployment'> = { automation: 1, deployment: 2 };
export const actionFilters: Names<'none' | 'manage' | 'use'> = { none: 0, manage: 2, use: 16 };
export const visibilities: Names<'unchanged' | 'private' | 'organization' | 'public'> = {
  unchanged: -1,
  private: 0,
  organization: 1,
  public: 2,
};
export const results: Names<JobResult> = {
  succeeded: 0,
  succeededWithIssues: 1,
  failed: 2,
  canceled: 3,
  skipped: 4,
  abandoned: 5,
};

/** A name in any case, or its number as number or text; undefined: none of them. */
export function nameIn<T extends string>(names: Names<T>, value: unknown): T | undefined {
  if (typeof value !== 'string' && typeof value !== 'number') return undefined;
  const wanted = String(value).toLowerCase();
  return (Object.keys(names) as T[]).find(
    (name) => name.toLowerCase() === wanted || String(names[name]) === wanted,
  );
}
