import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest';

import type { SshSpec } from '../../src/fleet/inventory/fleet.ts';
import { startAgent } from '../support/ssh-agent.ts';
import { type Sshd, startSshd } from '../support/sshd.ts';
import { problemOf, sshSpec, type TestTransport, testTransport } from '../support/transport.ts';

// A real sshd on loopback; its users are in a separate mount namespace.
const password = 'correct horse';
let sshd: Sshd;
beforeAll(async () => {
  sshd = await startSshd({
    users: [{ name: 'ann' }, { name: 'word', password }, { name: 'asked', password }],
    config: ['MaxAuthTries 4', 'KbdInteractiveAuthentication no'],
  });
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

function target(spec: Partial<SshSpec> = {}) {
  return {
    name: 'box',
    ssh: sshSpec({
      address: '127.0.0.1',
      port: sshd.port,
      user: 'ann',
      identityFile: sshd.clientKeyFile,
      ...spec,
    }),
  };
}

async function whoami(transport: TestTransport, spec: Partial<SshSpec> = {}): Promise<string> {
  const session = await transport.connect(target(spec));
  return (await session.script('id -un', { as: 'login' })).stdout.trim();
}

describe('login', () => {
  test('with a key file', async () => {
    expect(await whoami(open())).toBe('ann');
  });

  test('with an encrypted key, asking once for its passphrase', async () => {
    const file = join(sshd.folder, 'locked');
    execFileSync('cp', [sshd.clientKeyFile, file]);
    execFileSync('ssh-keygen', ['-q', '-p', '-P', '', '-N', 'open sesame', '-f', file]);
    const transport = open({ answer: () => 'open sesame' });
    const spec = { identityFile: file };
    expect(
      await Promise.all([whoami(transport, spec), whoami(transport, spec), whoami(transport, spec)]),
    ).toEqual(['ann', 'ann', 'ann']);
    expect(transport.questions.map(({ text }) => text)).toEqual([`Passphrase for ${file}:`]);
  });

  test('with the agent: the key that the configuration names comes before the others', async () => {
    const agent = await startAgent(sshd.folder);
    try {
      for (const name of ['other1', 'other2', 'other3', 'other4', 'other5']) {
        execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(sshd.folder, name)]);
        agent.add(join(sshd.folder, name));
      }
      agent.add(sshd.clientKeyFile);
      const env = { SSH_AUTH_SOCK: agent.socket };
      // MaxAuthTries is 4 here and the right key the sixth of the agent.
      expect(await whoami(open({ env }), { identityFile: `${sshd.clientKeyFile}.pub` })).toBe('ann');
      const config = `Host *\n  IdentitiesOnly yes\n  IdentityFile ${join(sshd.folder, 'other1')}\n`;
      const { identityFile: _unset, ...ssh } = target().ssh;
      const problem = await problemOf(open({ env, config }).connect({ name: 'box', ssh }));
      expect(problem).toMatchObject({
        code: 'ssh.auth',
        seen: `tried key ${join(sshd.folder, 'other1')} (of the agent)`,
      });
    } finally {
      agent.stop();
    }
  });

  test('with a password by reference', async () => {
    const spec = { user: 'word', loginPassword: { env: password }, identityFile: '/nonexistent' };
    expect(await whoami(open(), spec)).toBe('word');
  });

  test('with a password prompt', async () => {
    const transport = open({ answer: () => password });
    expect(await whoami(transport, { user: 'asked', identityFile: '/nonexistent' })).toBe('asked');
    expect(transport.questions).toHaveLength(1);
  });

  test('that fails says what was tried and what to do', async () => {
    const problem = await problemOf(open().connect(target({ user: 'nobody-here' })));
    expect(problem).toMatchObject({
      code: 'ssh.auth',
      host: 'box',
      seen: `tried key ${sshd.clientKeyFile}`,
      next: expect.stringContaining(
        `ssh-copy-id -i ${sshd.clientKeyFile} -p ${sshd.port} nobody-here@127.0.0.1`,
      ) as string,
    });
  });

  test('by key and keyboard-interactive together; people are asked one host at a time', async () => {
    const server = await startSshd({
      users: [{ name: 'two', password }],
      config: ['UsePAM yes', 'AuthenticationMethods publickey,keyboard-interactive'],
      pam: ['auth required pam_unix.so', 'account required pam_permit.so', 'session required pam_permit.so'],
    });
    onTestFinished(() => server.stop());
    let open_ = 0;
    let most = 0;
    const transport = open({
      answer: async () => {
        open_ += 1;
        most = Math.max(most, open_);
        await new Promise((resolve) => void setTimeout(resolve, 50));
        open_ -= 1;
        return password;
      },
    });
    const spec = { user: 'two', port: server.port, identityFile: server.clientKeyFile };
    expect(await Promise.all([whoami(transport, spec), whoami(transport, spec)])).toEqual(['two', 'two']);
    expect(transport.questions).toHaveLength(2);
    expect(transport.questions[0]?.text).toContain('two@127.0.0.1');
    expect(most).toBe(1);
  });
});

