import { createServer, type AddressInfo, type Server } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';

import { type OwnSshd, startOwnSshd } from '../../../../support/own-sshd.ts';
import { problemOf, type TestTransport, testTransport } from '../../../../support/transport.ts';

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
  test('is given up after ConnectTimeout, and what was seen is told', async () => {
    const problem = await problemOf(open('ConnectTimeout 1\n').connect(sshd.target({ port: silentPort() })));
    expect(problem).toMatchObject({ code: 'ssh.timeout', host: 'box' });
    expect(problem.what).toContain('accepted the connection and then said nothing for 1 s');
  });

  test('is not waited for after Ctrl-C', async () => {
    const stop = new AbortController();
    silent.once('connection', () => stop.abort());
    const connecting = open().connect(sshd.target({ port: silentPort() }), { signal: stop.signal });
    expect(await problemOf(connecting)).toMatchObject({ code: 'interrupted', host: 'box' });
  });

  test('nor dialled where it came before', async () => {
    const connecting = open().connect(sshd.target(), { signal: AbortSignal.abort() });
    expect(await problemOf(connecting)).toMatchObject({ code: 'interrupted' });
  });
});

describe('a host that answers otherwise', () => {
  test('with algorithms that the built-in client lacks', async () => {
    const modern = await startOwnSshd({ config: ['KexAlgorithms sntrup761x25519-sha512@openssh.com'] });
    expect(await problemOf(open().connect(modern.target()))).toMatchObject({
      code: 'ssh.handshake',
      next: expect.stringContaining('transport: openssh') as string,
    });
    await modern.stop();
  });

  test('with algorithms that ssh_config leaves out: its list is not replaced by ours', async () => {
    const before = sshd.log().length;
    expect(await problemOf(open('Ciphers 3des-cbc\n').connect(sshd.target()))).toMatchObject({
      code: 'ssh.handshake',
      what: 'Ciphers of the SSH configuration leaves nothing that the built-in client can do',
      seen: '3des-cbc',
    });
    expect(sshd.log().slice(before)).not.toContain('Accepted');
  });

  const saying = async (line: string) => {
    const server = createServer((socket) => socket.on('error', () => undefined).end(`${line}\r\n\r\n`));
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    return server;
  };

  test('with what is not SSH', async () => {
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

  test('with a server that has no room now', async () => {
    const web = await saying('Exceeded MaxStartups');
    const { port } = web.address() as AddressInfo;
    const stop = new AbortController();
    let dials = 0;
    // It is dialled again, until somebody ends that.
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

test('a ProxyCommand is another way', async () => {
  const transport = open(
    'Host 127.0.0.1\n  ProxyCommand bash -c "exec 3<>/dev/tcp/%h/%p; cat <&3 & cat >&3"\n',
  );
  const session = await transport.connect(sshd.target());
  expect((await session.script('echo by command')).stdout).toBe('by command\n');
  await session.close();
});
