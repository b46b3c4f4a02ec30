// Real sockets on loopback: a small CONNECT proxy in front of the fake server, and TLS with a certificate of our own.
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createFetch, proxyFor } from '../../../../../src/shared/azure/http/proxy.ts';
import { startConnectProxy, type ConnectProxy } from '../../../../support/connect-proxy.ts';
import { useFake } from '../../../practice/azure/server.ts';

const fake = useFake();
let proxy: ConnectProxy;

beforeAll(async () => {
  proxy = await startConnectProxy('127.0.0.1', ({ target, authorization }) => {
    if (authorization === undefined) return 407;
    const [host = '', port] = target.split(':');
    // Names below .invalid exist only here: what reaches them came through this proxy.
    const real = new URL(fake.server.origin);
    return host.endsWith('.invalid')
      ? { host: real.hostname, port: Number(real.port) }
      : { host, port: Number(port) };
  });
});
afterAll(() => proxy.close());

test('requests go through the proxy, with its user and password', async () => {
  const viaProxy = createFetch({ http: `http://me:p%40ss@${proxy.address}`, noProxy: [] });
  const client = fake.client({ fetch: viaProxy, organization: 'http://devops.invalid/lab' });
  expect(await client.ensurePool('proxied')).toMatchObject({ created: true });
  expect(await client.findPool('proxied')).toBeDefined();
  expect(proxy.requests.at(-1)).toMatchObject({
    target: 'devops.invalid:80',
    authorization: `Basic ${Buffer.from('me:p@ss').toString('base64')}`,
  });
});

test('a proxy that refuses is named', async () => {
  const client = fake.client({ fetch: createFetch({ http: proxy.address, noProxy: [] }) });
  await expect(client.listPools()).rejects.toMatchObject({
    problem: { code: 'azure.unreachable', seen: expect.stringContaining(`${proxy.address} answered 407`) },
  });
});

test('what a refusing proxy says is not taken for an answer of the server', async () => {
  const viaProxy = createFetch({ https: `http://${proxy.address}`, noProxy: [] });
  const asked = viaProxy('https://devops.invalid/lab', {
    method: 'GET',
    headers: { authorization: 'Basic c2VjcmV0' },
    redirect: 'manual',
    signal: new AbortController().signal,
  });
  await expect(asked).rejects.toThrow(
    `the proxy ${proxy.address} answered 407 to CONNECT devops.invalid:443`,
  );
});

test.each(['http', 'https'])(
  'a proxy that says nothing is given up with the request: %s',
  async (protocol) => {
    const silent = createServer();
    await once(silent.listen(0, '127.0.0.1'), 'listening');
    const address = `127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const stop = new AbortController();
    const asked = createFetch({ http: address, https: address, noProxy: [] })(
      `${protocol}://devops.invalid/`,
      {
        method: 'GET',
        headers: {},
        redirect: 'manual',
        signal: stop.signal,
      },
    );
    const outcome = expect(asked).rejects.toThrow(/abort/i);
    const [socket] = (await once(silent, 'connection')) as [Socket];
    await once(socket, 'data');
    stop.abort();
    await outcome;
    socket.on('error', () => undefined);
    if (!socket.closed) await once(socket.resume(), 'close');
    silent.close();
  },
);

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
  expect(await list({ noProxy: [], caPem, https: `http://me:x@${proxy.address}` })).toEqual([]);
  expect(proxy.requests.at(-1)?.target).toBe(organization.replace(/^https:\/\/|\/Lab$/gu, ''));
  const untrusted = {
    problem: {
      code: 'azure.certificate',
      seen: 'self-signed certificate (DEPTH_ZERO_SELF_SIGNED_CERT)',
      next: expect.stringContaining('ca: FILE'),
    },
  };
  await expect(list({ noProxy: [] })).rejects.toMatchObject(untrusted);
  await expect(list({ noProxy: [], https: `http://me:x@${proxy.address}` })).rejects.toMatchObject(untrusted);
  server.closeAllConnections();
  server.close();
});
