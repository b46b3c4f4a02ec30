import others from './other-areas.json' with { type: 'json' };
import type { Fake } from '../world/fake.ts';

/** The areas of clients that this server answers, by the ids and names that the live service gave (recorded). */
export const areas: readonly { readonly id: string; readonly name: string }[] = [
  { id: 'a85b8835-c1a1-4aac-ae97-1c3d0ba72dbd', name: 'distributedtask' },
  { id: '79134c72-4a58-4b42-976c-04e7115f32bf', name: 'core' },
  { id: 'a81a0441-de52-4000-aa15-ff0e07bfbbaa', name: 'pipelinePermissions' },
  // An agent looks up where builds are before its first step, though it asks this server for none.
  { id: '5d6898bb-45ec-463f-95f9-54d49c71752e', name: 'build' },
  { id: '00025394-6065-48ca-87d9-7f5672854ef7', name: 'Location Service' },
  { id: '951917ac-a960-4999-8464-e3f0aa25b381', name: 'SPS Location Service' },
];

/**
 * All that the live service lists (recorded). A client that finds an area of its own nowhere asks Microsoft's servers for
 * it, token and all; told that it lies here, it says that this server has nothing of it.
 */
export const listedAreas: typeof areas = [
  ...areas,
  ...Object.entries(others).map(([id, name]) => ({ id, name })),
];

/** Where clients of the .NET SDK ask for features that are switched on; not among the recorded areas, unverified. */
export const featureAvailability = 'c8e5af97-4b95-4e73-9e7f-69a06507967c';

/**
 * Whose addresses these are. Clients of the .NET SDK look no further than the server itself where it is an Azure
 * DevOps Server, and follow the addresses that they are told otherwise.
 */
export function serviceOwner(fake: Fake): string {
  return fake.publicUrl === undefined
    ? '00025394-6065-48ca-87d9-7f5672854ef7'
    : '87966eaa-cb2a-443f-be3c-47bd3b5bf3cb';
}
