import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import type { Socket } from 'node:net';
import tls from 'node:tls';

export interface Tunnel {
  readonly proxy: URL;
  readonly target: URL;
  readonly trust: { readonly ca?: string[] };
  readonly signal: AbortSignal;
}

/** A connection to the target through an HTTP CONNECT proxy, with TLS on top where the target is https. */
export async function connectThrough({ proxy, target, trust, signal }: Tunnel): Promise<Socket> {
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
      error.message = `the proxy ${proxy.host} does not let us through: ${error.message}`;
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
