import { isObject } from '../base/object.ts';
import type { AzureAgent, JobRequest, Pool } from './client.ts';

/** A queue of a project: a pool that the project knows. */
export interface Queue {
  readonly id: number;
  readonly pool?: { readonly id: number };
}

type Item = Readonly<Record<string, unknown>>;
/** A member as its type promises; undefined: it is something else. */
type Read = (value: unknown) => unknown;

const flag: Read = (value) => (typeof value === 'boolean' ? value : undefined);
const number: Read = (value) => (typeof value === 'number' ? value : undefined);
const text: Read = (value) => (typeof value === 'string' ? value : undefined);
const texts: Read = (value) =>
  Array.isArray(value) ? value.filter((item) => text(item) !== undefined) : undefined;
const object: Read = (value) => (isObject(value) ? value : undefined);
const byName =
  (read: Read): Read =>
  (value) =>
    isObject(value)
      ? Object.fromEntries(Object.entries(value).filter(([, item]) => read(item) !== undefined))
      : undefined;
const listOf =
  (read: Read): Read =>
  (value) =>
    Array.isArray(value) ? value.map(read).filter((item) => item !== undefined) : undefined;

const named: Read = (value) => (isNamed(value) ? value : undefined);
const address: Read = (value) => (isObject(value) && typeof value['href'] === 'string' ? value : undefined);
const owner = members({ _links: members({ web: address }) });

const asPool = members({ autoUpdate: flag, isHosted: flag, size: number });
const asAgent = members({
  version: text,
  enabled: flag,
  status: text,
  statusChangedOn: text,
  systemCapabilities: byName(text),
  userCapabilities: byName(text),
  pendingUpdate: object,
  authorization: members({ clientId: text, authorizationUrl: text }),
  properties: byName(object),
});
const asRequest = members({
  jobName: text,
  queueTime: text,
  assignTime: text,
  receiveTime: text,
  finishTime: text,
  lockedUntil: text,
  result: text,
  demands: texts,
  reservedAgent: named,
  matchedAgents: listOf((value) =>
    isObject(value) && number(value['id']) !== undefined ? value : undefined,
  ),
  owner: (value) => (isNamed(value) ? owner(value) : undefined),
});

/**
 * What the server tells of a pool, an agent, a job request, a queue; undefined: it is none, by what such things are chosen by
 * (names, numbers, who has a job). Of the rest, what is not as its type says counts as not told.
 */
export function readPool(item: unknown): Pool | undefined {
  return isNamed(item) ? (asPool(item) as Pool) : undefined;
}

export function readAgent(item: unknown): AzureAgent | undefined {
  if (!isNamed(item)) return undefined;
  const requests: Record<string, JobRequest> = {};
  for (const key of ['assignedRequest', 'lastCompletedRequest']) {
    if (item[key] === undefined) continue;
    const request = readRequest(item[key]);
    if (request === undefined) return undefined;
    requests[key] = request;
  }
  return { ...(asAgent(item) as AzureAgent), ...requests };
}

export function readRequest(item: unknown): JobRequest | undefined {
  if (!isObject(item) || typeof item['requestId'] !== 'number') return undefined;
  return asRequest(item) as JobRequest;
}

export function readQueue(item: unknown): Queue | undefined {
  if (!isObject(item) || typeof item['id'] !== 'number') return undefined;
  const { id, pool } = item;
  if (pool === undefined) return { id };
  return isObject(pool) && typeof pool['id'] === 'number' ? { id, pool: { id: pool['id'] } } : undefined;
}

/** The name of a project, by which we ask for everything in it. */
export function readProjectName(item: unknown): string | undefined {
  return isObject(item) && typeof item['name'] === 'string' ? item['name'] : undefined;
}

/** Reads an object's members one by one; those that are not named here stay as they are. */
function members(reads: Readonly<Record<string, Read>>): Read {
  const known = new Map(Object.entries(reads));
  return (value) => {
    if (!isObject(value)) return undefined;
    const read = Object.entries(value).map(
      ([name, member]) => [name, (known.get(name) ?? as)(member)] as const,
    );
    return Object.fromEntries(read.filter(([, member]) => member !== undefined));
  };
}

function as(value: unknown): unknown {
  return value;
}

function isNamed(item: unknown): item is Item {
  return isObject(item) && typeof item['id'] === 'number' && typeof item['name'] === 'string';
}
