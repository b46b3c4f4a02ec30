import { readdirSync } from 'node:fs';
import { createServer } from 'node:net';

import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest';

import type { SshSpec } from '../../src/fleet/inventory/fleet.ts';
import { frameScript } from '../../src/fleet/ssh/session/frames.ts';
import { startDelayProxy } from '../support/delay-proxy.ts';
import { type Sshd, startSshd } from '../support/sshd.ts';
import { problemOf, sshSpec, type TestTransport, testTransport } from '../support/transport.ts';

// Real sshd on loopback with OpenSSH's own defaults for MaxStartups (10:30:100) and MaxSessions (10).
const password = 'correct horse';
let inner: Sshd;
let first: Sshd;
let second: Sshd;
beforeAll(async () => {
  [inner, first, second] = await Promise.all([
    startSshd({
      users: [
        { name: 'free', sudo: 'ALL=(ALL) NOPASSWD: ALL' },
        { name: 'pass', sudo: 'ALL=(ALL) ALL', password },
      ],
      listen: '0.0.0.0',
    }),
    startSshd({ users: [{ name: 'one' }] }),
    startSshd({ users: [{ name: 'two' }] }),
  ]);
});
afterAll(() => {
  for (const sshd of [inner, first, second]) sshd.stop();
});

const transports: TestTransport[] = [];
afterEach(async () => {
  await Promise.all(transports.splice(0).map((transport) => transport.close()));
});

function open(config = '', env: Record<string, string> = {}): TestTransport {
  const transport = testTransport({ config, env });
  transports.push(transport);
  return transport;
}

function target(spec: Partial<SshSpec> = {}, name = 'box') {
  const ssh = {
    address: '127.0.0.1',
    port: inner.port,
    user: 'free',
    identityFile: inner.clientKeyFile,
    ...spec,
  };
  return { name, ssh: sshSpec(ssh) };
}

function logins(sshd: Sshd): number {
  return sshd.log().split('Accepted publickey').length - 1;
}

describe('jump hosts', () => {
  const hops = (): string => `Host one
  HostName 127.0.0.1
  Port ${first.port}
  User one
  IdentityFile ${first.clientKeyFile}
Host two
  HostName 127.0.0.1
  Port ${second.port}
  User two
  IdentityFile ${second.clientKeyFile}
`;

  test('two in a row, each with its own configuration, are logged into once for many hosts', async () => {
    const transport = open(hops());
    const before = [logins(first), logins(second)];
    const sessions = await Promise.all(
      Array.from({ length: 20 }, (_v, index) =>
        transport.connect(target({ jump: 'one,two' }, `box-${index}`)),
      ),
    );
    const names = await Promise.all(sessions.map(async (session) => (await session.script('id -un')).stdout));
    expect(new Set(names)).toEqual(new Set(['root\n']));
    expect([logins(first), logins(second)]).toEqual([(before[0] ?? 0) + 1, (before[1] ?? 0) + 1]);
    // From the second hop, not from here: the chain is really passed.
    expect(second.log()).toContain('Accepted publickey for two');
    expect(transport.notices).toHaveLength(3);
  });

  test('from ssh_config, with users and ports written out', async () => {
    const jump = `one@127.0.0.1:${first.port}`;
    const config = `Host box\n  ProxyJump ${jump}\nHost 127.0.0.1\n  IdentityFile ${first.clientKeyFile}\n`;
    const transport = open(config);
    const { address: _typed, ...ssh } = target().ssh;
    const session = await transport.connect({ name: 'box', ssh: { ...ssh, address: 'localhost', jump } });
    expect((await session.script('echo through')).stdout).toBe('through\n');
  });

  test('that lead back to themselves are an error, not a hang', async () => {
    const problem = await problemOf(open('Host loop\n  ProxyJump loop\n').connect(target({ jump: 'loop' })));
    expect(problem).toMatchObject({ code: 'ssh.jump', host: 'box' });
  });

  test('that fail are named in the failure of the host behind', async () => {
    const problem = await problemOf(open().connect(target({ jump: '127.0.0.1:1' })));
    expect(problem).toMatchObject({ code: 'ssh.refused', host: 'box' });
    expect(problem.what).toContain('jump host 127.0.0.1');
    const behind = await problemOf(open(hops()).connect(target({ jump: 'one', port: 1 })));
    expect(behind).toMatchObject({ code: 'ssh.refused', what: 'the jump host one cannot reach 127.0.0.1:1' });
  });

  test('work with the system ssh as well', async () => {
    const transport = open(
      `${hops()}Host one two\n  StrictHostKeyChecking no\n  UserKnownHostsFile /dev/null\n`,
    );
    const session = await transport.connect(target({ transport: 'openssh' }));
    expect((await session.script('id -un')).stdout).toBe('root\n');
  });

  test('a ProxyCommand is another way', async () => {
    const transport = open(
      'Host 127.0.0.1\n  ProxyCommand bash -c "exec 3<>/dev/tcp/%h/%p; cat <&3 & cat >&3"\n',
    );
    const session = await transport.connect(target());
    expect((await session.script('echo by command')).stdout).toBe('by command\n');
    await session.close();
  });
});

