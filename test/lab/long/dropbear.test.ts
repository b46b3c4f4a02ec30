// Dropbear as a host and as the jump host before it, as on NAS boxes and small bastions. Real: dropbear, systemd, sudo.
import { request } from 'node:http';

import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';

import type { SshSpec } from '../../../src/fleet/inventory/fleet.ts';
import type { Session } from '../../../src/fleet/ssh/transport.ts';
import { makeKey, publicKey } from '../../support/own-sshd.ts';
import { problemOf, sshSpec, type TestTransport, testTransport } from '../../support/transport.ts';
import { type LabHost, sudoPassword } from '../../../practice/lab/host.ts';
import { type Lab, startLab } from '../../../practice/lab/lab.ts';

let lab: Lab;
let gate: LabHost;
let box: LabHost;
beforeAll(async () => {
  lab = await startLab({
    prefix: 'dropbear',
    hosts: [
      { name: 'gate', login: 'sudo', gpus: [], server: 'dropbear' },
      { name: 'box', login: 'sudo-password', gpus: [], server: 'dropbear' },
    ],
  });
  [gate, box] = [lab.host('gate'), lab.host('box')];
});
afterAll(() => lab.remove());

const transports: TestTransport[] = [];
afterEach(async () => {
  await Promise.all(transports.splice(0).map((transport) => transport.close()));
});
function open(options: Parameters<typeof testTransport>[0] = {}): TestTransport {
  const transport = testTransport(options);
  transports.push(transport);
  return transport;
}

const spec = (host: LabHost, more: Partial<SshSpec> = {}): SshSpec =>
  sshSpec({
    address: host.address,
    user: host.user,
    identityFile: lab.key,
    ...(host === box ? { sudoPassword: { env: sudoPassword } } : {}),
    ...more,
  });
/** `ssh-ed25519 AAAA…` and its like, as the host has them. */
const keysOf = async (host: LabHost): Promise<string[]> =>
  (await host.hostKeys())
    .trim()
    .split('\n')
    .map((line) => line.split(' ').slice(1).join(' '));
const connect = (more: Partial<SshSpec> = {}, transport = open()): Promise<Session> =>
  transport.connect({ name: 'box', ssh: spec(box, more) });

test('there is no other server, and none for files', async () => {
  const { stdout } = await box.exec('command -v sshd; find / -xdev -name "sftp-server*"; pgrep -xo dropbear');
  expect(stdout).toMatch(/^\d+\n$/);
});

