// Sockets of a host, over their own channel or through a program there; and the end of a session.
import { createServer, request, type Server } from 'node:http';
import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import type { Session } from '../../../../../src/fleet/ssh/transport.ts';
import { type OwnSshd, startOwnSshd } from '../../../../support/own-sshd.ts';
import { problemOf, testTransport, type TestTransport } from '../../../../support/transport.ts';

let direct: OwnSshd;
let closed: OwnSshd;
let transport: TestTransport;
let server: Server;
let path: string;
beforeAll(async () => {
  transport = testTransport();
  [direct, closed] = await Promise.all([
    startOwnSshd(),
    startOwnSshd({ config: ['AllowStreamLocalForwarding no'] }),
  ]);
  // As on a provisioned host without docker, socat and nc.
  mkdirSync(closed.path('opt/azp-fleet/current'), { recursive: true });
  symlinkSync(process.execPath, closed.path('opt/azp-fleet/current/node'));
  path = join(direct.folder, 'http.sock');
  server = createServer((_, response) => response.end('hello'));
  await new Promise<void>((resolve) => void server.listen(path, resolve));
});
afterAll(async () => {
  await transport.close();
  server.closeAllConnections();
  server.close();
  await Promise.all([direct.stop(), closed.stop()]);
});

function get(session: Session, socket: string, agent = session.socketAgent(socket)): Promise<string> {
  return new Promise((resolve, reject) => {
    const call = request({ agent, host: 'h', path: '/' }, (response) => {
      let text = '';
      response.on('data', (chunk: Buffer) => (text += chunk.toString())).on('end', () => resolve(text));
    });
    call.on('error', reject).end();
  });
}

describe.each([
  ['its own channel', () => direct],
  ['a program of the host, if sshd forwards no sockets', () => closed],
])('a socket, by %s', (_, host) => {
  test('answers many calls, one after another and at once', async () => {
    const session = await transport.connect(host().target());
    const agent = session.socketAgent(path);
    expect(await get(session, path, agent)).toBe('hello');
    expect(await Promise.all([1, 2, 3].map(() => get(session, path, agent)))).toEqual([
      'hello',
      'hello',
      'hello',
    ]);
    await session.close();
  });

  test('that is missing is an error of the call, and the session continues', async () => {
    const session = await transport.connect(host().target());
    await expect(get(session, '/nowhere/at-all.sock')).rejects.toThrow(/\S/);
    expect((await session.script('echo alive')).stdout).toBe('alive\n');
    await session.close();
  });

  test('fails calls after its connection ended', async () => {
    const session = await transport.connect(host().target());
    const agent = session.socketAgent(path);
    await get(session, path, agent);
    await session.close();
    await expect(get(session, path, agent)).rejects.toThrow(/\S/);
  });
});

test('a closed session starts nothing, and can be closed twice', async () => {
  const session = await transport.connect(direct.target());
  await session.close();
  await session.close();
  for (const work of [
    session.script('true'),
    session.upload({ bytes: Buffer.from('x') }, '/nowhere', { mode: 0o600 }),
  ])
    expect((await problemOf(work)).code).toBe('ssh.connection-lost');
});
