import fc from 'fast-check';
import type { Entry } from '../server.ts';
import type { ModelContainer } from '../containers.ts';
import type { Place, World } from '../world.ts';

/** An event in a world. */
export interface Act {
  readonly name: string;
  readonly carryOut: (world: World) => void;
}

export const act = (name: string, carryOut: Act['carryOut']): Act => ({ name, carryOut });

export const minute = 60_000;

/** Number of one of the agents. */
export const anyAgent = fc.nat({ max: 3 });

/** A duration in milliseconds. */
export const span = fc.oneof(
  { arbitrary: fc.integer({ min: 0, max: 2_000 }), weight: 3 },
  { arbitrary: fc.integer({ min: 2_000, max: minute }), weight: 3 },
  { arbitrary: fc.integer({ min: minute, max: 7 * minute }), weight: 1 },
);

export function placeAt(world: World, at: number): Place | undefined {
  const all = world.places();
  return all[at % Math.max(1, all.length)];
}

export function entryAt(world: World, at: number): Entry | undefined {
  const place = placeAt(world, at);
  return place === undefined ? undefined : world.server.named(place.poolId, place.agent);
}

/** Returns a running container. */
export function containerAt({ dockerd }: World, at: number): ModelContainer | undefined {
  const all = [...dockerd.containers.values()].filter(({ process }) => process?.over === false);
  return all[at % Math.max(1, all.length)];
}
