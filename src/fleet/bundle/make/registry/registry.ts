import { FleetError } from '../../../../shared/base/errors.ts';
import { foreignLine } from '../../../../shared/base/foreign-text.ts';
import type { Secret } from '../../../../shared/base/secret.ts';
import type { Member } from '../../manifest.ts';
import type { Download } from '../download.ts';
import type { Spool } from '../spool.ts';
import { authorize, header } from './authorize.ts';
import { registryFault } from './fault.ts';
import type { Login } from './logins.ts';
import { loopback, type DigestName } from './name.ts';
import { within } from './within.ts';

export interface RegistryTools {
  readonly download: Download;
  readonly signal: AbortSignal;
  readonly login: (registry: string) => Promise<Login | undefined>;
}

/** Both families, the image's own and the list of several platforms. */
const manifestTypes = [
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
  'application/vnd.docker.distribution.manifest.v2+json',
].join(', ');

/** Of a manifest: what registries have to take at least (OCI distribution specification, "Pushing Manifests"). */
export const longestManifest = 4 << 20;
const mostRedirects = 5;

/** One repository of a registry, of which contents are read by their digests (OCI distribution specification, "Pull"). */
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

  /** Puts the content of this sha256 (hex) into the spool. Throws where it is another one, or has more bytes than `limit`. */
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
      what: `${this.#name.registry} gives something else than what was asked for: ${this.#reference}`,
      expected: `sha256:${digest}`,
      seen: `sha256:${member.sha256}`,
      next: 'run it again; if that stays, ask who runs the registry, or what is between',
    });
  }

  async #get(kind: 'manifests' | 'blobs', digest: string): Promise<Response> {
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

  async #ask(path: string): Promise<Response> {
    try {
      return await this.#request(new URL(`${this.#scheme}://${path}`), true);
    } catch (error) {
      if (this.#scheme !== 'https' || !loopback.test(this.#name.address)) throw error;
      this.#scheme = 'http';
      return this.#request(new URL(`http://${path}`), true);
    }
  }

  /** Contents lie elsewhere as a rule, at addresses that say themselves who may read them: nobody there is told more. */
  async #follow(first: Response, from: URL): Promise<Response> {
    let [response, at] = [first, from];
    for (let hops = 0; response.status >= 300 && response.status < 400; hops += 1) {
      await response.body?.cancel();
      const next = URL.parse(response.headers.get('location') ?? '', at.href);
      if (
        next === null ||
        (next.protocol !== 'https:' && from.protocol === 'https:') ||
        hops >= mostRedirects
      )
        throw this.#fault('it leads nowhere (HTTP redirects)');
      at = next;
      response = await this.#request(next, next.origin === from.origin);
    }
    return response;
  }

  async #request(url: URL, isRegistry: boolean): Promise<Response> {
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

/** The built-in fetch says why in what has caused its error. */
function reason(error: unknown): string {
  if (!(error instanceof Error)) return foreignLine(String(error));
  const { cause } = error;
  return foreignLine(cause instanceof Error ? `${error.message}: ${cause.message}` : error.message);
}
