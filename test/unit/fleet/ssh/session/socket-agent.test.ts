import { createServer, request } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';

import { Duplex } from 'node:stream';
import { afterAll, beforeAll, expect, test } from 'vitest';

import { pipeStream, SocketAgent } from '../../../../../src/fleet/ssh/session/socket-agent.ts';
import type { Ending } from '../../../../../src/fleet/ssh/wire/wire.ts';

/** A server behind the pipe. The pipe is a plain connection here, and a program's input and output on a host. */
const server = createServer((_, response) => response.end('hello'));
const far: Socket[] = [];
beforeAll(() => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)));
afterAll(() => server.close());

function openPipe(): ReturnType<typeof pipeStream>['stream'] {
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  far.push(socket);
  const ended = new Promise<Ending>((resolve) => {
    socket.on('close', () => resolve({ code: 0, signal: undefined }));
  });
  const pipe = pipeStream({ stdin: socket, ended, kill: () => socket.destroy() });
  socket.on('data', (chunk: Buffer) => pipe.receive(chunk));
  return pipe.stream;
}

const get = (agent: SocketAgent): Promise<string> =>
  new Promise((resolve, reject) => {
    const call = request({ agent, path: '/' }, (response) => {
      let text = '';
      response.on('data', (chunk: Buffer) => (text += chunk.toString())).on('end', () => resolve(text));
    });
    call.on('error', reject).end();
  });

test('a pipe that ended in the pool is not used again', async () => {
  const agent = new SocketAgent(() => Promise.resolve(openPipe()), new AbortController().signal);
  expect(await get(agent)).toBe('hello');
  expect(await get(agent)).toBe('hello');
  expect(far).toHaveLength(1);
  far[0]?.destroy();
  await expect.poll(() => Object.keys(agent.freeSockets)).toEqual([]);
  expect(await get(agent)).toBe('hello');
  expect(far).toHaveLength(2);
  agent.destroy();
});

test('an endless answer is an error of its request', async () => {
  const piece = Buffer.alloc(1024 * 1024, 'x');
  let said = 0;
  const endless = () =>
    new Duplex({
      read() {
        said += said === 0 ? 0 : piece.length;
        this.push(said === 0 ? 'HTTP/1.1 200 OK\r\n\r\n' : piece);
        said ||= 1;
      },
      write: (_chunk, _encoding, done) => done(),
    });
  const agent = new SocketAgent(() => Promise.resolve(endless()), new AbortController().signal);
  const seen = await new Promise<unknown>((resolve) => {
    const call = request({ agent, path: '/' }, (response) => {
      response
        .resume()
        .on('error', resolve)
        .on('end', () => resolve('an end'));
    });
    call.on('error', resolve).end();
  });
  expect(seen).toBeInstanceOf(Error);
  expect(said).toBeLessThan(140 * 1024 * 1024);
  agent.destroy();
});
