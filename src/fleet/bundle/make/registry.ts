import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import * as z from 'zod';

import type { FetchAnswer } from '../../../shared/azure/http/proxy.ts';
import { FleetError, type Problem } from '../../../shared/base/errors.ts';
import { foreignJson, foreignLine } from '../../../shared/base/foreign-text.ts';
import { Secret } from '../../../shared/base/secret.ts';
import { digestIn } from '../../../shared/image/digest-proof.ts';
import { registryOf } from '../../../shared/image/reference.ts';
import { childEnvironment } from '../../artifacts/child-environment.ts';
import type { Member } from '../manifest.ts';
import type { Spool } from './spool.ts';

export interface RegistryTools {
  readonly download: Download;
  readonly signal: AbortSignal;
  readonly login: (registry: string) => Promise<Login | undefined>;
}

/** Media types of images and of multi-platform indexes, OCI's and Docker's. */
const manifestTypes = [
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
  'application/vnd.docker.distribution.manifest.v2+json',
].join(', ');

/** The most bytes of a manifest: all registries accept as many (OCI distribution specification, "Pushing Manifests"). */
export const longestManifest = 4 << 20;
const mostRedirects = 5;

/** Reads contents of one repository of a registry by digest (OCI distribution specification, "Pull"). */
export class Registry {
  readonly #name: DigestName;
  readonly #reference: string;
  readonly #tools: RegistryTools;
  #scheme = 'https';
  #authorization: Secret | undefined;
  #user: string | undefined;

  constructor(reference: string, name: DigestName, tools: RegistryTools) {
    this.#reference = reference;
    this.#name = name;
    this.#tools = tools;
  }

  /** Adds the content of a sha256 (hex) to the spool. Throws where the content is another, or has more bytes than `limit`. */
  async take(kind: 'manifests' | 'blobs', digest: string, limit: number, spool: Spool): Promise<Member> {
    const { signal } = this.#tools;
    const response = await this.#get(kind, digest);
    if (response.status !== 200 || response.body === null) throw this.#fault(`HTTP ${response.status}`);
    const member = await spool.add(within(response.body, limit), signal).catch((error: unknown) => {
      signal.throwIfAborted();
      throw this.#fault(error instanceof Error ? error.message : String(error), error);
    });
    if (member.sha256 === digest) return member;
    throw new FleetError({
      code: 'registry.other-content',
      what: `${this.#name.registry} returned other content than requested: ${this.#reference}`,
      expected: `sha256:${digest}`,
      seen: `sha256:${member.sha256}`,
      next: 'run it again; if it happens again, check the registry, and proxies in between',
    });
  }

  async #get(kind: 'manifests' | 'blobs', digest: string): Promise<FetchAnswer> {
    const { address, repository, registry } = this.#name;
    const path = `${address}/v2/${repository}/${kind}/sha256:${digest}`;
    let response = await this.#ask(path);
    if (response.status === 401) {
      await response.body?.cancel();
      const login = await this.#tools.login(registry);
      this.#user = login?.kind === 'password' ? login.user : undefined;
      const challenge = response.headers.get('www-authenticate') ?? '';
      this.#authorization = await authorize(challenge, login, this.#tools);
      if (this.#authorization === undefined) throw this.#fault('HTTP 401');
      response = await this.#ask(path);
    }
    return this.#follow(response, new URL(`${this.#scheme}://${path}`));
  }

  async #ask(path: string): Promise<FetchAnswer> {
    try {
      return await this.#request(new URL(`${this.#scheme}://${path}`), true);
    } catch (error) {
      if (this.#scheme !== 'https' || !loopback.test(this.#name.address)) throw error;
      this.#scheme = 'http';
      return this.#request(new URL(`http://${path}`), true);
    }
  }

