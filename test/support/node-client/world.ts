import { WebApi, getBasicHandler, getBearerHandler } from 'azure-devops-node-api';
import type { ICoreApi } from 'azure-devops-node-api/CoreApi.js';
import type { ILocationsApi } from 'azure-devops-node-api/LocationsApi.js';
import type { ITaskAgentApi } from 'azure-devops-node-api/TaskAgentApi.js';
import type { FakeControl } from '../../../practice/azure/control/control.ts';
import { agentFiles, generateAgentKey } from '../../../src/shared/azure/keys.ts';
import { loginForm, privateKey } from '../agent-login.ts';
import { AgentSession } from '../agent-session.ts';

/** Where the table's calls are made: an organisation with a pool, its queue, agents and jobs. */
export interface ClientWorld {
  readonly web: WebApi;
  readonly tasks: ITaskAgentApi;
  readonly core: ICoreApi;
  readonly locations: ILocationsApi;
  /** The same client with the access token of the agent `idle-0`. */
  readonly asAgent: ITaskAgentApi;
  readonly project: { readonly id: string; readonly name: string };
  readonly pool: { readonly id: number; readonly name: string };
  readonly queue: { readonly id: number };
  /** Online, with a running job. */
  readonly busy: { readonly id: number };
  /** Offline; only it can take a waiting job. */
  readonly idle: { readonly id: number; readonly name: string };
  readonly running: { readonly id: number };
  readonly waiting: { readonly id: number };
  close(): Promise<void>;
}

/** One call of the official client, its expected result, and the source of the expectation. */
export interface ClientCall {
  readonly name: string;
  readonly call: (world: ClientWorld) => Promise<unknown>;
  /** A pattern that the result must match; for a refused call that of the error. */
  readonly shape: unknown;
  /**
   * `contract METHOD PATH`: the published contract. `recorded METHOD PATH`: an answer of the live service.
   * `locations NAME`: its table of resources. `client TYPE`: a declaration of the client. `agent …`: the agent's
   * source relies on it.
   */
  readonly source: string;
}

/** Error of a refused call, as the client shows it. */
export async function refusal(work: Promise<unknown>): Promise<unknown> {
  const given = Symbol('answered');
  const outcome = await work.then(
    () => given,
    (error: unknown) => error,
  );
  if (outcome === given) throw new Error('it was answered');
  const { statusCode, result, message } = outcome as {
    statusCode?: number;
    result?: unknown;
    message: string;
  };
  return { statusCode, message, typeKey: (Object(result) as { typeKey?: string }).typeKey };
}

/** Makes the world by the client's own calls, and jobs by the practice server's control API. */
export async function clientWorld(organization: string, token: string, control: FakeControl) {
  // This handler sends "PAT" as the user's name.
  const web = new WebApi(organization, getBasicHandler('PAT', token));
  const tasks = await web.getTaskAgentApi();
  const core = await web.getCoreApi();
  const locations = await web.getLocationsApi();
  const key = await generateAgentKey();
  const { id: poolId = 0, name = '' } = await tasks.addAgentPool({ name: 'client' });
  const { id: projectId = '' } = await core.getProject('vision');
  const project = { id: projectId, name: 'vision' };
  const queue = await tasks.addAgentQueue({ name: 'client', pool: { id: poolId } }, project.name);
  const register = async (agent: string) => {
    const systemCapabilities = { 'Agent.Name': agent, 'Agent.Version': '5.279.0', gpu: 'a100' };
    const body = { name: agent, version: '5.279.0', authorization: { publicKey: key.publicKey } };
    const made = await tasks.addAgent({ ...body, systemCapabilities } as object, poolId);
    const { id = 0, authorization } = made;
    const { clientId = '', authorizationUrl = '' } = authorization as Record<string, string>;
    const state = { enabled: true, status: 'offline' } as const;
    return { id, name: agent, ...state, authorization: { clientId, authorizationUrl } };
  };
  const [busy, idle] = [await register('busy-0'), await register('idle-0')];
  const pool = { id: poolId, name };
  const session = await AgentSession.open(
    new Map(agentFiles({ agent: busy, pool, organization, key }).map((file) => [file.name, file.content])),
  );
  const [running] = await control.queue({ pool: name, demands: ['Agent.Name -equals busy-0'] });
  await session.take();
  const [waiting] = await control.queue({ pool: name, demands: ['Agent.Name -equals idle-0'] });
  const { clientId, authorizationUrl: aud } = idle.authorization;
  const nbf = Math.floor(Date.now() / 1000);
  const claims = { iss: clientId, sub: clientId, aud, nbf, exp: nbf + 300 };
  const parameters = JSON.parse(key.rsaParameters()) as Record<string, string>;
  const login = await fetch(aud, { method: 'POST', body: loginForm(claims, privateKey(parameters)) });
  const { access_token: bearer } = (await login.json()) as { access_token: string };
  const asAgent = await new WebApi(organization, getBearerHandler(bearer)).getTaskAgentApi();
  const world: ClientWorld = {
    web,
    tasks,
    core,
    locations,
    asAgent,
    project,
    pool,
    queue: { id: queue.id ?? 0 },
    busy,
    idle,
    running: { id: running?.id ?? 0 },
    waiting: { id: waiting?.id ?? 0 },
    close: () => session.close(),
  };
  return world;
}
