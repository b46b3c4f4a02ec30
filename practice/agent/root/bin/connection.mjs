// One connection of the agent's client: anonymous until the server asks for a login, then with a separate token.
import { readFileSync } from 'node:fs';
import { loginToken } from './login.mjs';
import { NetworkError, ServerError } from './errors.mjs';
import { version } from './settings.mjs';
import { pause } from './waits.mjs';

const system = /^PRETTY_NAME="?([^"\n]*)/mu.exec(readFileSync('/etc/os-release', 'utf8'))?.[1] ?? 'Linux';
export const osDescription = system;
const userAgent = `VSServices/1.0.0.0 (NetStandard; ${system.replace(/\(/gu, '[').replace(/\)/gu, ']')}) VstsAgentCore-linux-x64/${version()} (${system})`;
const apiVersion = '5.1-preview.1';
/** A request without an answer for so long has failed (VSTS_HTTP_TIMEOUT), by the machine's clock. */
const answerMs = 100_000;
/** Number of attempts while the server is busy; the first pause is one second, each later one twice as long. */
const busyAttempts = 5;

export class Connection {
  #settings;
  #base;
  #authorization;
  /** @param {{url?: string, authorization?: string}} [given] a job's server and token, or a user's credential */
  constructor(settings, { url = settings.serverUrl, authorization } = {}) {
    this.#settings = settings;
    this.#base = url.replace(/\/+$/u, '');
    this.#authorization = authorization;
  }

  /** Reads the server's addresses, before any other request. */
  async discover(signal) {
    await this.send('OPTIONS', '/_apis/', { accept: '*/*', signal });
  }

  /** Reads the caller's identity, and the services that changed since a known change; -1: all services. */
  async connect(signal, lastChange = 1) {
    const options = lastChange < 0 ? 1 : 0;
    const query = `?connectOptions=${options}&lastChangeId=${lastChange}&lastChangeId64=${lastChange}`;
    await this.send('GET', `/_apis/connectionData${query}`, { accept: 'application/json', signal });
  }

  /** Returns the parsed answer; undefined without a body. */
  async send(method, path, options = {}) {
    return this.#patiently(options, async () => {
      const content = await (await this.#withLogin(method, path, options)).text();
      return content === '' ? undefined : parse(content);
    });
  }

  /** Returns the bytes of a file. */
  async download(path, type) {
    const accept = `${type}; api-version=${apiVersion}`;
    return this.#patiently({}, async () =>
      Buffer.from(await (await this.#withLogin('GET', path, { accept })).arrayBuffer()),
    );
  }

  async #patiently({ signal }, work) {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await work();
      } catch (error) {
        const busy = [502, 503, 504].includes(error.status) && attempt <= busyAttempts;
        if (!busy || !(await pause(1000 * 2 ** (attempt - 1), this.#settings.speed, signal))) throw error;
      }
    }
  }

  async #withLogin(method, path, options) {
    let response = await this.#once(method, path, options);
    // A user's credential is not exchanged for another one.
    if (response.status === 401 && this.#settings.privateKey !== undefined) {
      const challenge = response.headers.get('www-authenticate') ?? '';
      if (!/\bBearer\b/iu.test(challenge))
        throw new ServerError(401, 'VssUnauthorizedException', unauthorized(this.#base));
      this.#authorization = `Bearer ${await loginToken(this.#settings, options.signal)}`;
      response = await this.#once(method, path, options);
    }
    if (response.status === 401)
      throw new ServerError(401, 'VssUnauthorizedException', unauthorized(this.#base));
    if (response.ok && response.status !== 203) return response;
    const signIn = response.status === 203 ? { message: unauthorized(this.#base) } : undefined;
    const { typeKey, message = `HTTP ${response.status}` } = signIn ?? parse(await response.text());
    throw new ServerError(response.status, typeKey, message);
  }

  async #once(
    method,
    path,
    { body, text, type = 'application/json; charset=utf-8', version: asked, accept, signal },
  ) {
    const about = `api-version=${asked ?? apiVersion}`;
    const content = text ?? (body === undefined ? undefined : JSON.stringify(body));
    const headers = {
      'user-agent': userAgent,
      'x-tfs-fedauthredirect': 'Suppress',
      accept: accept ?? `application/json; ${about}`,
      ...(content === undefined ? {} : { 'content-type': `${type}; ${about}` }),
      ...(this.#authorization === undefined ? {} : { authorization: this.#authorization }),
    };
    const late = AbortSignal.timeout(answerMs);
    const either = signal === undefined ? late : AbortSignal.any([signal, late]);
    try {
      return await fetch(this.#base + path, {
        method,
        redirect: 'manual',
        headers,
        body: content,
        signal: either,
      });
    } catch (error) {
      throw signal?.aborted ? error : new NetworkError(error, this.#base);
    }
  }
}

function unauthorized(url) {
  return `VS30063: You are not authorized to access ${url}.`;
}

function parse(content) {
  try {
    return JSON.parse(content.replace(/^\uFEFF/u, ''));
  } catch {
    throw new ServerError(
      undefined,
      'VssServiceResponseException',
      'Invalid response content type: text/html Response Code: OK',
    );
  }
}
