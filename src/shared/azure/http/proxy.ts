import http from 'node:http';
import https from 'node:https';
import net, { type Socket } from 'node:net';
import tls from 'node:tls';
import { Readable } from 'node:stream';

/** The built-in fetch's own limit for a connection. */
const connectMs = 10_000;

/** The part of the built-in fetch that the client uses. */
export type Fetch = (url: string, init: FetchInit) => Promise<Response>;

interface FetchInit {
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body?: string;
  readonly redirect: 'manual';
  readonly signal: AbortSignal;
}

export interface NetworkSettings {
  readonly http?: string;
  readonly https?: string;
  readonly noProxy: readonly string[];
  /** Additional trusted certificates, PEM. */
  readonly caPem?: string;
}

/**
 * Returns the built-in fetch, or an own one when a proxy or a private CA is configured. The built-in fetch reads a CA only
 * from the environment at start, and proxies only in newer versions of Node.
 */
export function createFetch(network: NetworkSettings): Fetch {
  if (network.http === undefined && network.https === undefined && network.caPem === undefined) {
    return (url, init) => fetch(url, init);
  }
  return createPlainFetch(network);
}

/** Returns a fetch on node:http alone: the built-in fetch needs WebAssembly, which a process without a JIT compiler lacks. */
export function createPlainFetch(network: NetworkSettings): Fetch {
  const ca = network.caPem === undefined ? undefined : [...tls.rootCertificates, network.caPem];
  return (url, init) => request(new URL(url), init, network, ca);
}

async function request(
  url: URL,
  init: FetchInit,
  network: NetworkSettings,
  ca: readonly string[] | undefined,
): Promise<Response> {
  const trust = ca === undefined ? {} : { ca: [...ca] };
  const proxy = proxyFor(url, network);
  const socket =
    proxy === undefined
      ? undefined
      : await connectThrough({
          proxy,
          target: url,
          trust,
          signal: AbortSignal.any([init.signal, AbortSignal.timeout(connectMs)]),
        });
  return await new Promise<Response>((resolve, reject) => {
    const outgoing = (url.protocol === 'https:' ? https : http).request(url, {
      method: init.method,
      headers: init.headers,
      signal: init.signal,
      // One tunnel per request: the CLI and the manager send few.
      // No `agent` beside createConnection: it would connect by itself and bypass the proxy.
      ...(socket === undefined ? trust : { createConnection: () => socket }),
    });
    outgoing.on('error', reject).on('response', (answer) => resolve(toResponse(answer)));
    outgoing.on('socket', (stream) => boundConnect(stream));
    outgoing.end(init.body);
  });
}

function boundConnect(socket: Socket): void {
  if (!socket.connecting) return;
  const late = setTimeout(() => socket.destroy(new Error('no connection within 10 s')), connectMs);
  const done = () => clearTimeout(late);
  socket.once('connect', done).once('close', done);
}

function toResponse(answer: http.IncomingMessage): Response {
  const headers = new Headers();
  for (const [name, values] of Object.entries(answer.headersDistinct)) {
    for (const value of values ?? []) headers.append(name, value);
  }
  const status = answer.statusCode ?? 502;
  const empty = status === 204 || status === 205 || status === 304;
  if (empty) answer.resume();
  return new Response(empty ? null : (Readable.toWeb(answer) as ReadableStream), { status, headers });
}

/** Returns the proxy for a URL; undefined for a direct connection. */
export function proxyFor(url: URL, network: NetworkSettings): URL | undefined {
  const proxy = url.protocol === 'https:' ? network.https : network.http;
  if (proxy === undefined || proxy === '' || network.noProxy.some((rule) => bypasses(rule, url)))
    return undefined;
  return new URL(proxy.includes('://') ? proxy : `http://${proxy}`);
}

/** Matches `*`, `host`, `.domain` and `*.domain`, each with an optional port; a domain includes its subdomains. */
function bypasses(rule: string, url: URL): boolean {
  const [, name = '', port] = /^(.*?)(?::(\d+))?$/u.exec(rule.trim().toLowerCase()) ?? [];
  if (name === '') return false;
  if (port !== undefined && port !== (url.port || (url.protocol === 'https:' ? '443' : '80'))) return false;
  const domain = name.replace(/^\*?\./u, '');
  const host = url.hostname.toLowerCase();
  return name === '*' || host === domain || host.endsWith(`.${domain}`);
}

interface Tunnel {
  readonly proxy: URL;
  readonly target: URL;
  readonly trust: { readonly ca?: string[] };
  readonly signal: AbortSignal;
}

/** Connects to the target through an HTTP CONNECT proxy, with TLS on top for an https target. */
async function connectThrough({ proxy, target, trust, signal }: Tunnel): Promise<Socket> {
  const port = target.port || (target.protocol === 'https:' ? '443' : '80');
  const authority = `${target.hostname}:${port}`;
  const raw = await connect(proxy, authority, trust, signal);
  if (target.protocol === 'http:') return raw;
  const host = target.hostname.replace(/^\[|\]$/gu, '');
  return await new Promise<Socket>((resolve, reject) => {
    const secure = tls.connect({
      socket: raw,
      ...trust,
      ...(net.isIP(host) === 0 ? { servername: host } : { host }),
    });
    const abort = () => secure.destroy(signal.reason instanceof Error ? signal.reason : undefined);
    signal.addEventListener('abort', abort, { once: true });
    secure.once('error', reject);
    secure.once('secureConnect', () => {
      signal.removeEventListener('abort', abort);
      secure.off('error', reject);
      resolve(secure);
    });
  });
}

function connect(
  proxy: URL,
  authority: string,
  trust: Tunnel['trust'],
  signal: AbortSignal,
): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const client = proxy.protocol === 'https:' ? https : http;
    const request = client.request({
      protocol: proxy.protocol,
      hostname: proxy.hostname.replace(/^\[|\]$/gu, ''),
      port: proxy.port || (proxy.protocol === 'https:' ? 443 : 80),
      method: 'CONNECT',
      path: authority,
      headers: { host: authority, ...proxyAuthorization(proxy) },
      signal,
      agent: false,
      ...trust,
    });
    const refuse = (status: number | undefined) =>
      reject(new Error(`the proxy ${proxy.host} answered ${status ?? 'nothing'} to CONNECT ${authority}`));
    request.on('connect', (answer, socket) => {
      if (answer.statusCode === 200) resolve(socket);
      else {
        socket.destroy();
        refuse(answer.statusCode);
      }
    });
    request.on('response', (answer) => refuse(answer.statusCode));
    request.on('error', (error) => {
      error.message = `the proxy ${proxy.host} refuses the connection: ${error.message}`;
      reject(error);
    });
    request.end();
  });
}

function proxyAuthorization(proxy: URL): Record<string, string> {
  if (proxy.username === '') return {};
  const pair = `${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`;
  return { 'proxy-authorization': `Basic ${Buffer.from(pair).toString('base64')}` };
}