test.each(['password,publickey', 'publickey,password'])(
  'a host with AuthenticationMethods %s is logged in to, within few attempts',
  async (methods) => {
    const strict = await startSshd({
      users: [{ name: 'both', password }],
      config: [`AuthenticationMethods ${methods}`, 'MaxAuthTries 2', 'KbdInteractiveAuthentication no'],
    });
    onTestFinished(() => strict.stop());
    const agent = await startAgent(strict.folder);
    try {
      agent.add(strict.clientKeyFile);
      const spec = { port: strict.port, user: 'both', loginPassword: { env: password } };
      const of = (env: Record<string, string>, identityFile: string) =>
        whoami(open({ env }), { ...spec, identityFile });
      expect(await of({}, strict.clientKeyFile)).toBe('both');
      expect(await of({ SSH_AUTH_SOCK: agent.socket }, `${strict.clientKeyFile}.pub`)).toBe('both');
    } finally {
      agent.stop();
    }
  },
);

describe('a fleet with second factors', () => {
  test('is asked once a host, and who waits for the person is not dropped by its sshd', async () => {
    const server = await startSshd({
      listen: '0.0.0.0',
      users: [{ name: 'two', password }],
      // An sshd disconnects clients that have not logged in by then; OpenSSH's own value is two minutes.
      config: ['UsePAM yes', 'AuthenticationMethods publickey,keyboard-interactive', 'LoginGraceTime 10'],
      pam: ['auth required pam_unix.so', 'account required pam_permit.so', 'session required pam_permit.so'],
    });
    onTestFinished(() => server.stop());
    // The last host's turn comes when its sshd would long have closed the connection.
    const thinking = 3000;
    const transport = open({
      answer: () => new Promise((resolve) => void setTimeout(() => resolve(password), thinking)),
    });
    const hosts = [1, 2, 3, 4, 5].map((index) => ({
      name: `h${index}`,
      ssh: sshSpec({
        address: `127.0.3.${index}`,
        port: server.port,
        user: 'two',
        identityFile: server.clientKeyFile,
      }),
    }));
    const sessions = await Promise.all(hosts.map((host) => transport.connect(host)));
    expect(sessions).toHaveLength(hosts.length);
    expect(transport.questions.map(({ host }) => host).sort()).toEqual(hosts.map(({ name }) => name));
  });
});

describe('the system ssh as transport', () => {
  test('runs scripts, becomes root, uploads', async () => {
    const transport = open({ config: 'Host *\n' });
    const session = await transport.connect(target({ transport: 'openssh', user: 'root' }));
    const result = await session.script('id -un; echo oops >&2; exit 3');
    expect(result).toMatchObject({ code: 3, stdout: 'root\n', stderr: 'oops\n' });
    const path = join(sshd.folder, 'uploaded');
    expect(await session.upload({ bytes: Buffer.from('text') }, path, { mode: 0o600 })).toBe(true);
    expect(readFileSync(path, 'utf8')).toBe('text');
    await session.close();
    expect(session.closed.aborted).toBe(true);
  });

  test('logs in with a certificate, which the built-in client cannot', async () => {
    const ca = join(sshd.folder, 'ca');
    const key = join(sshd.folder, 'certified');
    for (const file of [ca, key]) execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', file]);
    execFileSync('ssh-keygen', ['-q', '-s', ca, '-I', 'ann', '-n', 'ann', `${key}.pub`]);
    const server = await startSshd({ users: [{ name: 'ann' }], config: [`TrustedUserCAKeys ${ca}.pub`] });
    onTestFinished(() => server.stop());
    const spec = { port: server.port, identityFile: key };
    expect((await problemOf(open().connect(target(spec)))).code).toBe('ssh.auth');
    expect(await whoami(open(), { ...spec, transport: 'openssh' })).toBe('ann');
    const elsewhere = join(sshd.folder, 'ann.cert');
    execFileSync('mv', [`${key}-cert.pub`, elsewhere]);
    expect((await problemOf(open().connect(target({ ...spec, transport: 'openssh' })))).code).toBe(
      'ssh.auth',
    );
    const named = open({ config: `CertificateFile ${elsewhere}\n` });
    expect(await whoami(named, { ...spec, transport: 'openssh' })).toBe('ann');
  });

  test('reports its failures as the built-in client does', async () => {
    const refused = await problemOf(open().connect(target({ transport: 'openssh', port: 1 })));
    expect(refused).toMatchObject({ code: 'ssh.refused', host: 'box' });
    const denied = await problemOf(open().connect(target({ transport: 'openssh', user: 'nobody-here' })));
    expect(denied).toMatchObject({ code: 'ssh.auth', host: 'box' });
    const pin = {
      hostKeys: [readFileSync(`${sshd.clientKeyFile}.pub`, 'utf8').split(' ').slice(0, 2).join(' ')],
    };
    const pinned = await problemOf(open().connect(target({ transport: 'openssh', ...pin })));
    expect(pinned).toMatchObject({ code: 'ssh.host-key-mismatch', host: 'box' });
    expect(await whoami(open(), { transport: 'openssh', hostKeys: [sshd.hostKey] })).toBe('ann');
  });
});
