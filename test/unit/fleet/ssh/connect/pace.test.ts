// A host that sends without end, at each moment of a connection: it gets no more of us than others do, and is let go of.
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

import { pace, watchLength } from '../../../../../src/fleet/ssh/connect/pace.ts';
import { hostileHost, type HostileHost } from '../../../../support/hostile-host.ts';
import { problemOf, sshSpec, testTransport } from '../../../../support/transport.ts';

const MiB = 1024 * 1024;

/** As much as anybody reads. */
function endless(chunk = Buffer.alloc(65_536)): Readable {
  return new Readable({
    read() {
      this.push(chunk);
    },
  });
}

describe('a stream without an end', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
  afterEach(() => void vi.useRealTimers());
  /** The loop has had as many turns as it wants. */
  const turns = async () => {
    for (let turn = 0; turn < 200; turn += 1) await new Promise((resolve) => void setImmediate(resolve));
  };

  test('is read a mebibyte long, then in portions, with time for others after each', async () => {
    const stream = endless();
    let read = 0;
    stream.on('data', (chunk: Buffer) => (read += chunk.length));
    pace(stream);
    await turns();
    expect(read).toBe(MiB);
    await turns();
    expect(read).toBe(MiB);
    for (let rest = 1; rest <= 4; rest += 1) {
      vi.advanceTimersByTime(20);
      await turns();
      expect(read).toBe(MiB + (rest * MiB) / 4);
    }
    stream.destroy();
  });

  test('that somebody pushes all the same is given up before it fills the memory', async () => {
    const stream = new Readable({ read: () => undefined });
    const seen: Error[] = [];
    stream.on('error', (error) => seen.push(error)).on('data', () => undefined);
    pace(stream);
    stream.push(Buffer.alloc(MiB));
    await turns();
    for (let more = 0; more < 9; more += 1) stream.push(Buffer.alloc(MiB));
    vi.advanceTimersByTime(20);
    await turns();
    expect(stream.destroyed).toBe(true);
    expect(String(seen[0])).toContain('more was sent than was asked for');
  });

  test('is told of once, when it has passed its length, and not while it is watched no longer', async () => {
    const stream = endless();
    const told = vi.fn<() => void>(() => void stream.destroy());
    watchLength(stream, MiB, told);
    await turns();
    expect(told).toHaveBeenCalledTimes(1);
    const other = endless();
    const stop = watchLength(other, MiB, told);
    other.once('data', stop);
    other.on('data', () => void (other.listenerCount('data') > 5 || other.pause()));
    await turns();
    expect(told).toHaveBeenCalledTimes(1);
  });
});

const open: { close(): unknown }[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((each) => each.close()));
});

/** Speaks for a host, byte by byte. */
async function speaking(serve: (socket: Socket) => void): Promise<number> {
  const server: Server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => undefined);
    open.push({ close: () => socket.destroy() });
    serve(socket);
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  open.push({ close: () => server.close() });
  return (server.address() as AddressInfo).port;
}

function target(port: number) {
  const ssh = sshSpec({ address: '127.0.0.1', port, user: 'lab', loginPassword: { env: 'secret' } });
  return { name: 'box', ssh };
}

function transport() {
  const made = testTransport();
  open.push(made);
  return made;
}

test('a host that says nothing but nothing before the login, without an end, is left after a mebibyte', async () => {
  // SSH_MSG_IGNORE: allowed at any time, and as often as one likes.
  const ignore = Buffer.from('0000000c060200000000000000000000', 'hex');
  let sent = 0;
  const port = await speaking((socket) => {
    socket.write('SSH-2.0-x\r\n');
    const stream = endless(Buffer.alloc(65_536, ignore));
    stream.on('data', (chunk: Buffer) => (sent += chunk.length));
    stream.pipe(socket).once('close', () => stream.destroy());
  });
  const problem = await problemOf(transport().connect(target(port)));
  expect(problem).toMatchObject({
    code: 'ssh.output-too-long',
    host: 'box',
    what: `127.0.0.1:${port} sent more than 1 MiB before anybody was logged in`,
  });
  // What lay in buffers of the network is all that it got rid of.
  expect(sent).toBeLessThan(64 * MiB);
});

describe('once somebody is', () => {
  async function flooding(): Promise<HostileHost> {
    const host = await hostileHost({
      answer: () => ({ stdout: endless(Buffer.from('y\n'.repeat(32_768))) }),
    });
    open.push(host);
    return host;
  }

  test('the connection of a host that has said too much is ended, not only its channel', async () => {
    const host = await flooding();
    const session = await transport().connect(target(host.port));
    const problem = await problemOf(session.script('x', { outputLimit: MiB }));
    expect(problem).toMatchObject({ code: 'ssh.output-too-long', host: 'box' });
    if (!session.closed.aborted) await once(session.closed, 'abort');
  });

  test('a host that does not let go of a connection that is over is let go of', async () => {
    const host = await hostileHost();
    open.push(host);
    const port = await speaking((socket) => {
      const behind = connect(host.port, '127.0.0.1');
      behind.on('error', () => undefined);
      open.push({ close: () => behind.destroy() });
      // Neither end is passed on.
      socket.on('data', (chunk) => behind.write(chunk));
      behind.on('data', (chunk) => socket.write(chunk));
    });
    const session = await transport().connect(target(port));
    await session.close();
    expect(session.closed.aborted).toBe(true);
  });
});
