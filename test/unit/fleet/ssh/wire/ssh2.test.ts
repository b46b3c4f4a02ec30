// The built-in client against servers in this process: commands, sockets of the host, and a jump host.
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import ssh2, { type ServerChannel } from 'ssh2';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';

import { systemClock } from '../../../../../src/shared/base/clock.ts';
import { silentLogger } from '../../../../../src/shared/base/log.ts';
import { Secret } from '../../../../../src/shared/base/secret.ts';
import { defaultUploads } from '../../../../../src/fleet/inventory/schema/defaults.ts';
import { connectionTools, type ConnectionTools } from '../../../../../src/fleet/ssh/create-transport.ts';
import { ssh2Wire } from '../../../../../src/fleet/ssh/wire/ssh2.ts';
import type { Wire } from '../../../../../src/fleet/ssh/wire/wire.ts';
import { sshKeyPair } from '../../../../support/ssh-key.ts';
import { stagedHost } from '../../../../support/staged-host.ts';
import { problemOf, sshSpec } from '../../../../support/transport.ts';

interface Host {
  readonly port: number;
  /** Ends all connections to it. */
  drop(): void;
  close(): void;
}

/** Starts a host that accepts any key, runs `echo`, has the socket /run/here, and forwards ports if it may. */
async function startHost({ forwards }: { readonly forwards: boolean }): Promise<Host> {
  const { private: key } = sshKeyPair();
  const clients = new Set<ssh2.Connection>();
  const server = new ssh2.Server({ hostKeys: [key] }, (client) => {
    clients.add(client);
    client.on('error', () => undefined);
    client.on('authentication', (login) => login.accept());
    client.on('session', (accept) =>
      accept().on('exec', (take, _, { command }) => {
        const channel: ServerChannel = take();
        channel.write(command.replace('echo ', ''));
        channel.exit(3);
        channel.end();
      }),
    );
    client.on('openssh.streamlocal', (accept, reject, { socketPath }) => {
      if (socketPath === '/run/here') accept().end('hello');
      else reject();
    });
    client.on('tcpip', (accept, reject, { destIP, destPort }) => {
      if (!forwards) {
        reject();
        return;
      }
      const target = connect(destPort, destIP);
      const channel = accept();
      target.on('error', () => channel.destroy());
      target.pipe(channel).pipe(target);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const drop = (): void => clients.forEach((client) => client.end());
  return {
    port: (server.address() as AddressInfo).port,
    drop,
    close() {
      drop();
      server.close();
    },
  };
}

let box: Host;
let open: Host;
let strict: Host;
beforeAll(async () => {
  [box, open, strict] = await Promise.all([
    startHost({ forwards: false }),
    startHost({ forwards: true }),
    startHost({ forwards: false }),
  ]);
});
afterAll(() => {
  for (const host of [box, open, strict]) host.close();
});

let home: string;
let tools: ConnectionTools;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'wire-'));
  mkdirSync(join(home, '.ssh'));
  writeFileSync(join(home, '.ssh/id_ed25519'), sshKeyPair().private, { mode: 0o600 });
  tools = connectionTools({
    home,
    user: 'me',
    env: {},
    log: silentLogger,
    clock: systemClock(1),
    ask: undefined,
    resolveSecret: () => Promise.resolve(new Secret('')),
    notice: () => undefined,
    uploads: defaultUploads,
    hosts: [],
  });
});
afterEach(() => {
  tools.close();
  rmSync(home, { recursive: true });
});

async function wireTo(host: Host, jump?: Host): Promise<Wire> {
  const viaJump = jump === undefined ? {} : { jump: `me@127.0.0.1:${jump.port}` };
  const options = await tools.resolve(
    'box',
    sshSpec({ address: '127.0.0.1', port: host.port, user: 'me', sshConfig: 'none', ...viaJump }),
  );
  return ssh2Wire(await tools.dialer.connect(options, undefined, undefined));
}

test('a command has its output and its exit code', async () => {
  const wire = await wireTo(box);
  const { stdout, ended } = await wire.exec('echo hello');
  expect([await text(stdout), await ended]).toEqual(['hello', { code: 3, signal: undefined }]);
  await wire.close();
});

test('the key that the host accepted is known by its fingerprint, as ssh-keygen prints it', async () => {
  const key = sshKeyPair();
  writeFileSync(join(home, '.ssh/id_ed25519'), key.private, { mode: 0o600 });
  const host = await stagedHost({
    wants: ['publickey'],
    keys: [key.public.split(' ').slice(0, 2).join(' ')],
  });
  const wire = await wireTo({ ...host, drop: () => undefined });
  const blob = Buffer.from(key.public.split(' ')[1] ?? '', 'base64');
  expect(wire.credential).toBe(
    `SHA256:${createHash('sha256').update(blob).digest('base64').replaceAll('=', '')}`,
  );
  await wire.close();
  host.close();
});

test('a socket of the host is a stream; a missing one is an error', async () => {
  const wire = await wireTo(box);
  expect(await text(await wire.openSocket('/run/here'))).toBe('hello');
  await expect(wire.openSocket('/run/nothing')).rejects.toThrow(/channel open failure/i);
  await wire.close();
});

test('through a jump host, which may reject the forwarding', async () => {
  const wire = await wireTo(box, open);
  expect(await text((await wire.exec('echo far')).stdout)).toBe('far');
  await wire.close();
  expect(await problemOf(wireTo(box, strict))).toMatchObject({
    code: 'ssh.jump',
    what: `the jump host 127.0.0.1 cannot reach 127.0.0.1:${box.port}`,
    next: `set AllowTcpForwarding yes in sshd_config of 127.0.0.1, and check that it reaches the host: ssh -F none -p ${strict.port} me@127.0.0.1 nc -zv 127.0.0.1 ${box.port}`,
  });
});

test('on a closed connection nothing opens and nothing hangs', async () => {
  const wire = await wireTo(box);
  box.drop();
  if (!wire.closed.aborted) await once(wire.closed, 'abort');
  await expect(wire.openSocket('/run/here')).rejects.toThrow(/not connected/i);
  await expect(wire.exec('echo hello')).rejects.toThrow(/not connected/i);
});
