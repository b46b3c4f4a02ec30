import { generateKeyPair } from 'node:crypto';
import { promisify } from 'node:util';
import { FleetError } from '../base/errors.ts';
import type { AzureAgent } from './client.ts';
import { atServerOf, isHostedService } from './url.ts';

/** An RSA key as JSON Web Key members: base64url, big endian, without leading zeros. */
export interface PrivateJwk {
  readonly n: string;
  readonly e: string;
  readonly d: string;
  readonly p: string;
  readonly q: string;
  readonly dp: string;
  readonly dq: string;
  readonly qi: string;
}

/** An agent's key pair. Never printed: the private part exists only in memory and in the agent's files. */
export class AgentKey {
  readonly #jwk: PrivateJwk;

  constructor(jwk: PrivateJwk) {
    this.#jwk = jwk;
  }

  /** For the registration: standard base64, big endian. */
  get publicKey(): { readonly exponent: string; readonly modulus: string } {
    return { exponent: base64(this.#jwk.e), modulus: base64(this.#jwk.n) };
  }

  /**
   * The content of `.credentials_rsaparams`. .NET imports a key only when its parts have exact lengths, so a part
   * that happens to start with zero bytes (one key in about 85) is padded on the left again.
   */
  rsaParameters(): string {
    const { n, e, d, p, q, dp, dq, qi } = this.#jwk;
    const bytes = Buffer.from(n, 'base64url').length;
    const half = bytes / 2;
    return JSON.stringify({
      ContainerName: '',
      UseCng: false,
      d: base64(d, bytes),
      dp: base64(dp, half),
      dq: base64(dq, half),
      exponent: base64(e),
      inverseQ: base64(qi, half),
      modulus: base64(n, bytes),
      p: base64(p, half),
      q: base64(q, half),
    });
  }

  toJSON(): string {
    return '***';
  }
}

function base64(part: string, length = 0): string {
  const bytes = Buffer.from(part, 'base64url');
  return Buffer.concat([Buffer.alloc(Math.max(0, length - bytes.length)), bytes]).toString('base64');
}

const generate = promisify(generateKeyPair);

/** Generates an RSA-2048 key off the main thread (about 100 ms of another core). */
export async function generateAgentKey(): Promise<AgentKey> {
  const { privateKey } = await generate('rsa', { modulusLength: 2048, publicExponent: 0x10001 });
  return new AgentKey(privateKey.export({ format: 'jwk' }) as unknown as PrivateJwk);
}

export interface AgentFile {
  readonly name: '.agent' | '.credentials' | '.credentials_rsaparams';
  readonly mode: number;
  readonly content: string;
}

/** Returns the three files that config.sh writes to the agent's root; with them `run.sh` needs no token. */
export function agentFiles(registration: {
  /** The server's answer to the registration, with clientId and authorizationUrl. */
  readonly agent: AzureAgent;
  readonly pool: { readonly id: number; readonly name: string };
  /** Organisation URL, see organizationUrl. */
  readonly organization: string;
  readonly key: AgentKey;
  /** Relative to the agent's root, or absolute. */
  readonly workFolder?: string;
}): readonly AgentFile[] {
  const { agent, pool, organization, key } = registration;
  const { clientId, authorizationUrl } = agent.authorization ?? {};
  if (clientId === undefined || authorizationUrl === undefined) {
    throw new FleetError({
      code: 'azure.unexpected',
      what: `Azure DevOps registered agent ${agent.name} without its login data`,
      expected: 'authorization.clientId and authorization.authorizationUrl in the answer',
      seen: clientId === undefined ? 'no clientId' : 'no authorizationUrl',
      next: 'set "registration: config" for this host, and report it',
    });
  }
  const server = serverUrl(agent, organization);
  const settings = {
    acceptTeeEula: true,
    agentId: agent.id,
    agentName: agent.name,
    poolId: pool.id,
    poolName: pool.name,
    serverUrl: server,
    workFolder: registration.workFolder ?? '_work',
  };
  const credentials = {
    scheme: 'OAuth',
    data: { clientId, authorizationUrl, oauthEndpointUrl: loginUrl(authorizationUrl, server) },
  };
  return [
    { name: '.agent', mode: 0o644, content: JSON.stringify(settings) },
    { name: '.credentials', mode: 0o600, content: JSON.stringify(credentials) },
    { name: '.credentials_rsaparams', mode: 0o600, content: key.rsaParameters() },
  ];
}

/**
 * Returns the URL where the agent polls for jobs. A server may answer a registration with another address
 * (`properties.ServerUrl`); config.sh takes its path, and scheme, host and port from the configured URL.
 */
function serverUrl({ properties }: AzureAgent, organization: string): string {
  const reported = properties?.['ServerUrl']?.$value;
  if (typeof reported !== 'string' || !URL.canParse(reported)) return `${organization}/`;
  return atServerOf(reported, organization);
}

/** Returns the URL where the agent logs in: the audience stays the server's, the connection uses the configured host. */
function loginUrl(authorizationUrl: string, server: string): string {
  return isHostedService(server) ? authorizationUrl : atServerOf(authorizationUrl, server);
}