  /** Follows redirects to where contents usually are. Only the registry gets the credential. */
  async #follow(first: FetchAnswer, from: URL): Promise<FetchAnswer> {
    let [response, at] = [first, from];
    for (let hops = 0; response.status >= 300 && response.status < 400; hops += 1) {
      await response.body?.cancel();
      const next = URL.parse(response.headers.get('location') ?? '', at.href);
      if (
        next === null ||
        (next.protocol !== 'https:' && from.protocol === 'https:') ||
        hops >= mostRedirects
      )
        throw this.#fault('too many or invalid HTTP redirects');
      at = next;
      response = await this.#request(next, next.origin === from.origin);
    }
    return response;
  }

  async #request(url: URL, isRegistry: boolean): Promise<FetchAnswer> {
    const { download, signal } = this.#tools;
    const headers = { accept: manifestTypes, ...(isRegistry ? header(this.#authorization) : {}) };
    try {
      return await download(url.href, { method: 'GET', headers, redirect: 'manual', signal });
    } catch (error) {
      signal.throwIfAborted();
      throw this.#fault(reason(error), error);
    }
  }

  #fault(seen: string, cause?: unknown): FleetError {
    const { registry } = this.#name;
    return registryFault(seen, { registry, reference: this.#reference, user: this.#user }, cause);
  }
}

/** Returns the reason of a failed fetch, which is in the error's cause. */
function reason(error: unknown): string {
  if (!(error instanceof Error)) return foreignLine(String(error));
  const { cause } = error;
  return foreignLine(cause instanceof Error ? `${error.message}: ${cause.message}` : error.message);
}

const longestAnswer = 1 << 20;
const tokenShape = z
  .object({ token: z.string().min(1).optional(), access_token: z.string().min(1).optional() })
  .transform(({ token, access_token }) => token ?? access_token);

/** Returns the `Authorization` header for a challenge (`WWW-Authenticate`); undefined: no login fits. */
async function authorize(
  challenge: string,
  login: Login | undefined,
  { download, signal }: { readonly download: Download; readonly signal: AbortSignal },
): Promise<Secret | undefined> {
  if (/^basic\b/i.test(challenge)) return basic(login);
  if (!/^bearer\b/i.test(challenge)) return undefined;
  const parameters = Object.fromEntries(
    [...challenge.matchAll(/(\w+)="([^"]*)"/g)].map(([, name = '', value]) => [name.toLowerCase(), value]),
  ) as Readonly<Record<string, string | undefined>>;
  const realm = URL.parse(parameters['realm'] ?? '');
  // No login is sent to a token server without TLS.
  if (realm === null || (realm.protocol !== 'https:' && !loopback.test(realm.host))) return undefined;
  const { service = '', scope = '' } = parameters;
  const answer = await (login?.kind === 'token'
    ? download(realm.href, {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: new URLSearchParams({
          grant_type: 'refresh_token',
          client_id: 'azp-fleet',
          refresh_token: login.token.reveal(),
          service,
          scope,
        }).toString(),
        redirect: 'manual',
        signal,
      })
    : download(withQuery(realm, { service, scope }), {
        method: 'GET',
        headers: header(basic(login)),
        redirect: 'manual',
        signal,
      }));
  if (answer.status !== 200 || answer.body === null) return undefined;
  const parts: Buffer[] = [];
  for await (const part of within(answer.body, longestAnswer)) parts.push(part);
  const token = tokenShape.safeParse(foreignJson(Buffer.concat(parts).toString())).data;
  return token === undefined ? undefined : new Secret(`Bearer ${token}`);
}

/** Returns the header of a request, if any. */
function header(authorization: Secret | undefined): Record<string, string> {
  return authorization === undefined ? {} : { authorization: authorization.reveal() };
}

function basic(login: Login | undefined): Secret | undefined {
  if (login?.kind !== 'password') return undefined;
  const { user, password } = login;
  return new Secret(`Basic ${Buffer.from(`${user}:${password.reveal()}`).toString('base64')}`);
}

function withQuery(url: URL, values: Readonly<Record<string, string>>): string {
  const whole = new URL(url);
  for (const [name, value] of Object.entries(values)) if (value !== '') whole.searchParams.set(name, value);
  return whole.href;
}

interface Asked {
  readonly registry: string;
  readonly reference: string;
  /** User of the login; undefined: no login, or a token. */
  readonly user: string | undefined;
}

/** Returns the error of a failed request, by the registry's answer (`HTTP 404`) or the network's error. */
function registryFault(seen: string, asked: Asked, cause?: unknown): FleetError {
  return new FleetError({ ...meaning(seen, asked), seen }, { cause });
}

function meaning(seen: string, { registry, reference, user }: Asked): Omit<Problem, 'seen'> {
  const login = `docker login ${registry}`;
  if (/HTTP 401/.test(seen))
    return {
      code: 'registry.password',
      what:
        user === undefined
          ? `${registry} requires a login, and this machine has none that it accepts: ${reference}`
          : `${registry} does not accept the password of user ${user}: ${reference}`,
      next: `log in here (${login}), then run it again`,
    };
  if (/HTTP 403/.test(seen))
    return {
      code: 'registry.denied',
      what: `${registry} denies ${user === undefined ? 'this machine' : `user ${user}`} access to ${reference}`,
      next: `log in here as a user with access (${login}), then run it again`,
    };
  if (/HTTP 404/.test(seen))
    return {
      code: 'registry.not-found',
      what: `${registry} has no ${reference}`,
      next: 'correct name and digest in the inventory, or push it, then run it again',
    };
  if (/HTTP 429/.test(seen))
    return {
      code: 'registry.limit',
      what: `${registry} limits the downloads of this machine: ${reference}`,
      next: `wait, or log in here as a user with a higher limit (${login})`,
    };
  if (/certificate/i.test(seen))
    return {
      code: 'registry.certificate',
      what: `the certificate of ${registry} is not trusted on this machine: ${reference}`,
      next: 'name the authority that signed it as ca: in the inventory, then run it again',
    };
  return {
    code: 'registry.unreachable',
    what: `${registry} cannot be reached for ${reference}`,
    next: 'check the network (proxy: in the inventory) and the registry, then run it again',
  };
}

/** The credential that `docker login` stored for one registry. */
export type Login =
  | { readonly kind: 'password'; readonly user: string; readonly password: Secret }
  /** For the registry's token server, instead of a password. */
  | { readonly kind: 'token'; readonly token: Secret };

const short = z.string().max(100_000).optional().catch(undefined);
const entry = z.object({ auth: short, identitytoken: short });
const shape = z.object({
  auths: z.record(z.string(), entry.catch({})).optional().catch(undefined),
  credHelpers: z
    .record(z.string(), z.string().regex(/^[\w.-]+$/))
    .optional()
    .catch(undefined),
  credsStore: z
    .string()
    .regex(/^[\w.-]+$/)
    .optional()
    .catch(undefined),
});
const helperShape = z.object({ Username: z.string(), Secret: z.string().min(1) });

/** Docker's key for its registry in that file. */
const hub = 'https://index.docker.io/v1/';
const helperMs = 30_000;

/** Returns the login of `docker login` on this machine, from its file or its credential helper. */
export async function loginOf(
  registry: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<Login | undefined> {
  const folder = env['DOCKER_CONFIG'] ?? join(env['HOME'] ?? homedir(), '.docker');
  const text = await readFile(join(folder, 'config.json'), 'utf8').catch(() => '');
  const config = shape.safeParse(foreignJson(text)).data;
  if (config === undefined) return undefined;
  const key = registry === 'docker.io' ? hub : registry;
  const helper = config.credHelpers?.[key] ?? config.credHelpers?.[registry] ?? config.credsStore;
  return (
    (helper && (await fromHelper(helper, key, env))) ||
    fromFile(config.auths?.[key] ?? config.auths?.[`https://${key}`])
  );
}

function fromFile(found: z.infer<typeof entry> | undefined): Login | undefined {
  const { auth, identitytoken } = found ?? {};
  if (identitytoken) return { kind: 'token', token: new Secret(identitytoken) };
  const [, user, password] = /^([^:]+):([^]+)$/.exec(Buffer.from(auth ?? '', 'base64').toString()) ?? [];
  return user === undefined || password === undefined
    ? undefined
    : { kind: 'password', user, password: new Secret(password.replace(/\0+$/, '')) };
}

/** Asks Docker's credential helper, which fails where it has no login. */
async function fromHelper(
  helper: string,
  key: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<Login | undefined> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const child = execFile(
    `docker-credential-${helper}`,
    ['get'],
    { env: childEnvironment(env), timeout: helperMs },
    (error, stdout) => resolve(error === null ? stdout : ''),
  );
  child.stdin?.on('error', () => undefined).end(key);
  const answer = helperShape.safeParse(foreignJson(await promise)).data;
  if (answer === undefined) return undefined;
  const secret = new Secret(answer.Secret);
  return answer.Username === '<token>'
    ? { kind: 'token', token: secret }
    : { kind: 'password', user: answer.Username, password: secret };
}

/** An image by digest. */
export interface DigestName {
  /** Its usual name: `docker.io`. */
  readonly registry: string;
  /** Its address. */
  readonly address: string;
  /** Within the registry: `nvidia/cuda`. */
  readonly repository: string;
  /** Hex. */
  readonly digest: string;
}

/** Addresses where Docker, too, accepts a registry without TLS. */
const loopback = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])(?::\d+)?$/;

/** Parses a reference by digest; undefined: it has a tag only. A tag beside the digest is ignored. */
export function digestName(reference: string): DigestName | undefined {
  const digest = digestIn(reference);
  if (digest === undefined) return undefined;
  const registry = registryOf(reference);
  const [named = ''] = reference.split('@');
  const first = named.split('/')[0] ?? '';
  const isNamed = named.includes('/') && (/[.:]/.test(first) || first === 'localhost');
  const path = (isNamed ? named.slice(first.length + 1) : named).replace(/:[^/]*$/, '');
  if (registry !== 'docker.io') return { registry, address: registry, repository: path, digest };
  const repository = path.includes('/') ? path : `library/${path}`;
  return { registry, address: 'registry-1.docker.io', repository, digest };
}

/** Yields the body. Throws where it has more bytes than the limit. */
async function* within(body: ReadableStream<Uint8Array>, limit: number): AsyncGenerator<Buffer> {
  let bytes = 0;
  for await (const part of body) {
    bytes += part.byteLength;
    if (bytes > limit) throw new Error(`more than ${limit} bytes`);
    yield Buffer.from(part);
  }
}

/** The part of fetch that making a bundle uses. */
export type Download = (
  url: string,
  init: {
    readonly method: 'GET' | 'POST';
    readonly headers: Record<string, string>;
    readonly body?: string;
    readonly redirect: 'manual';
    readonly signal: AbortSignal;
  },
) => Promise<FetchAnswer>;
