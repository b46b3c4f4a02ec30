import { constants, createDecipheriv, privateDecrypt, randomUUID } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { loginForm, privateKey } from './agent-login.ts';

/** The files of a registered agent: name → content. */
export type AgentFiles = ReadonlyMap<string, string | Buffer>;

interface Job {
  readonly requestId: number;
  readonly lockToken: string;
  readonly jobId: string;
  readonly jobDisplayName: string;
  readonly plan: { readonly scopeIdentifier: string; readonly planId: string };
  readonly resources: {
    readonly endpoints: readonly {
      readonly authorization: { readonly parameters: { AccessToken: string } };
    }[];
  };
}

/** The server still has a session of this agent. */
export class SessionConflict extends Error {}

/**
 * An agent in this process: it logs in with the agent's files, holds a session, takes a job and ends it. Real HTTP,
 * signatures and encryption; no job runs.
 */
export class AgentSession {
  readonly #server: string;
  readonly #pool: string;
  readonly #bearer: string;
  readonly #id: string;
  readonly #key: Buffer;
  #last = 0;
  #job: Job | undefined;

  private constructor(server: string, pool: string, bearer: string, id: string, key: Buffer) {
    this.#server = server;
    this.#pool = pool;
    this.#bearer = bearer;
    this.#id = id;
    this.#key = key;
  }

  /** Throws SessionConflict while the name has another session; other refusals are plain errors. */
  static async open(files: AgentFiles): Promise<AgentSession> {
    const read = (name: string) => JSON.parse(String(files.get(name))) as Record<string, string>;
    const agent = read('.agent');
    const { data } = read('.credentials') as unknown as { data: Record<string, string> };
    const key = privateKey(read('.credentials_rsaparams'));
    const server = (agent['serverUrl'] ?? '').replace(/\/+$/u, '');
    const bearer = await login(data, key);
    const pool = `/_apis/distributedtask/pools/${agent['poolId']}`;
    const response = await send(`${server}${pool}/sessions`, bearer, 'POST', {
      ownerName: 'c0ffee',
      agent: { id: agent['agentId'], name: agent['agentName'] },
    });
    if (response.status === 409) throw new SessionConflict();
    if (response.status !== 200) throw new Error(`no session: ${response.status} ${await response.text()}`);
    const answer = (await response.json()) as { sessionId: string; encryptionKey: { value: string } };
    const padding = { key, padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: 'sha1' };
    const secret = privateDecrypt(padding, Buffer.from(answer.encryptionKey.value, 'base64'));
    return new AgentSession(server, pool, bearer, answer.sessionId, secret);
  }

  /** Waits for one long poll and takes its job. Returns the job's name, or undefined. */
  async take(signal?: AbortSignal): Promise<string | undefined> {
    const query = `sessionId=${this.#id}&lastMessageId=${this.#last}`;
    const response = await this.#send('GET', `/messages?${query}`, undefined, signal);
    if (response.status !== 200) {
      if (response.status >= 300) throw new Error(`no messages: ${response.status}`);
      return undefined;
    }
    const message = (await response.json()) as {
      messageId: number;
      messageType: string;
      iv: string;
      body: string;
    };
    this.#last = message.messageId;
    if (message.messageType !== 'PipelineAgentJobRequest') return undefined;
    const decipher = createDecipheriv('aes-256-cbc', this.#key, Buffer.from(message.iv, 'base64'));
    const text = Buffer.concat([decipher.update(message.body, 'base64'), decipher.final()]).toString('utf8');
    this.#job = JSON.parse(text) as Job;
    await this.renew();
    await this.#send('DELETE', `/messages/${message.messageId}?sessionId=${this.#id}`);
    return this.#job.jobDisplayName;
  }

  /** Keeps the lock of the job. */
  async renew(): Promise<void> {
    const { requestId, lockToken } = this.#job ?? {};
    await this.#send('PATCH', `/jobrequests/${requestId}?lockToken=${lockToken}`, {});
  }

  /** Reports the job as succeeded, with the job's own token as its worker does. */
  async complete(): Promise<void> {
    const job = this.#job;
    if (job === undefined) return;
    const url = `${this.#server}/${job.plan.scopeIdentifier}/_apis/distributedtask/hubs/build/plans/${job.plan.planId}/events`;
    const event = { name: 'JobCompleted', jobId: job.jobId, requestId: job.requestId, result: 'succeeded' };
    const token = job.resources.endpoints[0]?.authorization.parameters.AccessToken ?? '';
    await send(url, token, 'POST', { ...event, agentShuttingDown: true });
    this.#job = undefined;
  }

  /** Ends the session; a killed agent leaves it open. */
  async close(): Promise<void> {
    await this.#send('DELETE', `/sessions/${this.#id}`);
  }

  #send(method: string, path: string, body?: object, signal?: AbortSignal): Promise<Response> {
    return send(`${this.#server}${this.#pool}${path}`, this.#bearer, method, body, signal);
  }
}

function send(
  url: string,
  bearer: string,
  method: string,
  body?: object,
  signal?: AbortSignal,
): Promise<Response> {
  return fetch(url, {
    method,
    headers: {
      authorization: `Bearer ${bearer}`,
      accept: 'application/json; api-version=5.1-preview.1',
      'content-type': 'application/json',
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
  });
}

/** Signed for the server's name, sent to the address of the connection. */
async function login(credentials: Readonly<Record<string, string>>, key: KeyObject): Promise<string> {
  const { clientId, authorizationUrl: aud, oauthEndpointUrl = '' } = credentials;
  const nbf = Math.floor(Date.now() / 1000);
  const claims = { iss: clientId, sub: clientId, aud, jti: randomUUID(), nbf, exp: nbf + 300 };
  const response = await fetch(oauthEndpointUrl, {
    method: 'POST',
    body: loginForm(claims, key),
  });
  const answer = (await response.json()) as { access_token?: string; error_description?: string };
  if (answer.access_token === undefined) throw new Error(`no login: ${answer.error_description}`);
  return answer.access_token;
}
