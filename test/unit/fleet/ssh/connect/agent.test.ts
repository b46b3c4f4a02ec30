import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';

import ssh2, { type ParsedKey } from 'ssh2';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';

import { requireCurrentBuild } from '../../../../support/current-build.ts';
import { makeKey, type OwnSshd, publicKey, startOwnSshd } from '../../../../support/own-sshd.ts';
import { startAgent } from '../../../../support/ssh-agent.ts';
import { problemOf, type TestTransport, testTransport } from '../../../../support/transport.ts';

const root = join(import.meta.dirname, '../../../../..');
let sshd: OwnSshd;
beforeAll(async () => {
  sshd = await startOwnSshd();
});
afterAll(() => sshd.stop());

const openThings: { close(): unknown }[] = [];
afterEach(async () => {
  vi.useRealTimers();
  await Promise.all(openThings.splice(0).map((each) => each.close()));
});
function open(...options: Parameters<typeof testTransport>): TestTransport {
  const transport = testTransport(...options);
  openThings.push(transport);
  return transport;
}

let sockets = 0;
/** Listens as an agent would. Returns its socket, and its connections so far. */
async function fakeAgent(serve: (socket: Socket) => void) {
  const path = join(sshd.folder, `agent${(sockets += 1)}`);
  const connections: Socket[] = [];
  const server: Server = createServer((socket) => {
    connections.push(socket.on('error', () => undefined).resume());
    serve(socket);
  });
  server.listen(path);
  await once(server, 'listening');
  openThings.push({
    close() {
      connections.forEach((socket) => socket.destroy());
      server.close();
    },
  });
  return { path, connections };
}

/** Holds the key of a file, and calls `onSign` instead of signing. */
function holding(file: string, onSign: () => void): (socket: Socket) => void {
  const key = ssh2.utils.parseKey(readFileSync(file)) as ParsedKey;
  return (socket) => {
    const protocol = new ssh2.AgentProtocol(false);
    protocol.on('error', () => undefined);
    protocol.on('identities', (request) => protocol.getIdentitiesReply(request, [key]));
    protocol.on('sign', onSign);
    socket.pipe(protocol).pipe(socket);
  };
}

describe.each<[string, (socket: Socket) => void, string]>([
  ['never answers', () => undefined, 'no answer in 5 s'],
  ['announces an answer of 2 GiB and sends no end', flood, 'an answer of more than 256 KiB'],
  ['is a web server', (socket) => socket.write('HTTP/1.1 400 Bad Request\r\n\r\n'), 'no answer in 5 s'],
  ['sends an unknown message', (socket) => socket.write(Buffer.from('0000000163', 'hex')), ''],
  ['closes at once', (socket) => socket.end(), ''],
])('an agent that %s', (_, serve, why) => {
  test('is reported in one line, and key files are used', async () => {
    const agent = await fakeAgent(serve);
    const transport = open({ env: { SSH_AUTH_SOCK: agent.path } });
    const sessions = await Promise.all(['a', 'b'].map((name) => transport.connect(sshd.target({}, name))));
    expect(sessions).toHaveLength(2);
    expect(transport.notices.filter((line) => line.includes('agent'))).toEqual([
      expect.stringContaining(`the SSH agent at ${agent.path} is not used: ${why}`),
    ]);
    expect(agent.connections).toHaveLength(1);
    await expect.poll(() => agent.connections.every((socket) => socket.closed)).toBe(true);
  });
});

/** Sends 1 MiB after a length of 2 GiB, as fast as it is read. */
function flood(socket: Socket): void {
  socket.write(Buffer.from('7fffffff0c', 'hex'));
  socket.write(Buffer.alloc(1024 * 1024));
}

