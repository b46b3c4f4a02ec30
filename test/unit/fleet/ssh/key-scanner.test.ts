import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { systemClock } from '../../../../src/shared/base/clock.ts';
import { silentLogger } from '../../../../src/shared/base/log.ts';
import { Secret } from '../../../../src/shared/base/secret.ts';
import { defaultUploads } from '../../../../src/fleet/inventory/schema/defaults.ts';
import { createKeyScanner } from '../../../../src/fleet/ssh/key-scanner.ts';
import { makeKey, type OwnSshd, publicKey, startOwnSshd } from '../../../support/own-sshd.ts';
import { problemOf } from '../../../support/transport.ts';

let sshd: OwnSshd;
beforeAll(async () => {
  sshd = await startOwnSshd();
});
afterAll(() => sshd.stop());

async function scan(knownHosts: string, spec: Parameters<OwnSshd['target']>[0] = {}, config = '') {
  const home = mkdtempSync(join(tmpdir(), 'azp-scan-'));
  mkdirSync(join(home, '.ssh'));
  writeFileSync(join(home, '.ssh/known_hosts'), knownHosts);
  writeFileSync(join(home, 'config'), `${config}\nUserKnownHostsFile ${home}/.ssh/known_hosts\n`);
  const scanner = createKeyScanner({
    home,
    user: sshd.user,
    env: {},
    log: silentLogger,
    clock: systemClock(1),
    ask: undefined,
    resolveSecret: () => Promise.resolve(new Secret('')),
    notice: () => undefined,
    uploads: defaultUploads,
    hosts: [],
  });
  try {
    return await scanner.scan(sshd.target({ sshConfig: join(home, 'config'), ...spec }));
  } finally {
    scanner.close();
  }
}

describe('the key that a host sends', () => {
  const name = () => `[127.0.0.1]:${sshd.port}`;

  test('is returned with its state in known_hosts, without a login', async () => {
    const before = sshd.log().split('Accepted').length;
    const { key, known } = await scan('');
    expect(`${key.type} ${key.base64}`).toBe(sshd.hostKey);
    expect(known).toBe('unknown');
    expect(sshd.log().split('Accepted')).toHaveLength(before);
  });

  test('may be known, changed or revoked', async () => {
    const other = publicKey(makeKey(join(sshd.folder, 'other')));
    expect((await scan(`${name()} ${sshd.hostKey}\n`)).known).toBe('known');
    expect((await scan(`${name()} ${other}\n`)).known).toBe('changed');
    expect((await scan(`@revoked ${name()} ${sshd.hostKey}\n`)).known).toBe('revoked');
  });

  test('is returned whatever key is pinned', async () => {
    expect((await scan('', { hostKeys: ['ssh-ed25519 AAAA'] })).known).toBe('unknown');
  });
});

test('without a key, the error says why', async () => {
  expect((await problemOf(scan('', { port: 1 }))).code).toBe('ssh.refused');
  const silent = createServer((socket) => socket.on('error', () => undefined));
  await new Promise<void>((resolve) => void silent.listen(0, '127.0.0.1', resolve));
  const { port } = silent.address() as AddressInfo;
  expect((await problemOf(scan('', { port }, 'ConnectTimeout 1\n'))).code).toBe('ssh.timeout');
  silent.close();
});
