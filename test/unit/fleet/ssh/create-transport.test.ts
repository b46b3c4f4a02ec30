// Connections to a real sshd that needs no root: login, jump hosts, notices, close.
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';

import { startDelayProxy } from '../../../support/delay-proxy.ts';
import { type OwnSshd, startOwnSshd } from '../../../support/own-sshd.ts';
import { problemOf, type TestTransport, testTransport } from '../../../support/transport.ts';

let sshd: OwnSshd;
let hop: OwnSshd;
let second: OwnSshd;
beforeAll(async () => {
  [sshd, hop, second] = await Promise.all([startOwnSshd(), startOwnSshd(), startOwnSshd()]);
});
afterAll(() => Promise.all([sshd, hop, second].map((each) => each.stop())));

const transports: TestTransport[] = [];
afterEach(async () => {
  await Promise.all(transports.splice(0).map((transport) => transport.close()));
});
function open(...options: Parameters<typeof testTransport>): TestTransport {
  const transport = testTransport(...options);
  transports.push(transport);
  return transport;
}

const logins = ({ log }: { readonly log: string }) => log.split('Accepted publickey').length - 1;

describe('a connection', () => {
  test('runs scripts, reports a new host key, and knows when it is closed', async () => {
    const transport = open();
    const session = await transport.connect(sshd.target());
    expect(await session.script('echo out; echo err >&2; exit 3')).toMatchObject({
      code: 3,
      stdout: 'out\n',
      stderr: 'err\n',
    });
    expect(transport.notices).toEqual([
      expect.stringMatching(/^box: new host key ssh-ed25519 SHA256:\S+, added to \S+known_hosts$/),
    ]);
    expect(readFileSync(join(transport.home, '.ssh/known_hosts'), 'utf8')).toContain(sshd.hostKey);
    expect(session.closed.aborted).toBe(false);
    await session.close();
    expect(session.closed.aborted).toBe(true);
    expect((await problemOf(session.script('true'))).code).toBe('ssh.connection-lost');
  });

  test('that sshd ends fails every script that runs over it', async () => {
    const stopping = await startOwnSshd();
    const session = await open().connect(stopping.target());
    const running = problemOf(session.script('echo begun; sleep 60', { onLine: () => void stopping.stop() }));
    expect(await running).toMatchObject({
      code: 'ssh.connection-lost',
      host: 'box',
      what: expect.any(String),
    });
    expect(session.closed.aborted).toBe(true);
  });

  test('that becomes silent is closed by its keep-alive', async () => {
    const proxy = await startDelayProxy(sshd.port, 0);
    const session = await open({ config: 'ServerAliveInterval 1\nServerAliveCountMax 1\n' }).connect(
      sshd.target({ port: proxy.port }),
    );
    const running = problemOf(session.script('echo begun; sleep 60', { onLine: () => proxy.swallow() }));
    expect((await running).code).toBe('ssh.connection-lost');
    proxy.close();
  });

  test('reports once which options the built-in client does not support', async () => {
    const transport = open({ config: 'GSSAPIAuthentication yes\n' });
    await transport.connect(sshd.target());
    await transport.connect(sshd.target({}, 'other'));
    expect(transport.notices.filter((line) => line.includes('does not support'))).toHaveLength(1);
  });

  test.each([
    ['no server listens', { port: 1 }, 'ssh.refused'],
    ['the name cannot be resolved', { address: 'no-such-host.invalid' }, 'ssh.dns'],
  ])('where %s has its own error code', async (_, spec, code) => {
    const problem = await problemOf(open().connect(sshd.target(spec)));
    expect(problem).toMatchObject({ code, host: 'box', step: 'connect' });
    expect(problem.next).toBeTruthy();
  });
});

describe('a restriction that the built-in client would ignore', () => {
  const restriction = 'RekeyLimit 1G 1h\n';

  test('is refused before anything is sent', async () => {
    let connections = 0;
    const server = createServer(() => void (connections += 1));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const problem = await problemOf(open({ config: restriction }).connect(sshd.target({ port })));
    server.close();
    expect(problem).toMatchObject({
      code: 'ssh.unsupported',
      host: 'box',
      what: expect.stringContaining('does not support RekeyLimit') as string,
      seen: expect.stringMatching(/^RekeyLimit 1073741824 3600 \(\S+\/config:1\)$/) as string,
      next: expect.stringContaining('"transport: openssh"') as string,
    });
    expect(connections).toBe(0);
  });

  test('of a jump host is refused, too', async () => {
    const before = logins({ log: hop.log() });
    const config = `Host one\n  HostName 127.0.0.1\n  Port ${hop.port}\n  ${restriction}`;
    expect(await problemOf(open({ config }).connect(sshd.target({ jump: 'one' })))).toMatchObject({
      code: 'ssh.unsupported',
      host: 'box',
      what: expect.stringContaining('jump host one: ') as string,
    });
    expect(logins({ log: hop.log() })).toBe(before);
  });

  test('is left to ssh with transport: openssh', async () => {
    const session = await open({ config: restriction }).connect(sshd.target({ transport: 'openssh' }));
    expect((await session.script('echo in')).stdout).toBe('in\n');
  });
});

