import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, connect, type Socket } from 'node:net';
import { PassThrough, Readable } from 'node:stream';

import { afterAll, afterEach, beforeAll, describe, expect, test, beforeEach, vi } from 'vitest';

import { greetingOf, pace, watchLength } from '../../../../../src/fleet/ssh/connect/connection.ts';
import { hostileHost, type HostileHost } from '../../../../support/hostile-host.ts';
import { type OwnSshd, startOwnSshd } from '../../../../support/own-sshd.ts';
import { stagedHost } from '../../../../support/staged-host.ts';
import { problemOf, type TestTransport, testTransport, sshSpec } from '../../../../support/transport.ts';

let sshd: OwnSshd;
let silent: Server;
beforeAll(async () => {
  sshd = await startOwnSshd();
  silent = createServer((socket) => socket.on('error', () => undefined));
  await new Promise<void>((resolve) => void silent.listen(0, '127.0.0.1', resolve));
});
afterAll(async () => {
  silent.close();
  await sshd.stop();
});

const transports: TestTransport[] = [];
afterEach(async () => {
  await Promise.all(transports.splice(0).map((transport) => transport.close()));
});
function open(config = ''): TestTransport {
  const transport = testTransport({ config });
  transports.push(transport);
  return transport;
}
const silentPort = () => (silent.address() as AddressInfo).port;

describe('a host that does not answer', () => {
  test('is an error after ConnectTimeout, with the received text', async () => {
    const problem = await problemOf(open('ConnectTimeout 1\n').connect(sshd.target({ port: silentPort() })));
    expect(problem).toMatchObject({ code: 'ssh.timeout', host: 'box' });
    expect(problem.what).toContain('accepted the connection, but sent nothing for 1 s');
  });

  test('is not waited for after Ctrl-C', async () => {
    const stop = new AbortController();
    silent.once('connection', () => stop.abort());
    const connecting = open().connect(sshd.target({ port: silentPort() }), { signal: stop.signal });
    expect(await problemOf(connecting)).toMatchObject({ code: 'interrupted', host: 'box' });
  });

  test('and is not dialled if Ctrl-C came first', async () => {
    const connecting = open().connect(sshd.target(), { signal: AbortSignal.abort() });
    expect(await problemOf(connecting)).toMatchObject({ code: 'interrupted' });
  });
});

test('a host that answers no request to log in is an error that has its own time limit', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  let asked = (): void => undefined;
  const request = new Promise<void>((resolve) => (asked = resolve));
  const host = await stagedHost({ wants: ['publickey'], silent: true, onRequest: () => asked() });
  const problem = problemOf(open().connect(sshd.target({ port: host.port })));
  await request;
  vi.advanceTimersByTime(60_000);
  expect((await problem).what).toContain('accepted the connection, but sent nothing for 60 s');
  vi.useRealTimers();
  host.close();
});

describe('a host with an unexpected answer', () => {
  test('with algorithms that the built-in client lacks', async () => {
    const modern = await startOwnSshd({ config: ['KexAlgorithms sntrup761x25519-sha512@openssh.com'] });
    expect(await problemOf(open().connect(modern.target()))).toMatchObject({
      code: 'ssh.handshake',
      next: expect.stringContaining('transport: openssh') as string,
    });
    await modern.stop();
  });

  test('with algorithms that ssh_config excludes: its list is not replaced by the default', async () => {
    const before = sshd.log().length;
    expect(await problemOf(open('Ciphers 3des-cbc\n').connect(sshd.target()))).toMatchObject({
      code: 'ssh.handshake',
      what: 'the built-in client supports no algorithm of Ciphers in the SSH configuration',
      seen: '3des-cbc',
    });
    expect(sshd.log().slice(before)).not.toContain('Accepted');
  });

  const saying = async (line: string) => {
    const server = createServer((socket) => socket.on('error', () => undefined).end(`${line}\r\n\r\n`));
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    return server;
  };

  test('with another protocol than SSH', async () => {
    const web = await saying('HTTP/1.1 400 Bad Request');
    const { port } = web.address() as AddressInfo;
    let dials = 0;
    web.on('connection', () => (dials += 1));
    expect(await problemOf(open().connect(sshd.target({ port })))).toMatchObject({
      code: 'ssh.no-server',
      seen: 'HTTP/1.1 400 Bad Request',
    });
    expect(dials).toBe(1);
    web.close();
  });

  test('with a server that accepts no more connections', async () => {
    const web = await saying('Exceeded MaxStartups');
    const { port } = web.address() as AddressInfo;
    const stop = new AbortController();
    let dials = 0;
    // It is dialled again until Ctrl-C.
    web.on('connection', () => {
      dials += 1;
      if (dials === 2) stop.abort();
    });
    expect((await problemOf(open().connect(sshd.target({ port }), { signal: stop.signal }))).code).toBe(
      'interrupted',
    );
    expect(dials).toBe(2);
    web.close();
  });
});

test('logins that sshd drops under load (MaxStartups) are made again', async () => {
  const narrow = await startOwnSshd({ config: ['MaxStartups 1:60:4'] });
  const transport = open();
  const sessions = await Promise.all(
    Array.from({ length: 6 }, (_, index) => transport.connect(narrow.target({}, `h${index}`))),
  );
  expect(sessions).toHaveLength(6);
  expect(narrow.log()).toMatch(/drop|beginning MaxStartups throttling|past MaxStartups/i);
  await narrow.stop();
});

