import type { Offer } from './offers.ts';

/** One job of a matrix: a name as Azure Pipelines takes it for jobs, and what its agent must have. */
export interface Leg {
  readonly name: string;
  readonly demand: string;
}

/** A reader should see at a glance what can be told apart; whoever has more writes on from there. */
const mostLegs = 8;

/** Of the driver and the GPUs: what every agent publishes once it has seen them. docs/jobs.md lists the same. */
const measured = [
  'gpu.model',
  'gpu.memoryMiB',
  'gpu.computeCapability',
  'cuda.driverMax',
  'driver.version',
] as const;

/** What a pipeline may demand of these agents, by name. */
export function demandable(offers: readonly Offer[]): readonly string[] {
  const datasets = offers.flatMap(({ host }) => host.datasets.map(({ name }) => `dataset.${name}`));
  const own = offers.flatMap(({ host }) => Object.keys(host.capabilities).filter(isDemandable));
  return [...new Set(['gpu.count', ...measured, ...datasets, ...own])];
}

/** A demand ends a capability's name at the first blank; a dollar may begin an expression. */
function isDemandable(name: string): boolean {
  return /^[\w.-]+$/.test(name);
}

/**
 * What tells these agents apart by the inventory alone: how many GPUs each has, and the `capabilities:` of the hosts. A
 * demand that no registered agent meets fails its job at once, so that what only the hosts know is not in it.
 */
export function legsOf(offers: readonly Offer[]): readonly Leg[] {
  const counts = [...new Set(offers.flatMap(({ gpus = 0 }) => (gpus > 0 ? [gpus] : [])))].toSorted(
    (a, b) => a - b,
  );
  const byCount = counts.map((count) => ({ name: `gpus_${count}`, demand: `gpu.count -equals ${count}` }));
  const values = new Map(
    offers.flatMap(({ host }) =>
      Object.entries(host.capabilities)
        .filter(([name, value]) => isDemandable(name) && !value.includes('$'))
        .map(([name, value]) => [`${name} -equals ${value}`, { name: jobName(`${name}_${value}`) }] as const),
    ),
  );
  const byValue = [...values].map(([demand, { name }]) => ({ name, demand }));
  const legs = [...byCount, ...byValue];
  const chosen = legs.length === 0 ? [{ name: 'gpus', demand: 'gpu.count' }] : legs.slice(0, mostLegs);
  return distinct(chosen);
}

/** Letters, digits and underscores, a letter first. */
function jobName(text: string): string {
  const name = text.replaceAll(/\W+/g, '_').slice(0, 60);
  return /^[A-Za-z]/.test(name) ? name : `with_${name}`;
}

function distinct(legs: readonly Leg[]): readonly Leg[] {
  const before = (leg: Leg, at: number): number =>
    legs.slice(0, at).filter(({ name }) => name.toLowerCase() === leg.name.toLowerCase()).length;
  return legs.map((leg, at) => {
    const same = before(leg, at);
    return same === 0 ? leg : { ...leg, name: `${leg.name}_${same + 1}` };
  });
}
