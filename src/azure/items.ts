import type { AzureAgent, JobRequest, Pool } from './client.ts';

/** A queue of a project: a pool that the project knows. */
export interface Queue {
  readonly id: number;
  readonly pool?: { readonly id: number };
}

/** What a list of the server holds is what it should be, as far as it is chosen by: names and numbers, and who has a job. */
export function isPool(item: unknown): item is Pool {
  return isNamed(item);
}

export function isAgent(item: unknown): item is AzureAgent {
  return (
    isNamed(item) &&
    ['assignedRequest', 'lastCompletedRequest'].every((key) => isAbsentOr(item[key], isRequest))
  );
}

export function isRequest(item: unknown): item is JobRequest {
  return isObject(item) && typeof item['requestId'] === 'number';
}

export function isQueue(item: unknown): item is Queue {
  return isObject(item) && typeof item['id'] === 'number' && isAbsentOr(item['pool'], isObject);
}

function isNamed(item: unknown): item is Readonly<Record<string, unknown>> {
  return isObject(item) && typeof item['id'] === 'number' && typeof item['name'] === 'string';
}

function isAbsentOr(value: unknown, is: (value: unknown) => boolean): boolean {
  return value === undefined || is(value);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
