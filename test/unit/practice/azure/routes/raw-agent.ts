import { constants, createDecipheriv, privateDecrypt, randomUUID, type KeyObject } from 'node:crypto';
import { agentFiles, generateAgentKey } from '../../../../../src/shared/azure/keys.ts';
import { loginForm, privateKey } from '../../../../support/agent-login.ts';
import { newAgent, type Fixture } from '../server.ts';

/** An answer, its body parsed where it is JSON. */
export interface Answer {
  readonly status: number;
  readonly type: string;
  readonly body: Record<string, unknown>;
  readonly bytes: Buffer;
}

interface Options {
  /** The agent's own token unless given; null: anonymous. */
  readonly token?: string | null;
  readonly json?: unknown;
  readonly text?: string;
  readonly accept?: string;
  readonly signal?: AbortSignal;
}

/** The job message, as far as tests look into it. */
export interface JobMessage {
  readonly requestId: number;
  readonly jobId: string;
  readonly lockToken: string;
  readonly plan: { readonly scopeIdentifier: string; readonly planId: string; readonly version: number };
  readonly timeline: { readonly id: string };
  readonly resources: {
    readonly endpoints: readonly {
      readonly authorization: { readonly parameters: { AccessToken: string } };
    }[];
  };
  readonly steps: readonly {
    readonly id: string;
    readonly reference: { readonly id: string; readonly version: string };
    readonly environment: Readonly<Record<string, string>>;
    readonly inputs: { readonly script: string };
  }[];
}

export interface Message {
  readonly messageId: number;
  readonly messageType: string;
  readonly body: JobMessage;
}

/** Calls the practice server as an agent's programs do, one request at a time: what each answers is up to the test. */
export class RawAgent {
  readonly id: number;
  readonly name: string;
  readonly pool: string;
  sessionId = '';
  readonly #server: string;
  readonly #key: KeyObject;
  readonly #login: Record<string, string>;
  #token = '';
  #secret = Buffer.alloc(0);

  private constructor(
    server: string,
    id: number,
    name: string,
    key: KeyObject,
    login: Record<string, string>,
    poolId: number,
  ) {
    this.id = id;
    this.name = name;
    this.pool = `/_apis/distributedtask/pools/${poolId}`;
    this.#server = server;
    this.#key = key;
    this.#login = login;
  }

  /** Registers it in the pool `wire` and logs it in. */
  static async register(fake: Fixture, name: string): Promise<RawAgent> {
    const { organization } = fake.server;
    const { pool } = await fake.client().ensurePool('wire');
    const key = await generateAgentKey();
    const agent = await fake.client().createAgent(pool.id, newAgent(name, key));
    const files = new Map<string, string>(
      agentFiles({ agent, pool, organization, key }).map(({ name: file, content }) => [file, content]),
    );
    const read = (file: string) => JSON.parse(files.get(file) ?? '') as Record<string, string>;
    const { data } = read('.credentials') as unknown as { data: Record<string, string> };
    const raw = new RawAgent(
      organization,
      agent.id,
      name,
      privateKey(read('.credentials_rsaparams')),
      data,
      pool.id,
    );
    await raw.logIn();
    return raw;
  }