test('AddressFamily selects the addresses of a name', async () => {
  const at = (family: string) =>
    open({ config: `AddressFamily ${family}\n` }).connect(sshd.target({ address: 'localhost' }));
  // sshd listens on 127.0.0.1 only.
  expect((await (await at('inet')).script('echo in')).stdout).toBe('in\n');
  expect((await problemOf(at('inet6'))).code).toMatch(/^ssh\.(refused|unreachable|dns|connection-lost)$/);
});

describe('the lists of algorithms', () => {
  let strict: OwnSshd;
  beforeAll(async () => {
    strict = await startOwnSshd({
      config: [
        'LogLevel DEBUG1',
        'Ciphers aes128-ctr,aes192-ctr',
        'MACs hmac-sha2-256,hmac-sha2-512',
        'KexAlgorithms curve25519-sha256,ecdh-sha2-nistp384',
      ],
    });
  });
  afterAll(() => strict.stop());

  test('select what the host also has', async () => {
    const config = [
      'Ciphers aes256-ctr,aes192-ctr',
      'MACs hmac-sha2-512',
      'KexAlgorithms ecdh-sha2-nistp384',
      'HostKeyAlgorithms ssh-ed25519',
    ].join('\n');
    await open({ config: `${config}\n` }).connect(strict.target());
    expect(strict.log()).toMatch(/kex: algorithm: ecdh-sha2-nistp384 /);
    expect(strict.log()).toMatch(/kex: host key algorithm: ssh-ed25519 /);
    expect(strict.log()).toMatch(/kex: client->server cipher: aes192-ctr MAC: hmac-sha2-512 /);
  });

  test.each([
    'Ciphers aes256-ctr',
    'MACs hmac-sha1',
    'KexAlgorithms ecdh-sha2-nistp521',
    'HostKeyAlgorithms rsa-sha2-512',
  ])('exclude what the host has instead: %s', async (config) => {
    const problem = await problemOf(open({ config: `${config}\n` }).connect(strict.target()));
    expect(problem.code).toBe('ssh.handshake');
  });
});

describe('jump hosts', () => {
  const config = () => `Host one
  HostName 127.0.0.1
  Port ${hop.port}
  User ${hop.user}
  IdentityFile ${hop.clientKeyFile}
Host two
  HostName 127.0.0.1
  Port ${second.port}
  User ${second.user}
  IdentityFile ${second.clientKeyFile}
`;

  test('two in a row get one login each for many hosts, the second through the first', async () => {
    const transport = open({ config: config() });
    const before = [hop, second].map((each) => logins({ log: each.log() }));
    const sessions = await Promise.all(
      Array.from({ length: 6 }, (_, index) =>
        transport.connect(sshd.target({ jump: 'one,two' }, `box-${index}`)),
      ),
    );
    const said = await Promise.all(sessions.map((session) => session.script('echo through')));
    expect(said.map(({ stdout }) => stdout)).toEqual(sessions.map(() => 'through\n'));
    expect([hop, second].map((each) => logins({ log: each.log() }))).toEqual(
      before.map((count) => count + 1),
    );
  });

  test('that fail are named in the failure of the host behind', async () => {
    expect(await problemOf(open().connect(sshd.target({ jump: '127.0.0.1:1' })))).toMatchObject({
      code: 'ssh.refused',
      host: 'box',
      what: expect.stringContaining('jump host 127.0.0.1') as string,
    });
    const behind = open({ config: config() }).connect(sshd.target({ jump: 'one', port: 1 }));
    expect(await problemOf(behind)).toMatchObject({
      code: 'ssh.refused',
      what: 'the jump host one cannot reach 127.0.0.1:1',
    });
  });

  test('that form a loop are an error, not a hang', async () => {
    const loop = open({ config: 'Host loop\n  ProxyJump loop\n' });
    expect((await problemOf(loop.connect(sshd.target({ jump: 'loop' })))).code).toBe('ssh.jump');
  });

  test('have their options reported that the built-in client does not use', async () => {
    const transport = open({ config: `${config()}  GSSAPIAuthentication yes\n` });
    await transport.connect(sshd.target({ jump: 'two' }));
    expect(transport.notices).toContainEqual(
      expect.stringContaining('does not support gssapiauthentication'),
    );
  });

  test('a jump host whose connection ended is dialled again for the next host', async () => {
    const stopping = await startOwnSshd();
    const text = config()
      .replaceAll(String(hop.port), String(stopping.port))
      .replaceAll(hop.folder, stopping.folder);
    const transport = open({ config: `${text}  UserKnownHostsFile /dev/null\n` });
    const session = await transport.connect(sshd.target({ jump: 'one' }));
    await stopping.stop();
    await expect.poll(() => session.closed.aborted).toBe(true);
    const problem = await problemOf(transport.connect(sshd.target({ jump: 'one' }, 'next')));
    expect(problem).toMatchObject({ host: 'next', what: expect.stringContaining('jump host one') as string });
  });
});
