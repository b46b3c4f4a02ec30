// One message to receivers of every kind: within the deadline, and without disclosing the secret.
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { createFetch } from '../../../../src/shared/azure/http/proxy.ts';
import { Secret } from '../../../../src/shared/base/secret.ts';
import { judge, post } from '../../../../src/shared/webhook/post.ts';

let servers: Server[] = [];
afterEach(async () => {
  vi.useRealTimers();
  for (const server of servers) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
  servers = [];
});

async function receiver(answer: RequestListener): Promise<Secret> {
  const server = createServer(answer);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return new Secret(`http://127.0.0.1:${(server.address() as AddressInfo).port}/services/T0/SECRET-PATH`);
}

const plain = createFetch({ noProxy: [] });
const how = { wall: Date.parse('2026-11-22T00:00:00Z'), signal: new AbortController().signal };
const send = (address: Secret) => post(plain, address, '{"text":"x"}', how);

test('a receiver gets JSON by POST', async () => {
  const seen: unknown[] = [];
  const address = await receiver((request, response) => {
    let body = '';
    request.on('data', (chunk) => (body += String(chunk)));
    request.on('end', () => {
      seen.push([request.method, request.url, request.headers['content-type'], body]);
      response.end('ok');
    });
  });
  expect(await send(address)).toEqual({ kind: 'taken' });
  expect(seen).toEqual([['POST', '/services/T0/SECRET-PATH', 'application/json', '{"text":"x"}']]);
});

test.each<[number, string]>([
  [200, 'taken'],
  [202, 'taken'],
  [204, 'taken'],
  [301, 'refused'],
  [302, 'refused'],
  [400, 'refused'],
  [403, 'refused'],
  [404, 'refused'],
  [408, 'later'],
  [410, 'refused'],
  [413, 'refused'],
  [425, 'later'],
  [429, 'later'],
  [500, 'later'],
  [503, 'later'],
])('HTTP %i: %s', (status, kind) => {
  expect(judge(status, '', undefined).kind).toBe(kind);
});

test('a redirect is not followed', async () => {
  let calls = 0;
  const target = await receiver((_, response) => {
    calls += 1;
    response.end();
  });
  const address = await receiver((_, response) =>
    response.writeHead(307, { location: target.reveal() }).end(),
  );
  expect((await send(address)).kind).toBe('refused');
  expect(calls).toBe(0);
});

test('a requested pause is returned', async () => {
  const address = await receiver((_, response) => response.writeHead(429, { 'retry-after': '90' }).end());
  expect(await send(address)).toMatchObject({ kind: 'later', afterMs: 90_000 });
});

test('a refusal is shown cleaned and cut, and not read to its end', async () => {
  let sent = 0;
  const address = await receiver((_, response) => {
    response.writeHead(404);
    const more = (): void => {
      while (sent < 64 * 1024 * 1024 && !response.destroyed) {
        sent += 65_536;
        if (!response.write(`no_service\u001b[2J${'x'.repeat(65_526)}`))
          return void response.once('drain', more);
      }
    };
    more();
  });
  const answer = await send(address);
  if (answer.kind !== 'refused') throw new Error(answer.kind);
  const { seen = '' } = answer.problem.problem;
  expect(seen).toMatch(/^HTTP 404: no_service/);
  expect(seen).not.toContain('\u001b');
  expect(seen.length).toBeLessThan(250);
  expect(sent).toBeLessThan(32 * 1024 * 1024);
});

describe('a slow receiver', () => {
  test.each<[string, (end: () => void) => RequestListener]>([
    ['never answers', (end) => () => end()],
    ['never ends its answer', () => (_, response) => void response.writeHead(500).write('wait')],
  ])('that %s: the call ends at the deadline', async (_, answer) => {
    const deadlines: number[] = [];
    const late = new AbortController();
    const timeout = vi.spyOn(AbortSignal, 'timeout').mockImplementation((ms) => {
      deadlines.push(ms);
      return late.signal;
    });
    const end = () => late.abort(new DOMException('late', 'TimeoutError'));
    const untilBegun: typeof plain = async (...call) => {
      const begun = await plain(...call);
      end();
      return begun;
    };
    const answered = await post(untilBegun, await receiver(answer(end)), '{"text":"x"}', how);
    timeout.mockRestore();
    expect(deadlines).toContain(10_000);
    expect(answered.kind).toBe('later');
  });

  test('an accepting status counts without the end of the answer', async () => {
    const address = await receiver((_, response) => void response.writeHead(200).write('wait'));
    expect(await send(address)).toEqual({ kind: 'taken' });
  });

  test('the stop of the manager ends the call', async () => {
    const stop = new AbortController();
    const address = await receiver(() => stop.abort());
    expect((await post(plain, address, '{}', { ...how, signal: stop.signal })).kind).toBe('later');
  });
});

test('an unreachable receiver is named by host and port only', async () => {
  const address = await receiver((request) => request.socket.destroy());
  const answer = await send(address);
  if (answer.kind !== 'later') throw new Error(answer.kind);
  const said = JSON.stringify(answer.problem.problem);
  expect(said).toMatch(/the webhook at 127\.0\.0\.1:\d+ does not answer/);
  expect(said).not.toContain('SECRET');
});

test('a proxy is used', async () => {
  const connects: string[] = [];
  const proxy = await receiver(() => undefined);
  servers.at(-1)?.on('connect', (request, socket) => {
    connects.push(request.url ?? '');
    socket.end('HTTP/1.1 502 no\r\n\r\n');
  });
  const fetch = createFetch({ https: new URL(proxy.reveal()).origin, noProxy: [] });
  const answer = await post(fetch, new Secret('https://hooks.lab.example/SECRET'), '{}', how);
  expect(answer.kind).toBe('later');
  expect(connects).toEqual(['hooks.lab.example:443']);
});
