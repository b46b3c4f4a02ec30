// Status codes that no HTTP library sends: each is an error of its own call, and ends no process and no later call.
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { requestToken } from '../../../../../src/shared/azure/http/credential.ts';
import { createFetch } from '../../../../../src/shared/azure/http/proxy.ts';
import { Secret } from '../../../../../src/shared/base/secret.ts';
import { post } from '../../../../../src/shared/webhook/post.ts';
import { StillClock } from '../../../../support/clock.ts';
import { problem, useFake } from '../../../practice/azure/server.ts';

const fake = useFake();
const statuses = ['000', '099', '101', '199', '600', '700', '999'];
const signal = new AbortController().signal;
const plain = createFetch({ noProxy: [] });

let server: Server | undefined;
afterEach(() => void server?.close());

/** Starts a peer that answers the first bytes of each connection with this; returns its address. */
async function peer(answer: string): Promise<string> {
  server = createServer((socket) => {
    socket.on('error', () => undefined).once('data', () => socket.end(answer));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const odd = (status: string): string =>
  `HTTP/1.1 ${status} Odd\r\n${status === '101' ? 'connection: upgrade\r\nupgrade: x\r\n' : ''}content-length: 2\r\n\r\n{}`;

describe.each(statuses)('status %s', (rawStatus) => {
  test('of the server is an error of that call, and the next call works', async () => {
    const client = fake.client({ fetch: plain });
    await fake.control.fail({ count: 3, rawStatus });
    const failure = await problem(client.listPools());
    // Node itself drops 1xx; what ends the connection is then no answer.
    expect(failure).toMatchObject(
      rawStatus === '199'
        ? { code: 'azure.unreachable' }
        : {
            code: 'azure.unexpected',
            seen: `HTTP status ${Number(rawStatus)}, which does not exist`,
            next: expect.stringContaining('proxy'),
          },
    );
    expect(await client.listPools()).not.toHaveLength(0);
  });

  test('of a proxy is an error of that call', async () => {
    const address = await peer(odd(rawStatus));
    const client = fake.client({ fetch: createFetch({ http: address, noProxy: [] }) });
    expect(await problem(client.listPools())).toMatchObject({
      code: 'azure.unreachable',
      seen: expect.stringContaining(`the proxy ${address}`),
    });
  });

  test('of a webhook is a reason to send the message later', async () => {
    const address = new Secret(`http://${await peer(odd(rawStatus))}/secret`);
    expect((await post(plain, address, '{}', { wall: 0, signal })).kind).toBe('later');
  });

  test('of Microsoft Entra ID is an error of that call', async () => {
    const authority = `http://${await peer(odd(rawStatus))}`;
    const principal = { clientId: 'c', tenantId: 't', secret: new Secret('s'), fetch: plain, authority };
    const token = requestToken({ ...principal, clock: new StillClock() }, signal);
    expect((await problem(token))?.code).toBe('azure.unreachable');
  });
});