describe.each<SshSpec['transport']>(['builtin', 'openssh'])('by %s', (transport) => {
  test('scripts run as root, with their output, their exit code and the end of what is not wanted', async () => {
    const session = await connect({ transport });
    expect(await session.script('id -un; echo err >&2; exit 3')).toMatchObject({
      code: 3,
      stdout: 'root\n',
      stderr: 'err\n',
    });
    const much = await session.script('head -c 8388608 /dev/zero | tr "\\0" x', { outputLimit: 2 ** 24 });
    expect(much.stdout).toHaveLength(8 << 20);
    expect((await problemOf(session.script('echo begun; sleep 61', { totalTimeoutMs: 1000 }))).code).toBe(
      'ssh.script-timeout',
    );
    expect((await session.script('echo alive')).stdout).toBe('alive\n');
  });

  test('files arrive, and only when they differ', async () => {
    const session = await connect({ transport });
    const file = { bytes: Buffer.alloc(3 << 20, transport) };
    const path = `/opt/${transport}/file`;
    expect(await session.upload(file, path, { mode: 0o640 })).toBe(true);
    expect(await session.upload(file, path, { mode: 0o640 })).toBe(false);
    expect((await box.exec(`stat -c '%s %a %U' ${path}; head -c 7 ${path}`)).stdout).toBe(
      `${3 << 20} 640 root\n${transport}`,
    );
  });

  test('a long change is a separate unit, under the lock, and is followed', async () => {
    const session = await connect({ transport });
    const owner = { who: 'ann@laptop', command: 'test', since: new Date(0).toISOString() };
    const lock = await session.lock(owner);
    expect(
      await problemOf((await connect({ transport })).lock({ ...owner, who: 'bob@laptop' })),
    ).toMatchObject({
      code: 'ssh.locked',
    });
    const lines: string[] = [];
    const change = { id: `long-${transport}`, title: 'long', owner: owner.who, totalTimeoutMs: 60_000 };
    const script =
      'echo begun; sleep 2; systemctl list-units --plain --no-legend "azp-fleet-change-*"; exit 4';
    const result = await session.durable({ ...change, script }, { onLine: (line) => lines.push(line) });
    expect(result).toMatchObject({ code: 4, resumed: false });
    expect(lines.join(' ')).toContain(`begun azp-fleet-change-long-${transport}.service`);
    await lock.release();
  });

  test('a socket that only root may open is reached', async () => {
    const session = await connect({ transport });
    await session.script(serve);
    const agent = session.socketAgent('/run/lab.sock');
    const text = await new Promise((resolve, reject) => {
      request({ agent, host: 'h', path: '/' }, (response) => {
        response.on('data', (chunk: Buffer) => resolve(chunk.toString()));
      })
        .on('error', reject)
        .end();
    });
    expect(text).toBe('hello');
  });

  test('a connection survives silence, and a cut is noticed', async () => {
    const config = 'ServerAliveInterval 1\nServerAliveCountMax 2\n';
    const session = await connect({ transport }, open({ config }));
    expect((await session.script('sleep 6; echo still')).stdout).toBe('still\n');
    const running = problemOf(
      session.script('echo begun; sleep 60', { onLine: () => void box.blackHole(true) }),
    );
    expect((await running).code).toBe('ssh.connection-lost');
    await box.blackHole(false);
  });

  test('it is a jump host: held to its pin, with what the inventory says of it', async () => {
    const [pin = ''] = (await keysOf(gate)).filter((key) => key.startsWith('ssh-ed25519'));
    const [other = ''] = (await keysOf(box)).filter((key) => key.startsWith('ssh-ed25519'));
    const through = (hostKeys: readonly string[]) => {
      const hosts = [{ name: 'gate', ssh: spec(gate, { hostKeys }) }];
      const way = open({ hosts });
      return {
        way,
        session: connect({ transport, jump: 'gate', hostKeys: [other], hostKeyPolicy: 'strict' }, way),
      };
    };
    const session = await through([pin]).session;
    expect((await session.script('hostname; echo $SSH_CLIENT', { as: 'login' })).stdout).toMatch(
      new RegExp(`^box\\n${gate.address} `),
    );
    expect(await problemOf(through([other]).session)).toMatchObject({
      code: 'ssh.host-key-mismatch',
      what: 'jump host gate: the host key of gate is not the one pinned in the inventory',
    });
    expect((await problemOf(through([]).session)).code).toBe('ssh.host-key-unknown');
  });

  test('as a jump host that forwards nothing it is named', async () => {
    await gate.exec(`systemctl is-active -q closed ||
systemd-run --quiet --unit=closed dropbear -F -E -j -p 2222 -r /etc/dropbear/ed25519
until ss -Hltn | grep -q :2222; do sleep 0.1; done`);
    const hosts = [{ name: 'closed', ssh: spec(gate, { port: 2222 }) }];
    expect(await problemOf(connect({ transport, jump: 'closed' }, open({ hosts })))).toMatchObject({
      code: 'ssh.jump',
      what: `the jump host closed cannot reach ${box.address}:22`,
    });
  });

  test.each(['ssh-ed25519', 'ecdsa-sha2-nistp256', 'rsa-sha2-256'])('its %s key is known', async (type) => {
    const hostKeys = (await keysOf(box)).filter((key) =>
      key.startsWith(type.replace('rsa-sha2-256', 'ssh-rsa')),
    );
    expect(hostKeys).toHaveLength(1);
    const way = open({ config: `HostKeyAlgorithms ${type}\n` });
    expect((await (await connect({ transport, hostKeys }, way)).script('echo known')).stdout).toBe('known\n');
  });
});

test.each(['ecdsa', 'rsa'])('an %s key logs in', async (type) => {
  const key = makeKey(`${lab.folder}/${type}`, type);
  await box.exec('cat >>/home/labadmin/.ssh/authorized_keys', { input: `${publicKey(key)}\n` });
  expect((await (await connect({ identityFile: key })).script('echo in')).stdout).toBe('in\n');
});

// Dropbear up to 2024.85 may end the whole connection when a command begins while another one ends.
test('many commands at once', async () => {
  const session = await connect();
  for (let round = 0; round < 10; round += 1) {
    const said = await Promise.all(Array.from({ length: 12 }, (_, index) => session.script(`echo ${index}`)));
    expect(said.map(({ stdout }) => stdout.trim()).join(' ')).toBe('0 1 2 3 4 5 6 7 8 9 10 11');
  }
});

/** Answers each connection to a socket that root alone may open. */
const serve = `systemctl is-active --quiet lab-sock || systemd-run --quiet --unit=lab-sock perl -MIO::Socket::UNIX -e '
unlink "/run/lab.sock"; umask 0177;
$s = IO::Socket::UNIX->new(Local => "/run/lab.sock", Listen => 5) or die;
while ($c = $s->accept) { while (<$c>) { last if /^\\r?$/ } print $c "HTTP/1.1 200 OK\\r\\nContent-Length: 5\\r\\nConnection: close\\r\\n\\r\\nhello"; close $c }'
while ! [ -S /run/lab.sock ]; do sleep 0.1; done`;
