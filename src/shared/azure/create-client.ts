import { isObject } from '../base/objects.ts';
import { calls, readAgent, readPool, readQueue, readRequest } from './calls.ts';
import type { AzureClient, Project } from './client.ts';
import { AzureError, hasCode } from './http/errors.ts';
import { readLimits, readUsage } from './parallel-jobs.ts';
import { createRest, type Call, type Rest, type RestOptions } from './http/rest.ts';

export type AzureClientOptions = RestOptions;

/** Reads may lag behind writes by this long; other tools for this service wait as long. */
const settleMs = 5 * 60_000;

/** Creates the client of Azure DevOps over HTTP. Every error is a FleetError with a code `azure.*` and a next action. */
export function createAzureClient(options: AzureClientOptions): AzureClient {
  const rest = createRest(options);
  const reader = readerOf(rest);
  return {
    ...poolMethods(rest, reader),
    ...agentMethods(rest, reader),
    ...projectMethods(rest, reader),
    get oddPause() {
      return rest.oddPause;
    },
    parallelJobs: async () => {
      // Preview only: servers of different versions accept different preview versions.
      const usage = await rest.send(calls.resourceUsage()).then(readUsage, (error: unknown) => {
        if (hasCode(error, 'azure.auth')) throw error;
        return undefined;
      });
      return usage ?? readLimits(await rest.send(calls.resourceLimits()));
    },
  };
}

interface Reader {
  /** Reads a list. Throws when the answer is not a list of valid items. */
  readonly list: <T>(call: Call, read: Read<T>) => Promise<readonly T[]>;
  /** Reads one item; undefined when it does not exist. */
  readonly maybe: <T>(call: Call, read: Read<T>) => Promise<T | undefined>;
}

function readerOf(rest: Rest): Reader {
  return {
    list: async (call, read) => {
      const answer = await rest.send(call);
      const items =
        isObject(answer) && Array.isArray(answer['value']) ? answer['value'].map(read) : [undefined];
      // As an empty list it would make every agent look deleted.
      if (!items.every((item) => item !== undefined))
        throw unexpectedAnswer(call.what, 'list', 'a JSON object with "value"');
      return items;
    },
    maybe: async (call, read) => {
      try {
        return await sent(rest, call, read);
      } catch (error) {
        if (hasCode(error, 'azure.not-found')) return undefined;
        throw error;
      }
    },
  };
}

const isSameName = (a: string, b: string): boolean => a.toLowerCase() === b.toLowerCase();

function poolMethods(
  rest: Rest,
  { list, maybe }: Reader,
): Pick<
  AzureClient,
  'findPool' | 'listPools' | 'ensurePool' | 'setPoolAutoUpdate' | 'unfinishedRequests' | 'getRequest'
> {
  const findPool = async (name: string) =>
    (await list(calls.listPools(name), readPool)).find((pool) => isSameName(pool.name, name));
  return {
    findPool,
    listPools: () => list(calls.listPools(), readPool),
    ensurePool: async (name) => {
      const existing = await findPool(name);
      if (existing !== undefined) return { pool: existing, created: false };
      const made = await createOrSeen(rest, calls.createPool(name), readPool, () => findPool(name));
      if (made.how === 'existed') return { pool: made.value, created: false };
      // The service ignores autoUpdate when a pool is created.
      const pool = await untilSeen(rest, `pool ${name}`, async () => {
        await maybe(calls.setAutoUpdate(made.value.id, false), isAnswered);
        const seen = await findPool(name);
        return seen?.autoUpdate === false ? seen : undefined;
      });
      return { pool, created: true };
    },
    setPoolAutoUpdate: async (poolId, autoUpdate) => {
      await rest.send(calls.setAutoUpdate(poolId, autoUpdate));
    },
    getRequest: (poolId, requestId) => maybe(calls.getRequest(poolId, requestId), readRequest),
    unfinishedRequests: async (poolId) =>
      (await list(calls.unfinishedRequests(poolId), readRequest)).filter(
        (request) => request.result === undefined,
      ),
  };
}

function agentMethods(
  rest: Rest,
  { list, maybe }: Reader,
): Pick<
  AzureClient,
  | 'findAgent'
  | 'listAgents'
  | 'getAgent'
  | 'createAgent'
  | 'replaceAgent'
  | 'setAgentEnabled'
  | 'setUserCapabilities'
  | 'deleteAgent'
