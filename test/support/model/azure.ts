import type { AzureAgent, AzureClient } from '../../../src/shared/azure/client.ts';
import { failureOf, unreachable } from '../../../src/shared/azure/http/errors.ts';
import { Capabilities } from '../../../src/shared/contract/paths.ts';
import type { Boundary, Killable } from './boundary.ts';
import type { Judge } from './judge.ts';
import { requestOf, type Entry, type ModelServer } from './server.ts';

const organization = 'https://dev.azure.com/lab';

/** Returns the error of a refused call; status 0: no answer. */
export function refusal(status: number, call: string, message = 'out of order', typeKey = ''): unknown {
  const operation = { what: call, permission: 'permit it' };
  if (status === 0) return unreachable(organization, operation, new Error('connect ECONNRESET'));
  const answer = { status, headers: new Headers(), json: { message, typeKey }, empty: false };
  return failureOf(answer, operation, organization);
}

/** Returns the client's interface to the modelled server, with the errors of the real one. */
export function modelClient(
  server: ModelServer,
  boundary: Boundary,
  judge: Judge,
  daemon: Killable,
): AzureClient {
  const call = <Value>(name: string, work: () => Value): Promise<Value> =>
    boundary.call(daemon, `azure.${name}`, work);
  const found = (poolId: number, id: number, name: string): Entry => {
    const entry = server.byId(poolId, id);
    if (entry !== undefined) return entry;
    throw refusal(404, name, `Agent with identifier ${id} was not found.`, 'TaskAgentNotFoundException');
  };
  const ofPool = (poolId: number): readonly AzureAgent[] =>
    server.entries.filter((entry) => entry.poolId === poolId).flatMap((entry) => server.read(entry) ?? []);
  const unused = (name: string) => (): never => {
    throw new Error(`the manager never calls ${name}`);
  };
  return {
    findPool: (name) =>
      call('findPool', () => server.pools.find((pool) => pool.name.toLowerCase() === name.toLowerCase())),
    listPools: () => call('listPools', () => server.pools),
    listAgents: (poolId, { owner } = {}) =>
      call('listAgents', () =>
        ofPool(poolId).filter(
          ({ userCapabilities }) =>
            owner === undefined || !server.filtersByOwner || userCapabilities?.[Capabilities.owner] === owner,
        ),
      ),
    getAgent: (poolId, id) =>
      call('getAgent', () => {
        const entry = server.byId(poolId, id);
        return entry === undefined ? undefined : server.read(entry);
      }),
    findAgent: (poolId, name, { capabilities = true } = {}) =>
      call('findAgent', () => {
        const entry = server.named(poolId, name);
        if (entry === undefined) return undefined;
        judge.read(entry);
        const agent = server.read(entry);
        if (capabilities || agent === undefined) return agent;
        const { systemCapabilities: _, userCapabilities: __, ...rest } = agent;
        return rest;
      }),
    createAgent: (poolId, agent) =>
      call('createAgent', () => {
        if (server.named(poolId, agent.name) !== undefined)
          throw refusal(409, 'createAgent', 'The name is taken.', 'TaskAgentExistsException');
        const entry = server.add(poolId, agent);
        judge.created(entry);
        return server.shown(entry);
      }),
    replaceAgent: (poolId, id, agent) =>
      call('replaceAgent', () => {
        const entry = found(poolId, id, 'replaceAgent');
        judge.replaces(entry, agent);
        server.replace(entry, agent);
        return server.shown(entry);
      }),
    setAgentEnabled: (poolId, id, enabled) =>
      call('setAgentEnabled', () => {
        const entry = found(poolId, id, 'setAgentEnabled');
        judge.switches(entry, enabled);
        server.change(entry, () => (entry.enabled = enabled));
      }),
    setUserCapabilities: (poolId, id, capabilities) =>
      call('setUserCapabilities', () => {
        const entry = found(poolId, id, 'setUserCapabilities');
        judge.describes(entry, capabilities);
        server.change(entry, () => (entry.userCapabilities = { ...capabilities }));
      }),
    deleteAgent: (poolId, id) =>
      call('deleteAgent', () => {
        const entry = server.byId(poolId, id);
        if (entry === undefined) return true;
        if (server.assigned(entry) !== undefined) return false;
        judge.deletes(entry);
        server.delete(entry);
        return true;
      }),
    unfinishedRequests: (poolId) =>
      call('unfinishedRequests', () => {
        const inPool = server.entries.filter((entry) => entry.poolId === poolId);
        return server.jobs
          .filter(({ result }) => result === undefined)
          .map((job) => ({
            ...requestOf(job),
            matchedAgents: inPool
              .filter(({ name }) => name === job.agent)
              .map(({ id, enabled, session }) => ({
                id,
                enabled,
                status: session === undefined ? ('offline' as const) : ('online' as const),
              })),
          }));
      }),
    getRequest: (_, id) =>
      call('getRequest', () => {
        const job = server.jobs.find((each) => each.id === id);
        return job === undefined ? undefined : requestOf(job);
      }),
    ensurePool: unused('ensurePool'),
    setPoolAutoUpdate: unused('setPoolAutoUpdate'),
    findProject: unused('findProject'),
    createQueue: unused('createQueue'),
    isQueueAuthorized: unused('isQueueAuthorized'),
    authorizeQueue: unused('authorizeQueue'),
    parallelJobs: unused('parallelJobs'),
  };
}
