// Answers that cannot be written to their end.
import { once } from 'node:events';
import { createServer, get, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test, vi } from 'vitest';
import { createFakeServer, write } from '../../../../../practice/azure/server.ts';
import type { Fake } from '../../../../../practice/azure/world/fake.ts';

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
  vi.restoreAllMocks();
});

/** How `write` ends for one call, whose answer is given to `read`. */
async function written(value: () => Iterable<unknown>, read: (answer: IncomingMessage) => void) {
  const server = createServer();
  closing.push(() => server.close().closeAllConnections());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const request = get({ port: (server.address() as AddressInfo).port, host: '127.0.0.1' }, read);
  request.on('error', () => undefined);
  const [, response] = (await once(server, 'request')) as [IncomingMessage, ServerResponse];
  return write(response, { status: 200, items: { count: 1, value: value() } });
}

test('a list that cannot be described is an error of the server', async () => {
  const broken = function* () {
    yield 'x'.repeat(300_000);
    throw new TypeError('no such member');
  };
  await expect(written(broken, (answer) => answer.on('error', () => undefined).resume())).rejects.toThrow(
    'no such member',
  );
});

test('a caller that hangs up in the middle has what it wanted', async () => {
  const endless = function* () {
    for (;;) yield 'x'.repeat(300_000);
  };
  const hangUp = (answer: IncomingMessage) => {
    answer.on('error', () => undefined);
    answer.once('data', () => answer.destroy());
  };
  await expect(written(endless, hangUp)).resolves.toBeUndefined();
});

test('an error within the server is printed on stderr', async () => {
  const stderr = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  const server = createFakeServer({ organization: 'lab' } as Fake).listen(0, '127.0.0.1');
  closing.push(() => server.close().closeAllConnections());
  await once(server, 'listening');
  const { status } = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/lab/_apis`);
  expect(status).toBe(500);
  expect(stderr).toHaveBeenCalledWith(
    expect.stringContaining('the practice server failed: GET /lab/_apis: '),
  );
});
