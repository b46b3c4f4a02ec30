// Real sockets on loopback: a small CONNECT proxy in front of the fake server, and TLS with a certificate of our own.
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { connect } from 'node:net';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createFetch, proxyFor } from '../../../src/azure/proxy.ts';
import { useFake } from './server.ts';

const fake = useFake();
const tunnels: { target: string | undefined; authorization: string | undefined }[] = [];
let proxy: Server;
let address = '';

beforeAll(async () => {
  proxy = createServer();
  proxy.on('connect', (request, client) => {
    tunnels.push({ target: request.url, authorization: request.headers['proxy-authorization'] });
    if (request.headers['proxy-authorization'] === undefined) {
      client.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n');
      return;
    }
    const [host, port] = (request.url ?? '').split(':');
    // Names below .invalid exist only here: what reaches them came through this proxy.
    const { hostname, port: real } = new URL(fake.server.origin);
    const target =
      host?.endsWith('.invalid') === true ? connect(Number(real), hostname) : connect(Number(port), host);
    client.write('HTTP/1.1 200 Connection established\r\n\r\n');
    target.pipe(client).pipe(target);
    for (const socket of [client, target]) socket.on('error', () => undefined);
  });
  await new Promise<void>((resolve) => {
    proxy.listen(0, '127.0.0.1', () => resolve());
  });
  address = `127.0.0.1:${(proxy.address() as AddressInfo).port}`;
});

afterAll(() => {
  proxy.close();
});

test('requests go through the proxy, with its user and password', async () => {
  const viaProxy = createFetch({ http: `http://me:p%40ss@${address}`, noProxy: [] });
  const client = fake.client({ fetch: viaProxy, organization: 'http://devops.invalid/lab' });
  expect(await client.ensurePool('proxied')).toMatchObject({ created: true });
  expect(await client.findPool('proxied')).toBeDefined();
  expect(tunnels.at(-1)).toEqual({
    target: 'devops.invalid:80',
    authorization: `Basic ${Buffer.from('me:p@ss').toString('base64')}`,
  });
});

test('a proxy that refuses is named', async () => {
  const client = fake.client({ fetch: createFetch({ http: address, noProxy: [] }) });
  await expect(client.listPools()).rejects.toMatchObject({
    problem: { code: 'azure.unreachable', seen: expect.stringContaining(`${address} answered 407`) },
  });
});

test.each([
  ['https://dev.azure.com/x', [], 'http://proxy:3128/'],
  ['http://server/x', [], undefined],
  ['https://dev.azure.com/x', ['*'], undefined],
  ['https://dev.azure.com/x', ['azure.com'], undefined],
  ['https://dev.azure.com/x', ['.azure.com'], undefined],
  ['https://dev.azure.com/x', ['*.azure.com'], undefined],
  ['https://notazure.com/x', ['azure.com'], 'http://proxy:3128/'],
  ['https://dev.azure.com/x', ['dev.azure.com:443'], undefined],
  ['https://dev.azure.com/x', ['dev.azure.com:8443'], 'http://proxy:3128/'],
  ['https://DEV.azure.com/x', [' Dev.Azure.Com '], undefined],
  ['https://dev.azure.com/x', [''], 'http://proxy:3128/'],
])('%s without a proxy for %j: %s', (url, noProxy, expected) => {
  expect(proxyFor(new URL(url), { https: 'proxy:3128', noProxy })?.href).toBe(expected);
});

test('a private CA is trusted where it is named, directly and through a proxy, and nowhere else', async () => {
  const [key, cert] = [join(fake.folder, 'key.pem'), join(fake.folder, 'cert.pem')];
  const request = [
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
  execFileSync('openssl', [...request, ...name, '-keyout', key, '-out', cert], { stdio: 'ignore' });
  const caPem = readFileSync(cert, 'utf8');
  const server = createTlsServer({ key: readFileSync(key), cert: caPem }, (_, response) => {
    response.setHeader('content-type', 'application/json').end('{"count":0,"value":[]}');
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const organization = `https://localhost:${(server.address() as AddressInfo).port}/Lab`;
  const list = (settings: Parameters<typeof createFetch>[0]) =>
    fake.client({ organization, fetch: createFetch(settings) }).listPools();
  expect(await list({ noProxy: [], caPem })).toEqual([]);
  expect(await list({ noProxy: [], caPem, https: `http://me:x@${address}` })).toEqual([]);
  expect(tunnels.at(-1)?.target).toBe(organization.replace(/^https:\/\/|\/Lab$/gu, ''));
  const untrusted = {
    problem: {
      code: 'azure.certificate',
      seen: 'self-signed certificate (DEPTH_ZERO_SELF_SIGNED_CERT)',
      next: expect.stringContaining('ca: FILE'),
    },
  };
  await expect(list({ noProxy: [] })).rejects.toMatchObject(untrusted);
  await expect(list({ noProxy: [], https: `http://me:x@${address}` })).rejects.toMatchObject(untrusted);
  server.closeAllConnections();
  server.close();
});
