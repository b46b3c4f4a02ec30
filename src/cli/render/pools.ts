import type { PoolLeftovers, Pruned, Stranger } from '../../shared/azure/pools/prune.ts';
import type { PoolOverview } from '../../shared/azure/pools/overview.ts';
import { foreignLine } from '../../shared/base/foreign-text.ts';
import { foldNames } from '../../fleet/inventory/fold-names.ts';
import type { Paint } from './color.ts';
import { tableLines, type Cell } from './table.ts';

/** Returns a table with one line for each pool. */
export function poolTable(
  pools: readonly PoolOverview[],
  options: { readonly width: number; readonly paint: Paint },
): string[] {
  const headings = ['POOL', 'ONLINE', 'BUSY', 'OFFLINE', 'DISABLED', 'WAITING', 'UPDATES', 'PROJECTS'];
  const columns = headings.map((heading, index) => ({ heading: [heading] as const, yields: index }));
  return tableLines(columns, pools.map(cells), options);
}

function cells({ name, id, autoUpdate, agents, jobs, projects }: PoolOverview): Cell[] {
  if (id === undefined)
    return [cell(name), ...Array.from({ length: 6 }, () => cell('-')), cell('pool not found', 'yellow')];
  const wait = jobs.oldestWaitS === undefined ? '' : `, ${duration(jobs.oldestWaitS)}`;
  const refused = projects.filter(({ authorized }) => !authorized).map(({ project }) => project);
  return [
    cell(name),
    cell(String(agents.online)),
    cell(String(agents.busy)),
    cell(String(agents.offline), agents.offline > 0 ? 'yellow' : undefined),
    cell(String(agents.disabled), agents.disabled > 0 ? 'yellow' : undefined),
    cell(`${jobs.waiting}${wait}`),
    autoUpdate === true ? cell('on', 'yellow') : cell('off'),
    refused.length === 0
      ? cell(projects.map(({ project }) => project).join(', ') || '-')
      : cell(`not permitted: ${refused.join(', ')}`, 'yellow'),
  ];
}

function cell(text: string, style?: Cell['style']): Cell {
  return { texts: [text], ...(style === undefined ? {} : { style }) };
}

function duration(seconds: number): string {
  if (seconds < 120) return `${seconds} s`;
  return seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`;
}

/** Returns what the first check found. */
export function leftoverLines(pools: readonly PoolLeftovers[]): string[] {
  return pools.flatMap(({ pool, found }) => {
    const byFormer = Map.groupBy(found, ({ host, renamedFrom }) =>
      renamedFrom === undefined ? undefined : `${host}, formerly ${renamedFrom}`,
    );
    return [...byFormer].map(([former, same]) => {
      const [names, hosts] = [same.map(({ name }) => name), same.map(({ host }) => host)].map(foldNames);
      const [are, belong] = same.length === 1 ? ['is', 'belongs'] : ['are', 'belong'];
      return `${pool}: ${names} ${are} offline and ${belong} to ${former ?? `no slot of ${hosts}`}`;
    });
  });
}

/** Returns the agents of unknown owners, those of one owner together. */
export function strangerLines(strangers: readonly (Stranger & { readonly pool: string })[]): string[] {
  const byOwner = Map.groupBy(strangers, ({ pool, owner }) => JSON.stringify([pool, owner]));
  return [...byOwner.values()].flatMap((same) => {
    const names = foldNames(same.map(({ name }) => name));
    return same.slice(0, 1).map(({ pool, owner, host = 'unknown' }) => {
      const whose = `owner ${foreignLine(owner, 64)} (host ${host}) is not in the inventory`;
      return `${pool}: ${names} kept: ${whose}`;
    });
  });
}

export function prunedLines(pruned: readonly Pruned[]): string[] {
  const ends = Map.groupBy(pruned, ({ pool, removed, why }) => JSON.stringify([pool, removed, why]));
  return [...ends.values()].map((group) => {
    const [{ pool, removed, why }] = group as [Pruned, ...Pruned[]];
    const names = foldNames(group.map(({ agent }) => agent));
    return removed ? `${pool}: ${names} removed` : `${pool}: ${names} kept: ${why}`;
  });
}