test('a ProxyCommand is used instead of a socket', async () => {
  const transport = open(
    'Host 127.0.0.1\n  ProxyCommand bash -c "exec 3<>/dev/tcp/%h/%p; cat <&3 & cat >&3"\n',
  );
  const session = await transport.connect(sshd.target());
  expect((await session.script('echo by command')).stdout).toBe('by command\n');
  await session.close();
});

async function heard(...chunks: string[]) {
  const stream = new PassThrough();
  let read = '';
  stream.on('data', (chunk: Buffer) => (read += chunk.toString()));
  const greeting = greetingOf(stream);
  for (const chunk of chunks) stream.write(chunk);
  await new Promise((resolve) => void stream.end(resolve));
  return { ...greeting(), isRead: read === chunks.join(''), listeners: stream.listenerCount('data') };
}

test.each<[string, string[], string, number, string?]>([
  ['at once', ['SSH-2.0-dropbear_2022.83\r\n\u0000\u0001'], 'dropbear_2022.83', 1],
  ['with a comment', ['SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n'], 'OpenSSH_9.2p1', 1],
  ['in pieces', ['SSH-2', '.0-drop', 'bear_2024.86', '\r\n'], 'dropbear_2024.86', 1],
  ['after other lines', ['Welcome\r\nto SSH-2.0-nobody\r\n', 'SSH-2.0-some\n'], 'some', 1],
  ['never, and not for long', ['x'.repeat(9000), 'SSH-2.0-late\r\n'], '', 1, 'x'.repeat(200)],
  ['not yet', ['SSH-2.0-some'], '', 2],
  ['and is something else', ['HTTP/1.1 400 Bad Request\r\n\r\n'], '', 2, 'HTTP/1.1 400 Bad Request'],
])('a server says what it is %s', async (_, chunks, software, listeners, instead = '') => {
  expect(await heard(...chunks)).toEqual({ software, instead, isRead: true, listeners });
});

// A host that sends without end, at each moment of a connection: it gets no more of us than others do, and is let go of.

const MiB = 1024 * 1024;

/** As much as anybody reads. */
function endless(chunk = Buffer.alloc(65_536)): Readable {
  return new Readable({
    read() {
      this.push(chunk);
    },
  });
}

describe('an endless stream', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
  afterEach(() => void vi.useRealTimers());
  /** Waits until pending work of the event loop is done. */
  const turns = async () => {
    for (let turn = 0; turn < 200; turn += 1) await new Promise((resolve) => void setImmediate(resolve));
  };

  test('is read at full speed for a mebibyte, then at a limited rate', async () => {
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

  test('that ignores flow control is closed before it fills the memory', async () => {
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
    expect(String(seen[0])).toContain('the host sent more than requested');
  });

  test('is reported once when it exceeds its length, unless it is no longer watched', async () => {
    const stream = endless();
    const exceeded = vi.fn<() => void>(() => void stream.destroy());
    watchLength(stream, MiB, exceeded);
    await turns();
    expect(exceeded).toHaveBeenCalledTimes(1);
    const other = endless();
    const stop = watchLength(other, MiB, exceeded);
    other.once('data', stop);
    other.on('data', () => void (other.listenerCount('data') > 5 || other.pause()));
    await turns();
    expect(exceeded).toHaveBeenCalledTimes(1);
  });
});

const openPaced: { close(): unknown }[] = [];
afterEach(async () => {
  await Promise.all(openPaced.splice(0).map((each) => each.close()));
});

/** Speaks for a host, byte by byte. */
async function speaking(serve: (socket: Socket) => void): Promise<number> {
  const server: Server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => undefined);
    openPaced.push({ close: () => socket.destroy() });
    serve(socket);
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  openPaced.push({ close: () => server.close() });
  return (server.address() as AddressInfo).port;
}

function target(port: number) {
  const ssh = sshSpec({ address: '127.0.0.1', port, user: 'lab', loginPassword: { env: 'secret' } });
  return { name: 'box', ssh };
}

function transport() {
  const made = testTransport();
  openPaced.push(made);
  return made;
}

test('endless empty data before the login is refused after a mebibyte', async () => {
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
    what: `127.0.0.1:${port} sent more than 1 MiB before login`,
  });
  // What lay in buffers of the network is all that it got rid of.
  expect(sent).toBeLessThan(64 * MiB);
});

describe('after the login', () => {
  async function flooding(): Promise<HostileHost> {
    const host = await hostileHost({
      answer: () => ({ stdout: endless(Buffer.from('y\n'.repeat(32_768))) }),
    });
    openPaced.push(host);
    return host;
  }

  test('too much output closes the connection, not only its channel', async () => {
    const host = await flooding();
    const session = await transport().connect(target(host.port));
    const problem = await problemOf(session.script('x', { outputLimit: MiB }));
    expect(problem).toMatchObject({ code: 'ssh.output-too-long', host: 'box' });
    if (!session.closed.aborted) await once(session.closed, 'abort');
  });

  test('a connection that the host keeps open is closed', async () => {
    const host = await hostileHost();
    openPaced.push(host);
    const port = await speaking((socket) => {
      const behind = connect(host.port, '127.0.0.1');
      behind.on('error', () => undefined);
      openPaced.push({ close: () => behind.destroy() });
      // Neither end is passed on.
      socket.on('data', (chunk) => behind.write(chunk));
      behind.on('data', (chunk) => socket.write(chunk));
    });
    const session = await transport().connect(target(port));
    await session.close();
    expect(session.closed.aborted).toBe(true);
  });
});
