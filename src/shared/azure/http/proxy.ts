import http from 'node:http';
import https from 'node:https';
import net, { type Socket } from 'node:net';
import tls from 'node:tls';
import { pipeline, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';

/** Milliseconds for a connection. */
const connectMs = 10_000;

/** The part of the built-in fetch that the clients use. */
export type Fetch = (url: string, init: FetchInit) => Promise<FetchAnswer>;

/** The part of the built-in Response that the clients use. */
export interface FetchAnswer {
  readonly status: number;
  readonly ok: boolean;
  readonly headers: AnswerHeaders;
  readonly body: ReadableStream<Uint8Array> | null;
}

export type AnswerHeaders = Pick<Headers, 'get' | 'has'>;

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

/** Thrown for an answer with a status outside 200 to 599: no HTTP server answers a request with it. */
export class OddStatus extends Error {
  constructor(status: number) {
    super(`HTTP status ${status}, which does not exist`);
  }
}

/**
 * Returns a fetch on node:http alone. The built-in fetch needs WebAssembly, which a process without a JIT compiler lacks,
 * takes longer to load than a request, and reads a CA only from the environment at start, and proxies only in newer Nodes.
 */
export function createFetch(network: NetworkSettings): Fetch {
  const ca = network.caPem === undefined ? undefined : [...tls.rootCertificates, network.caPem];
  return (url, init) => request(new URL(url), init, network, ca);
}

/** Connects to the server of a URL and closes the connection; rejects with the reason why there is none. */
export type TryConnect = (url: URL, signal: AbortSignal) => Promise<void>;

/** Returns a connection test that takes the same path as a request: the proxy, then TLS for https. It sends no request. */
export function createTryConnect(network: NetworkSettings): TryConnect {
  // Created once: it parses all root certificates.
  const trust =
    network.caPem === undefined
      ? {}
      : { secureContext: tls.createSecureContext({ ca: [...tls.rootCertificates, network.caPem] }) };
  return async (url, signal) => {
    const proxy = proxyFor(url, network);
    const socket =
      proxy === undefined
        ? await connectDirectly(url, trust, signal)
        : await connectThrough({ proxy, target: url, trust, signal });
    socket.on('error', () => undefined).destroy();
  };
}

async function request(
  url: URL,
  init: FetchInit,
  network: NetworkSettings,
  ca: readonly string[] | undefined,
): Promise<FetchAnswer> {
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
  return await new Promise<FetchAnswer>((resolve, reject) => {
    const outgoing = (url.protocol === 'https:' ? https : http).request(url, {
      method: init.method,
      headers: { 'accept-encoding': 'gzip', ...init.headers },
      signal: init.signal,
      // One tunnel per request: the CLI and the manager send few.
      // No `agent` beside createConnection: it would connect by itself and bypass the proxy.
      ...(socket === undefined ? trust : { createConnection: () => socket }),
    });
    outgoing.on('error', reject).on('response', (answer) => {
      const { statusCode: status = 0 } = answer;
      if (status >= 200 && status < 600) {
        resolve(toAnswer(answer, status));
        return;
      }
      reject(new OddStatus(status));
      outgoing.destroy();
    });
    // Without this listener node ends the request without an error.
    outgoing.on('upgrade', (_, stream: Socket) => {
      reject(new OddStatus(101));
      stream.destroy();
    });
    outgoing.on('close', () => reject(new Error('the connection was closed without an answer')));
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

/** Not a Response: that class loads the built-in fetch. */
function toAnswer(answer: http.IncomingMessage, status: number): FetchAnswer {
  const { headersDistinct: headers } = answer;
  const empty = status === 204 || status === 205 || status === 304;
  if (empty) answer.resume();
  return {
    status,
    ok: status >= 200 && status < 300,
    headers: {
      get: (name) => headers[name.toLowerCase()]?.join(', ') ?? null,
      has: (name) => headers[name.toLowerCase()] !== undefined,
    },
    body: empty ? null : (Readable.toWeb(unpacked(answer)) as ReadableStream<Uint8Array>),
  };
}

function unpacked(answer: http.IncomingMessage): Readable {
  if (answer.headers['content-encoding']?.toLowerCase() !== 'gzip') return answer;
  // An error reaches the reader through the stream that pipeline returns.
  return pipeline(answer, createGunzip(), () => undefined);
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
  readonly trust: Trust;
  readonly signal: AbortSignal;
}

/** Additional trusted certificates. */
type Trust = Pick<tls.ConnectionOptions, 'secureContext'> & { readonly ca?: string[] };

/** Connects to the target through an HTTP CONNECT proxy, with TLS on top for an https target. */
async function connectThrough({ proxy, target, trust, signal }: Tunnel): Promise<Socket> {
  const { host, port } = endpoint(target);
  const raw = await connect(proxy, `${target.hostname}:${port}`, trust, signal);
  if (target.protocol === 'http:') return raw;
  return opened(tls.connect({ socket: raw, ...trust, ...serverName(host) }), 'secureConnect', signal);
}

/** Connects to the target without a proxy, with TLS for an https target. */
function connectDirectly(target: URL, trust: Trust, signal: AbortSignal): Promise<Socket> {
  const { host, port } = endpoint(target);
  return target.protocol === 'http:'
    ? opened(net.connect(port, host), 'connect', signal)
    : opened(tls.connect({ port, ...trust, ...serverName(host), host }), 'secureConnect', signal);
}

function endpoint(url: URL): { readonly host: string; readonly port: number } {
  const port = Number(url.port || (url.protocol === 'https:' ? '443' : '80'));
  return { host: url.hostname.replace(/^\[|\]$/gu, ''), port };
}

function serverName(host: string): tls.ConnectionOptions {
  return net.isIP(host) === 0 ? { servername: host } : { host };
}

/** Resolves when the socket has connected; destroys it when the signal is aborted before. */
function opened(socket: Socket, event: 'connect' | 'secureConnect', signal: AbortSignal): Promise<Socket> {
  return new Promise<Socket>((resolve, reject) => {
    const abort = () => socket.destroy(signal.reason instanceof Error ? signal.reason : undefined);
    const closed = () => reject(new Error('the connection was closed'));
    signal.addEventListener('abort', abort, { once: true });
    socket.once('error', reject).once('close', closed);
    socket.once(event, () => {
      signal.removeEventListener('abort', abort);
      socket.off('error', reject).off('close', closed);
      resolve(socket);
    });
    if (signal.aborted) abort();
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
      hostname: endpoint(proxy).host,
      port: endpoint(proxy).port,
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
