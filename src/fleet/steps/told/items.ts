import { foreignLine } from '../../../shared/base/foreign-text.ts';
import type { Detail } from '../change.ts';

/** One key of something that is written: what it was and what it becomes. One of both is there. */
export interface Item {
  readonly key: string;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly effect?: string | undefined;
}

/** Characters of a value; a longer one is cut. */
const longestValue = 200;
/** Lines of one change; more are counted. */
const mostDetails = 150;

/** `agents: 2 → 4`, `limits.memory: 64g` (comes, or goes by its marker). The old value is what somebody else wrote. */
export function itemDetail({ key, from, to, effect }: Item): Detail {
  const name = shown(key);
  const follows = effect === undefined ? {} : { effect };
  if (from === undefined) return { marker: 'add', text: `${name}: ${shown(to)}`, ...follows };
  if (to === undefined) return { marker: 'remove', text: `${name}: ${shown(from)}`, ...follows };
  return { marker: 'change', text: `${name}: ${shown(from)} → ${shown(to)}`, ...follows };
}

type Value = string | number | boolean | undefined;

/** Nothing where both are the same. */
export function item(key: string, from: Value, to: Value, effect?: string): readonly Item[] {
  if (from === to) return [];
  return [
    { key, from: from === undefined ? from : String(from), to: to === undefined ? to : String(to), effect },
  ];
}

/** Name by name, in the order of what is wanted; what goes comes last. */
export function itemsByName<T>(
  from: ReadonlyMap<string, T>,
  to: ReadonlyMap<string, T>,
  words: (name: string, old: T | undefined, now: T | undefined) => readonly Item[],
): readonly Item[] {
  const names = [...new Set([...to.keys(), ...from.keys()])];
  return names.flatMap((name) => words(name, from.get(name), to.get(name)));
}

/** A change with very many lines says how many it leaves out. */
export function bounded(details: readonly Detail[]): readonly Detail[] {
  if (details.length <= mostDetails) return details;
  const left = details.length - mostDetails;
  return [...details.slice(0, mostDetails), { marker: 'change', text: `and ${left} more` }];
}

/** `a, b, c`; of very many the first, and how many more. */
export function listed(names: readonly string[], most = 64): string {
  const more = names.length > most ? [`and ${names.length - most} more`] : [];
  return [...names.slice(0, most), ...more].join(', ');
}

function shown(value: string | undefined): string {
  return value === undefined || value === '' ? '""' : foreignLine(value, longestValue);
}
