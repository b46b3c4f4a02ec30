// Answers that are longer than anybody has memory for, from a server that does not stop by itself.
import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Writable } from 'node:stream';
import { createGzip, gzipSync } from 'node:zlib';
import { afterEach, describe, expect, test } from 'vitest';
import { createAzureClient } from '../../../../../src/shared/azure/create-client.ts';
import {
  patCredential,
  servicePrincipalCredential,
} from '../../../../../src/shared/azure/http/credential.ts';
import { createFetch, type Fetch } from '../../../../../src/shared/azure/http/proxy.ts';
import { silentLogger } from '../../../../../src/shared/base/log.ts';
import { Secret } from '../../../../../src/shared/base/secret.ts';
import { StillClock } from '../../../../support/clock.ts';
import { problem } from '../../../practice/azure/server.ts';

const mebibyte = 1024 * 1024;
let server: Server | undefined;
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

/** A server that answers so; how much of an answer went out before its reader left. */
async function answering(answer: (response: ServerResponse) => void) {
  const left = Promise.withResolvers<number>();
  let asked = 0;
  server = createServer((request, response) => {
    asked += 1;
    response.on('close', () => left.resolve(request.socket.bytesWritten));
    answer(response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, left: left.promise, asked: () => asked };
}

const json = { 'content-type': 'application/json' };
const packed = { ...json, 'content-encoding': 'gzip' };

/** Writes until the reader closes. */
function endless(response: Writable): void {
  const part = Buffer.alloc(64 * 1024, ' ');
  const more = (): void => {
    while (!response.destroyed && response.write(part));
    if (!response.destroyed) response.once('drain', more);
  };
  more();
}

const client = (url: string, fetch: Fetch, longestAnswer: number) =>
  createAzureClient({
    organization: `${url}/lab`,
    credential: patCredential(new Secret('token')),
    log: silentLogger,
    signal: new AbortController().signal,
    clock: new StillClock(),
    largestAnswer: { bytes: longestAnswer, values: 100 },
    fetch,
  });

const way = createFetch({ noProxy: [] });

describe('the client', () => {
  test.each<[string, (response: ServerResponse) => void]>([
    ['without an end', (response) => endless(response.writeHead(200, json))],
    [
      'that says how long it is',
      (response) => endless(response.writeHead(200, { ...json, 'content-length': 44 * mebibyte })),
    ],
    ['without an end, that is an error', (response) => endless(response.writeHead(503, json))],
    [
      'that is short until it is unpacked',
      (response) => {
        const gzip = createGzip();
        gzip.on('error', () => undefined).pipe(response.writeHead(200, packed));
        endless(gzip);
      },
    ],
  ])('an answer %s is given up, once, with what to do about it', async (__, answer) => {
    const { url, left, asked } = await answering(answer);
    expect(await problem(client(url, way, 4 * mebibyte).listAgents(7))).toMatchObject({
      code: 'azure.too-long',
      what: 'cannot list the agents of pool 7: the answer has more than 4 MiB',
      next: expect.stringContaining('spread the agents over several pools'),
    });
    // What the two systems hold on the way counts, too.
    expect(await left).toBeLessThan(20 * mebibyte);
    expect(asked()).toBe(1);
  });

  test('an answer that is packed is read', async () => {
    const text = JSON.stringify({ value: [{ id: 1, name: 'ä' }] });
    const { url } = await answering((response) => response.writeHead(200, packed).end(gzipSync(text)));
    expect(await client(url, way, mebibyte).listAgents(7)).toEqual([{ id: 1, name: 'ä' }]);
  });

  test('an answer that is cut off while it is unpacked is an error', async () => {
    const part = gzipSync(JSON.stringify({ value: [] })).subarray(0, -9);
    const { url } = await answering((response) => response.writeHead(200, packed).end(part));
    expect((await problem(client(url, way, mebibyte).listAgents(7)))?.code).toBe('azure.unreachable');
  });

  test('one that is as long as may be is read', async () => {
    const text = JSON.stringify({ value: [{ id: 1, name: 'ä' }] });
    const { url } = await answering((response) => response.writeHead(200, json).end(text));
    const bytes = Buffer.byteLength(text);
    expect(await client(url, way, bytes).listAgents(7)).toEqual([{ id: 1, name: 'ä' }]);
    expect((await problem(client(url, way, bytes - 1).listAgents(7)))?.code).toBe('azure.too-long');
  });

  test('Microsoft Entra ID, or what answers in its place, fills no memory either', async () => {
    const { url, left } = await answering((response) => endless(response.writeHead(200, json)));
    const credential = servicePrincipalCredential({
      clientId: 'c',
      tenantId: 't',
      secret: new Secret('s'),
      fetch: way,
      clock: new StillClock(),
      authority: url,
    });
    const work = credential.authorization(new AbortController().signal);
    expect((await problem(work))?.code).toBe('azure.unreachable');
    expect(await left).toBeLessThan(20 * mebibyte);
  });
});