describe('what does not answer', () => {
  test('a host that accepts and says nothing', async () => {
    const server = createServer(() => undefined);
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as { port: number };
    const problem = await problemOf(open('ConnectTimeout 1\n').connect(target({ port })));
    expect(problem).toMatchObject({ code: 'ssh.timeout', host: 'box' });
    expect(problem.what).toContain('sent nothing for 1 s');
    server.close();
  });

  test('is not waited for after Ctrl-C', async () => {
    const server = createServer(() => undefined);
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as { port: number };
    const stop = new AbortController();
    server.once('connection', () => stop.abort());
    const problem = await problemOf(open().connect(target({ port }), { signal: stop.signal }));
    expect(problem).toMatchObject({ code: 'interrupted', host: 'box' });
    server.close();
  });

  test('a host that goes silent in the middle of a command', async () => {
    const proxy = await startDelayProxy(inner.port, 0);
    const transport = open('ServerAliveInterval 1\nServerAliveCountMax 2\n');
    const session = await transport.connect(target({ port: proxy.port }));
    const running = problemOf(session.script('echo begun; sleep 60', { onLine: () => proxy.swallow() }));
    expect((await running).code).toBe('ssh.connection-lost');
    expect(session.closed.aborted).toBe(true);
    proxy.close();
  });

  test.each([
    ['a port where nothing listens', { port: 1 }, 'ssh.refused'],
    ['an unknown name', { address: 'no-such-host.invalid' }, 'ssh.dns'],
  ])('%s', async (_case, spec, code) => {
    expect(await problemOf(open().connect(target(spec)))).toMatchObject({ code, host: 'box' });
  });
});

describe('limits of sshd', () => {
  test('fewer sessions than usual are shared', async () => {
    const small = await startSshd({ config: ['MaxSessions 2'] });
    onTestFinished(() => small.stop());
    const spec = { port: small.port, user: 'root', identityFile: small.clientKeyFile };
    const session = await open().connect(target(spec));
    // Together longer than a script waits for a session while none ends.
    const outputs = await Promise.all(Array.from({ length: 8 }, () => session.script('sleep 3; echo ok')));
    expect(outputs.map(({ stdout }) => stdout)).toEqual(Array.from({ length: 8 }, () => 'ok\n'));
  });

  test('more logins at once than MaxStartups allows all succeed', async () => {
    const transport = open();
    const descriptors = (): number => readdirSync('/proc/self/fd').length;
    const before = descriptors();
    const hosts = Array.from({ length: 80 }, (_v, index) =>
      target({ address: `127.0.1.${index + 1}` }, `h${index}`),
    );
    const sessions = await Promise.all(hosts.map((host) => transport.connect(host)));
    const outputs = await Promise.all(sessions.map((session) => session.script('echo ok')));
    expect(outputs.filter(({ stdout }) => stdout === 'ok\n')).toHaveLength(80);
    expect(descriptors()).toBeGreaterThanOrEqual(before + 80);
    await transport.close();
    // Nothing of 80 connections is left; one descriptor may be the process's own (the random source, a timer).
    await expect.poll(descriptors).toBeLessThanOrEqual(before + 1);
  });
});

describe('a link with 100 ms of round trip', () => {
  const facts = frameScript([{ name: 'one', script: 'id' }], 1_000_000);

  /** Round trips of a session's first script, from its start to its output. */
  async function roundTrips(spec: Partial<SshSpec>): Promise<number> {
    const proxy = await startDelayProxy(inner.port, 50);
    const session = await open().connect(target({ ...spec, port: proxy.port }));
    const before = proxy.turns();
    let after = 0;
    await session.script(facts, {
      onLine: () => {
        after ||= proxy.turns();
      },
    });
    await session.close();
    proxy.close();
    return after - before;
  }

  test('a converged host costs no more than connect and 3 round trips', async () => {
    expect(await roundTrips({})).toBe(3);
  });

  test('and one more with a sudo password', async () => {
    expect(await roundTrips({ user: 'pass', sudoPassword: { env: password } })).toBe(4);
  });
});
