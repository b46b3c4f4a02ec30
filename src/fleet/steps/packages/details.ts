import type { Bound, Effects, Moved } from '../../packages/simulation.ts';
import { upstream } from '../../packages/version.ts';
import type { Detail } from '../change.ts';

/** So many lines of upgrades are shown, and so many new packages named; removals and downgrades always are. */
const mostUpgrades = 12;
const namedInstalls = 4;

/** What a transaction does, line by line: what goes and what gets older first. */
export function effectDetails({
  removes,
  downgrades,
  upgrades,
  installs,
  kept,
  sources = [],
  repositories = [],
}: Effects): Detail[] {
  const [shown, rest] = [upgrades.slice(0, mostUpgrades), upgrades.slice(mostUpgrades)];
  return [
    ...removes.map((each): Detail => ({ marker: 'remove', text: withVersion(each, each.from) })),
    ...moved('downgrade', downgrades),
    ...moved('upgrade', shown),
    ...(rest.length === 0 ? [] : [changes(`upgrade ${rest.length} more packages`)]),
    ...(kept.length === 0 ? [] : [changes(`kept back: ${kept.join(', ')}`)]),
    ...sources.map((each): Detail => ({
      marker: 'add',
      text: `${each.replace(' ', ': ')} of the system's own archive`,
    })),
    ...repositories.map((each): Detail => ({ marker: 'add', text: `repository ${each}` })),
    ...newPackages(installs),
  ];
}

/** What may go where nobody could be asked. */
export function boundDetails({ removes, downgrades }: Bound): Detail[] {
  return [
    ...removes.map((name): Detail => ({ marker: 'remove', text: name })),
    ...(downgrades.length === 0 ? [] : [changes(`downgrade ${downgrades.join(', ')}`)]),
  ];
}

export function boundOf({ removes, downgrades }: Effects): Bound {
  const names = (moves: readonly Moved[]): string[] => moves.map(({ name }) => name).toSorted();
  return { removes: names(removes), downgrades: names(downgrades) };
}

/** Those that go the same way share a line: `downgrade libcuda1, libnvidia-ml1 595.71.05 → 580.95.05`. */
function moved(verb: 'upgrade' | 'downgrade', moves: readonly Moved[]): Detail[] {
  const alike = Map.groupBy(moves, versions);
  return [...alike].map(([way, same]) =>
    changes(`${verb} ${same.map(({ name }) => name).join(', ')} ${way}`),
  );
}

function versions({ from = '', to = '' }: Moved): string {
  const [before, after] = [upstream(from), upstream(to)];
  return before === after ? `${from} → ${to}` : `${before} → ${after}`;
}

function changes(text: string): Detail {
  return { marker: 'change', text };
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
