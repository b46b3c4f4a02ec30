import type { AzureAgent, AzureClient } from '../../../src/shared/azure/client.ts';
import { AzureError, failureOf, pauseTooLong, unreachable } from '../../../src/shared/azure/http/errors.ts';
import { longestPauseMs, requestedPause } from '../../../src/shared/azure/http/limits.ts';
import { OddStatus } from '../../../src/shared/azure/http/proxy.ts';
import type { Clock } from '../../../src/shared/base/clock.ts';
import { Capabilities } from '../../../src/shared/contract/paths.ts';
import type { Boundary, Killable } from './boundary.ts';
import type { Judge } from './judge.ts';
import { requestOf, type Entry, type ModelServer } from './server.ts';

const organization = 'https://dev.azure.com/lab';

/** Returns the error of a refused call, or of an answer with a status that does not exist; status 0: no answer. */
export function refusal(status: number, call: string, message = 'out of order', typeKey = ''): unknown {
  const operation = operationOf(call);
  if (status === 0) return unreachable(organization, operation, new Error('connect ECONNRESET'));
  if (status < 200 || status > 599) return unreachable(organization, operation, new OddStatus(status));
  const answer = { status, headers: new Headers(), json: { message, typeKey }, empty: false };
  return failureOf(answer, operation, organization);
}

const operationOf = (call: string) => ({ what: call, permission: 'permit it' });

/** Returns the client's interface to the modelled server, with the errors and the pauses of the real one. */
export function modelClient(
  server: ModelServer,
  boundary: Boundary,
  judge: Judge,
  daemon: Killable & { readonly signal: AbortSignal },
  clock: Clock,
): AzureClient {
  let notBefore = 0;
  let oddPause: string | undefined;
  const call = async <Value>(name: string, work: () => Value): Promise<Value> => {
    const pauseMs = notBefore - clock.monotonic();
    if (pauseMs > longestPauseMs) {
      boundary.noteFailure(`azure.${name}`);
      throw pauseTooLong(pauseMs, operationOf(name));
    }
    if (pauseMs > 0) {
      await clock.wait(pauseMs, daemon.signal);
      daemon.signal.throwIfAborted();
    }
    const answer = boundary.call(daemon, `azure.${name}`, work);
    const heed = (): void => {
      const pause = requestedPause(server.pauseHeaders(), clock.wall(), () => 1);
      oddPause = pause?.odd;
      notBefore = Math.max(notBefore, clock.monotonic() + (pause?.ms ?? 0));
    };
    await answer.then(heed, (error: unknown) => {
      if (error instanceof AzureError && error.status !== undefined) heed();
    });
    return answer;
  };
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
    get oddPause() {
      return oddPause;
    },
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