  /** `aheadMs`: how far its clock is ahead of this machine's. */
  async logIn(aheadMs = 0): Promise<Answer> {
    const now = Math.floor((Date.now() + aheadMs) / 1000);
    const { clientId, authorizationUrl, oauthEndpointUrl = '' } = this.#login;
    const claims = {
      iss: clientId,
      sub: clientId,
      aud: authorizationUrl,
      jti: randomUUID(),
      nbf: now,
      exp: now + 300,
    };
    const answer = await read(
      await fetch(oauthEndpointUrl, { method: 'POST', body: loginForm(claims, this.#key) }),
    );
    this.#token = String(answer.body['access_token']);
    return answer;
  }

  /** `path` is below the organisation. */
  async call(method: string, path: string, options: Options = {}): Promise<Answer> {
    const { token = this.#token, json, text, accept = 'application/json', signal } = options;
    const body = text ?? (json === undefined ? undefined : JSON.stringify(json));
    return read(
      await fetch(`${this.#server}${path}`, {
        method,
        headers: {
          accept: `${accept}; api-version=5.1-preview.1`,
          'content-type': text === undefined ? 'application/json' : 'application/octet-stream',
          ...(token === null ? {} : { authorization: `Bearer ${token}` }),
        },
        ...(body === undefined ? {} : { body }),
        ...(signal === undefined ? {} : { signal }),
      }),
    );
  }

  /** As the listener says it (recorded). */
  async openSession(more: object = {}): Promise<Answer> {
    const agent = { id: this.id, name: this.name, version: '5.278.0', osDescription: 'Debian', status: 0 };
    const json = {
      sessionId: '00000000-0000-0000-0000-000000000000',
      ownerName: 'gpu-1',
      agent: { ...agent, provisioningState: null },
      systemCapabilities: { 'Agent.Version': '5.278.0' },
      ...more,
    };
    const answer = await this.call('POST', `${this.pool}/sessions`, { json });
    if (answer.status === 200) this.took(answer);
    return answer;
  }

  /** Remembers the session of an answer. */
  took({ body, status, bytes }: Answer): void {
    if (body['encryptionKey'] === undefined)
      throw new Error(`no session: ${JSON.stringify({ body, status, text: bytes.toString() })}`);
    this.sessionId = String(body['sessionId']);
    const { value } = body['encryptionKey'] as { value: string };
    const padding = { key: this.#key, padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: 'sha1' };
    this.#secret = privateDecrypt(padding, Buffer.from(value, 'base64'));
  }

  /** A poll; `last` is absent until there was a message. */
  poll(last?: number, signal?: AbortSignal): Promise<Answer> {
    const seen = last === undefined ? '' : `&lastMessageId=${last}`;
    const path = `${this.pool}/messages?sessionId=${this.sessionId}${seen}`;
    return this.call('GET', path, signal === undefined ? {} : { signal });
  }

  open({ body }: Answer): Message {
    const {
      messageId,
      messageType,
      iv,
      body: text,
    } = body as { messageId: number; messageType: string; iv: string; body: string };
    const decipher = createDecipheriv('aes-256-cbc', this.#secret, Buffer.from(iv, 'base64'));
    const plain = Buffer.concat([decipher.update(text, 'base64'), decipher.final()]).toString('utf8');
    return { messageId, messageType, body: JSON.parse(plain) as JobMessage };
  }

  /** Takes the next job as the listener does: message, deletion, first renewal. */
  async takeJob(): Promise<JobMessage> {
    const { messageId, body } = this.open(await this.poll());
    await this.call('DELETE', `${this.pool}/messages/${messageId}?sessionId=${this.sessionId}`);
    await this.renew(body);
    return body;
  }

  /** With the empty token, as the listener renews (recorded). */
  renew({ requestId }: JobMessage, more: object = {}): Promise<Answer> {
    const path = `${this.pool}/jobrequests/${requestId}?lockToken=00000000-0000-0000-0000-000000000000`;
    return this.call('PATCH', path, { json: { requestId, data: {}, agentDelays: [], ...more } });
  }

  /** A call of the worker below its plan, with the job's token. */
  work(job: JobMessage, method: string, below: string, options: Options = {}): Promise<Answer> {
    const token = job.resources.endpoints[0]?.authorization.parameters.AccessToken ?? null;
    const { scopeIdentifier, planId } = job.plan;
    const path = `/${scopeIdentifier}/_apis/distributedtask/hubs/Build/plans/${planId}/${below}`;
    return this.call(method, path, { token, ...options });
  }
}

async function read(response: Response): Promise<Answer> {
  const bytes = Buffer.from(await response.arrayBuffer());
  const type = response.headers.get('content-type') ?? '';
  const body = type.startsWith('application/json')
    ? (JSON.parse(bytes.toString('utf8')) as Record<string, unknown>)
    : {};
  return { status: response.status, type, body, bytes };
}
