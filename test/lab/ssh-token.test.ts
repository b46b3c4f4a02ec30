import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';

import { ensurePackages } from '../../practice/lab/machine.ts';
import { type Sshd, startSshd } from '../support/sshd.ts';
import { problemOf, sshSpec, type TestTransport, testTransport } from '../support/transport.ts';

// A key that lives in a PKCS#11 token and cannot leave it. The token is SoftHSM, a program; all else is real.
const pin = '12345678';
const provider = '/usr/lib/softhsm/libsofthsm2.so';
const folder = mkdtempSync(join(tmpdir(), 'azp-token-'));
const env = {
  PATH: '/usr/bin:/bin',
  SOFTHSM2_CONF: join(folder, 'softhsm2.conf'),
  // ssh and ssh-add ask this program for the PIN, where a person would sit at a terminal.
  SSH_ASKPASS: join(folder, 'askpass'),
  SSH_ASKPASS_REQUIRE: 'force',
};
let sshd: Sshd;
beforeAll(async () => {
  await ensurePackages({ softhsm2: 'softhsm2-util', opensc: 'pkcs11-tool' });
  // sshd reads the authorized keys as the user who logs in.
  chmodSync(folder, 0o755);
  mkdirSync(join(folder, 'tokens'));
  writeFileSync(env.SOFTHSM2_CONF, `directories.tokendir = ${join(folder, 'tokens')}\n`);
  writeFileSync(env.SSH_ASKPASS, `#!/bin/sh\necho ${pin}\n`, { mode: 0o755 });
  const tool = (program: string, ...args: string[]): string =>
    execFileSync(program, args, { env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  tool('softhsm2-util', '--init-token', '--free', '--label', 'lab', '--pin', pin, '--so-pin', pin);
  const login = ['--module', provider, '--login', '--pin', pin, '--token-label', 'lab'];
  tool('pkcs11-tool', ...login, '--keypairgen', '--key-type', 'rsa:2048', '--id', '01', '--label', 'ann');
  const keys = join(folder, 'keys.pub');
  writeFileSync(keys, tool('ssh-keygen', '-D', provider));
  sshd = await startSshd({ users: [{ name: 'ann' }], config: [`AuthorizedKeysFile ${keys}`] });
});
afterAll(() => {
  sshd.stop();
  rmSync(folder, { recursive: true });
});

const transports: TestTransport[] = [];
afterEach(async () => {
  await Promise.all(transports.splice(0).map((transport) => transport.close()));
});

function open(options: Parameters<typeof testTransport>[0]): TestTransport {
  const transport = testTransport(options);
  transports.push(transport);
  return transport;
}

function target(transport: 'builtin' | 'openssh') {
  return { name: 'box', ssh: sshSpec({ address: '127.0.0.1', port: sshd.port, user: 'ann', transport }) };
}

async function whoami(transport: TestTransport, way: 'builtin' | 'openssh'): Promise<string> {
  const session = await transport.connect(target(way));
  return (await session.script('id -un', { as: 'login' })).stdout.trim();
}

describe('a key in a PKCS#11 token', () => {
  const config = `PKCS11Provider ${provider}\nIdentityFile /nonexistent\n`;

  test('is used by the system ssh, which asks for the PIN', async () => {
    // A terminal is there, so ssh asks by itself.
    const transport = open({ config, env, answer: () => 'not asked by us' });
    expect(await whoami(transport, 'openssh')).toBe('ann');
    expect(transport.questions).toEqual([]);
  });

  test('is not used without a terminal', async () => {
    expect(await problemOf(open({ config, env }).connect(target('openssh')))).toMatchObject({
      code: 'ssh.auth',
    });
  });

  test('is not used by the built-in client, which says so', async () => {
    const transport = open({ config, env });
    expect((await problemOf(transport.connect(target('builtin')))).code).toBe('ssh.auth');
    expect(transport.notices[0]).toMatch(
      /^the built-in client does not support pkcs11provider of the SSH configuration; set "transport: openssh"/,
    );
  });

  test('that ssh-add gave to the agent serves the built-in client as well', async () => {
    const socket = join(folder, 'agent.sock');
    const agent = spawn('ssh-agent', ['-D', '-a', socket, '-P', '/usr/lib/*'], { env, stdio: 'ignore' });
    try {
      const withAgent = { ...env, SSH_AUTH_SOCK: socket };
      const add = (): string =>
        execFileSync('sh', ['-c', 'ssh-add -s "$1" 2>&1 || true', '-', provider], {
          env: withAgent,
          encoding: 'utf8',
        });
      await expect.poll(add).toMatch(/^Card added|already/);
      expect(await whoami(open({ env: withAgent, config: 'IdentityFile /nonexistent\n' }), 'builtin')).toBe(
        'ann',
      );
    } finally {
      agent.kill();
    }
  });
});
