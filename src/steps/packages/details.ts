import type { Bound, Effects, Moved } from '../../packages/simulation.ts';
import { upstream } from '../../packages/version.ts';
import type { Detail } from '../change.ts';

/** So many upgrades are named one by one; removals and downgrades always are. */
const mostUpgrades = 12;
/** So many new packages are named. */
const namedInstalls = 4;

/** What a transaction does, line by line: what goes and what gets older first. */
export function effectDetails({ removes, downgrades, upgrades, installs, kept }: Effects): Detail[] {
  const rest = upgrades.slice(mostUpgrades);
  return [
    ...removes.map((each): Detail => ({ marker: 'remove', text: withVersion(each, each.from) })),
    ...downgrades.map((each): Detail => ({ ...moved(each), effect: 'a downgrade' })),
    ...upgrades.slice(0, mostUpgrades).map(moved),
    ...(rest.length === 0
      ? []
      : [{ marker: 'change' as const, text: `${rest.length} more packages are upgraded` }]),
    ...(kept.length === 0 ? [] : [{ marker: 'change' as const, text: `kept back: ${kept.join(', ')}` }]),
    ...newPackages(installs),
  ];
}

/** What may go where nobody could be asked. */
export function boundDetails({ removes, downgrades }: Bound): Detail[] {
  return [
    ...removes.map((name): Detail => ({ marker: 'remove', text: name })),
    ...(downgrades.length === 0
      ? []
      : [{ marker: 'change' as const, text: `downgrades: ${downgrades.join(', ')}` }]),
  ];
}

export function boundOf({ removes, downgrades }: Effects): Bound {
  const names = (moves: readonly Moved[]): string[] => moves.map(({ name }) => name).toSorted();
  return { removes: names(removes), downgrades: names(downgrades) };
}

function moved({ name, from = '', to = '' }: Moved): Detail {
  const [before, after] = [upstream(from), upstream(to)];
  const versions = before === after ? `${from} → ${to}` : `${before} → ${after}`;
  return { marker: 'change', text: `${name} ${versions}` };
}

function newPackages(installs: readonly Moved[]): Detail[] {
  if (installs.length === 0) return [];
  const names = installs.slice(0, namedInstalls).map((each) => withVersion(each, each.to));
  const rest = installs.length - names.length;
  return [{ marker: 'add', text: [...names, ...(rest === 0 ? [] : [`${rest} more`])].join(', ') }];
}

function withVersion({ name }: Moved, version: string | undefined): string {
  return version === undefined || version === '' ? name : `${name} ${upstream(version)}`;
}