> {
  const findAgent: AzureClient['findAgent'] = async (poolId, name, query = {}) =>
    (await list(calls.findAgent(poolId, name, query), readAgent)).find((agent) =>
      isSameName(agent.name, name),
    );
  const replaceAgent: AzureClient['replaceAgent'] = async (poolId, agentId, agent) =>
    sent(rest, calls.replaceAgent(poolId, agentId, agent), readAgent);
  return {
    findAgent,
    replaceAgent,
    listAgents: (poolId, query = {}) => list(calls.listAgents(poolId, query), readAgent),
    getAgent: (poolId, agentId) => maybe(calls.getAgent(poolId, agentId), readAgent),
    createAgent: async (poolId, agent) => {
      const made = await createOrSeen(rest, calls.createAgent(poolId, agent), readAgent, () =>
        findAgent(poolId, agent.name),
      );
      if (made.how === 'created') return made.value;
      if (made.how === 'existed') throw made.conflict;
      // The agent is ours, but only the answer to a registration contains the login data.
      return await replaceAgent(poolId, made.value.id, agent);
    },
    setAgentEnabled: async (poolId, agentId, enabled) => {
      await rest.send(calls.setEnabled(poolId, agentId, enabled));
    },
    setUserCapabilities: async (poolId, agentId, capabilities) => {
      await rest.send(calls.setUserCapabilities(poolId, agentId, capabilities));
    },
    deleteAgent: async (poolId, agentId) => {
      try {
        await maybe(calls.deleteAgent(poolId, agentId), isAnswered);
        return true;
      } catch (error) {
        if (hasCode(error, 'azure.job-running')) return false;
        throw error;
      }
    },
  };
}

function projectMethods(
  rest: Rest,
  { list, maybe }: Reader,
): Pick<AzureClient, 'findProject' | 'createQueue' | 'isQueueAuthorized' | 'authorizeQueue'> {
  const findProject = async (name: string): Promise<Project | undefined> => {
    try {
      const queues = await list(calls.listQueues(name), readQueue);
      return { name, queues: queues.map(({ id, pool }) => ({ id, poolId: pool?.id ?? 0 })) };
    } catch (error) {
      // Every other "not found" concerns the organization.
      if (error instanceof AzureError && error.typeKey?.includes('Project') === true) return undefined;
      throw error;
    }
  };
  return {
    findProject,
    createQueue: async (project, pool) => {
      const made = await createOrSeen<{ readonly id: number }>(
        rest,
        calls.createQueue(project, pool),
        readQueue,
        async () => (await findProject(project))?.queues.find(({ poolId }) => poolId === pool.id),
      );
      return made.value;
    },
    isQueueAuthorized: async (project, queueId) =>
      (await maybe(calls.readPermission(project, queueId), readAuthorized)) === true,
    authorizeQueue: async (project, queueId) => {
      await rest.send(calls.authorizeQueue(project, queueId));
    },
  };
}

/** Parses the answer; undefined when it has another form. */
type Read<T> = (answer: unknown) => T | undefined;

/** Ignores the answer of a call whose effect alone matters. */
function isAnswered(): true {
  return true;
}

function readAuthorized(answer: unknown): boolean | undefined {
  if (!isObject(answer)) return undefined;
  const { allPipelines } = answer;
  return isObject(allPipelines) && allPipelines['authorized'] === true;
}

async function sent<T>(rest: Rest, call: Call, read: Read<T>): Promise<T> {
  const value = read(await rest.send(call));
  if (value === undefined)
    throw unexpectedAnswer(call.what, 'pool or agent', 'a JSON object with its number');
  return value;
}

function unexpectedAnswer(what: string, thing: string, expected: string): AzureError {
  return new AzureError({
    code: 'azure.unexpected',
    what: `cannot ${what}: the answer contains no ${thing}`,
    expected,
    next: 'check the organization URL, and check for a proxy that answers for it',
  });
}

/** Whether the answer is missing or from an intermediary: the server may have carried out the request. */
function isUncertain(error: unknown): boolean {
  return error instanceof AzureError && (error.status === undefined || error.status >= 500);
}

type Made<T> =
  | { readonly how: 'created'; readonly value: T }
  /** An earlier attempt created it and its answer was lost. */
  | { readonly how: 'found'; readonly value: T }
  | { readonly how: 'existed'; readonly value: T; readonly conflict: unknown };

/** Creates a named item exactly once, even when answers get lost and reads lag behind. */
async function createOrSeen<T>(
  rest: Rest,
  call: Call,
  read: Read<T>,
  find: () => Promise<T | undefined>,
): Promise<Made<T>> {
  let lost = false;
  for (;;) {
    try {
      return { how: 'created', value: await sent(rest, call, read) };
    } catch (error) {
      if (hasCode(error, 'azure.conflict')) {
        const value = await untilSeen(rest, call.what, find);
        return lost ? { how: 'found', value } : { how: 'existed', value, conflict: error };
      }
      if (lost || !isUncertain(error)) throw error;
      lost = true;
      const value = await find();
      if (value !== undefined) return { how: 'found', value };
    }
  }
}

/** Polls every 1 to 10 s until there is an answer. */
async function untilSeen<T>(rest: Rest, what: string, find: () => Promise<T | undefined>): Promise<T> {
  let waited = 0;
  for (let pause = 1000; ; pause = Math.min(pause * 2, 10_000)) {
    const found = await find();
    if (found !== undefined) return found;
    if (waited >= settleMs) {
      throw new AzureError({
        code: 'azure.not-settled',
        what: `Azure DevOps does not show the result of a change after 5 minutes (${what})`,
        next: 'run the command again; if the error persists, check the organization in the browser',
      });
    }
    await rest.wait(pause);
    waited += pause;
  }
}
