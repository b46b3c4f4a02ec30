// Real sockets on loopback: servers, proxies and peers that accept a connection and do not serve it.
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer as createTlsServer } from 'node:tls';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTryConnect, type NetworkSettings } from '../../../../../src/shared/azure/http/proxy.ts';
import { startConnectProxy, type ConnectProxy } from '../../../../support/connect-proxy.ts';

const folder = mkdtempSync(join(tmpdir(), 'connect-'));
const servers: Server[] = [];
const sockets = new Set<Socket>();
let proxy: ConnectProxy;
let caPem: string;
/** Bytes that a server has received. */
let received: Buffer[] = [];

beforeAll(async () => {
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const own = [
    'req',
    '-x509',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:P-256',
    '-nodes',
    '-days',
    '2',
  ];
  const name = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'];
  execFileSync('openssl', [...own, ...name, '-keyout', key, '-out', cert], { stdio: 'ignore' });
  caPem = readFileSync(cert, 'utf8');
  proxy = await startConnectProxy('127.0.0.1', ({ target, authorization }) => {
    const [host = '', port] = target.split(':');
    return authorization === undefined ? 407 : { host, port: Number(port) };
  });
});
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  for (const server of servers) server.close();
  await proxy.close();
});

async function listening(server: Server): Promise<number> {
  servers.push(server);
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket)).on('error', () => undefined);
  });
  await once(server.listen(0, 'localhost'), 'listening');
  return (server.address() as AddressInfo).port;
}

/** Starts a peer that does this with each connection. */
const peer = (act: (socket: Socket) => void): Promise<number> =>
  // What arrives is read, or the end of the connection would not be seen.
  listening(createServer((socket) => act(socket.resume())));

function tlsServer(): Promise<number> {
  const server = createTlsServer({ key: readFileSync(join(folder, 'key.pem')), cert: caPem });
  server.on('secureConnection', (socket) => {
    socket.on('data', (data) => received.push(data)).on('error', () => undefined);
  });
  server.on('tlsClientError', () => undefined);
  return listening(server);
}

const site = (): NetworkSettings => ({ noProxy: [], caPem });
const viaProxy = (): NetworkSettings => ({ ...site(), https: `http://me:x@${proxy.address}` });

const attempt = (url: string, network: NetworkSettings, ms = 180_000): Promise<void> =>
  createTryConnect(network)(new URL(url), AbortSignal.timeout(ms));

const allClosed = (): Promise<void> => expect.poll(() => sockets.size).toBe(0);

test.each([
  ['directly', site],
  ['through a proxy', viaProxy],
])('connects with TLS and the certificate of the site: %s', async (_, network) => {
  received = [];
  const port = await tlsServer();
  await attempt(`https://localhost:${port}/lab`, network());
  await allClosed();
  expect(received).toEqual([]);
});

test('an http URL needs a TCP connection only', async () => {
  const port = await peer(() => undefined);
  await attempt(`http://localhost:${port}/lab`, { noProxy: [] });
  await attempt(`http://localhost:${port}/lab`, { noProxy: [], http: `http://me:x@${proxy.address}` });
  expect(proxy.requests.at(-1)?.target).toBe(`localhost:${port}`);
  await allClosed();
});

test.each([
  ['directly', () => ({ noProxy: [] })],
  ['through a proxy', () => ({ noProxy: [], https: `http://me:x@${proxy.address}` })],
])('a certificate of another authority is refused: %s', async (_, network) => {
  const port = await tlsServer();
  await expect(attempt(`https://localhost:${port}/`, network())).rejects.toMatchObject({
    code: 'DEPTH_ZERO_SELF_SIGNED_CERT',
  });
  await allClosed();
});

test.each([
  ['does not answer', () => undefined, /aborted|timeout/, 500],
  [
    'sends junk',
    (socket: Socket) => void socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'),
    /wrong version|packet length/i,
    180_000,
  ],
  [
    'cuts TLS',
    (socket: Socket) => void socket.once('data', () => socket.destroy()),
    /disconnected|closed|ECONNRESET/,
    180_000,
  ],
  [
    'cuts TCP',
    (socket: Socket) => void socket.resetAndDestroy(),
    /disconnected|closed|ECONNRESET|aborted|timeout/,
    500,
  ],
])('a peer that %s is no connection', async (_, act, reason, ms) => {
  const port = await peer(act);
  await expect(attempt(`https://localhost:${port}/`, site(), ms)).rejects.toThrow(reason);
  await expect(attempt(`https://localhost:${port}/`, viaProxy(), ms)).rejects.toThrow(reason);
  await allClosed();
});

test('a refused connection is named with its address', async () => {
  const server = createServer();
  const port = await listening(server);
  server.close();
  await expect(attempt(`https://127.0.0.1:${port}/`, site())).rejects.toThrow(
    `connect ECONNREFUSED 127.0.0.1:${port}`,
  );
});

test('a proxy that refuses, or does not answer, is named', async () => {
  const refused = attempt('https://localhost:1/', { ...site(), https: `http://${proxy.address}` });
  await expect(refused).rejects.toThrow(`the proxy ${proxy.address} answered 407 to CONNECT localhost:1`);
  const silent = `localhost:${await peer(() => undefined)}`;
  const unanswered = attempt('https://localhost:1/', { ...site(), https: silent }, 300);
  await expect(unanswered).rejects.toThrow(`the proxy ${silent} refuses the connection`);
  await allClosed();
});