test('the program ends when its work does, although an agent hangs', async () => {
  requireCurrentBuild(root);
  const agent = await fakeAgent(() => undefined);
  const inventory = join(sshd.folder, 'lab.yaml');
  const ssh = `address: 127.0.0.1, port: ${sshd.port}, user: ${sshd.user}, identityFile: ${sshd.clientKeyFile}`;
  writeFileSync(
    inventory,
    `organization: https://dev.azure.com/example\ntoken: { env: AZP_TOKEN }\nhosts:\n  box: { ${ssh}, hostKeys: ["${sshd.hostKey}"], sshConfig: none, pool: p }\n`,
  );
  const argv = ['exec', '-i', inventory, '--login', '--', 'echo', 'in'];
  const child = spawn(process.execPath, [join(root, 'bin/azp-fleet.js'), ...argv], {
    env: { PATH: process.env['PATH'], XDG_STATE_HOME: sshd.folder, SSH_AUTH_SOCK: agent.path },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let stdout = '';
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  expect(await once(child, 'close')).toEqual([0, null]);
  expect(stdout).toContain('in');
});

test('a connection whose algorithms are refused is closed', async () => {
  const server = createServer();
  openThings.push(server);
  const closed = new Promise((resolve) => {
    server.once('connection', (socket) =>
      socket
        .on('error', () => undefined)
        .resume()
        .once('close', resolve),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const connecting = open({ config: 'Ciphers 3des-cbc\n' }).connect(sshd.target({ port }));
  expect((await problemOf(connecting)).code).toBe('ssh.handshake');
  await closed;
});

describe('a signature', () => {
  test('that the user declines leaves the other keys', async () => {
    const agent = await startAgent(sshd.folder);
    openThings.push({ close: () => agent.stop() });
    const both = await startOwnSshd({ config: ['AuthorizedKeysFile FOLDER/both'] });
    openThings.push({ close: () => both.stop() });
    const declined = makeKey(join(both.folder, 'declined'));
    const keys = [declined, both.clientKeyFile].map((key) => `${publicKey(key)}\n`);
    writeFileSync(join(both.folder, 'both'), keys.join(''));
    agent.add(declined, 'confirm');
    const env = { SSH_AUTH_SOCK: agent.socket };
    const session = await open({ env }).connect(both.target());
    expect((await session.script('echo in', { as: 'login' })).stdout).toBe('in\n');
    expect(
      await problemOf(open({ env }).connect(both.target({ identityFile: '/nonexistent' }))),
    ).toMatchObject({ code: 'ssh.auth', seen: expect.stringContaining('the agent did not sign') as string });
  });

  test('that waits for the user is reported once, and other hosts do not wait', async () => {
    const [asked, confirmed] = ['asked', 'confirmed'].map((name) => join(sshd.folder, name));
    const askpass = join(sshd.folder, 'askpass');
    writeFileSync(askpass, `#!/bin/sh\ntouch ${asked}\nuntil [ -e ${confirmed} ]; do sleep 0.05; done\n`, {
      mode: 0o755,
    });
    const agent = await startAgent(sshd.folder, askpass);
    openThings.push({ close: () => agent.stop() });
    agent.add(sshd.clientKeyFile, 'confirm');
    const other = await startOwnSshd();
    openThings.push({ close: () => other.stop() });
    const transport = open({ env: { SSH_AUTH_SOCK: agent.socket } });
    const waiting = transport.connect(sshd.target());
    await expect.poll(() => existsSync(asked ?? ''), { timeout: 120_000 }).toBe(true);
    expect((await transport.connect(other.target({}, 'other'))).host).toBe('other');
    const lines = () => transport.notices.filter((line) => line.includes('agent'));
    await expect
      .poll(lines, { timeout: 120_000 })
      .toEqual([`waiting up to 60 s for the SSH agent at ${agent.socket}: confirm the use of the key there`]);
    writeFileSync(confirmed ?? '', '');
    expect((await waiting).host).toBe('box');
  });

  test('that never comes is given up after a minute, and the agent is left', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    let asked = (): void => undefined;
    const request = new Promise<void>((resolve) => (asked = resolve));
    const agent = await fakeAgent(holding(sshd.clientKeyFile, () => asked()));
    const transport = open({ env: { SSH_AUTH_SOCK: agent.path } });
    const failed = problemOf(transport.connect(sshd.target()));
    await request;
    vi.advanceTimersByTime(60_000);
    expect(await failed).toMatchObject({
      code: 'ssh.auth',
      seen: expect.stringContaining('the agent did not sign: no answer in 60 s') as string,
    });
    await expect.poll(() => agent.connections.every((socket) => socket.closed)).toBe(true);
  });

  test('ends with the login, as after Ctrl-C', async () => {
    const stop = new AbortController();
    const agent = await fakeAgent(holding(sshd.clientKeyFile, () => stop.abort()));
    const transport = open({ env: { SSH_AUTH_SOCK: agent.path } });
    const failed = problemOf(transport.connect(sshd.target(), { signal: stop.signal }));
    expect((await failed).code).toBe('interrupted');
    await expect.poll(() => agent.connections.every((socket) => socket.closed)).toBe(true);
  });
});
