import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';

import type { SshSpec } from '../../../../../src/fleet/inventory/fleet.ts';
import {
  PromptTurn,
  PromptQueue,
  HungUp,
  serverQuestion,
} from '../../../../../src/fleet/ssh/connect/authentication.ts';
import { hostileHost } from '../../../../support/hostile-host.ts';
import { makeKey, type OwnSshd, publicKey, startOwnSshd } from '../../../../support/own-sshd.ts';
import { startAgent } from '../../../../support/ssh-agent.ts';
import { stagedHost } from '../../../../support/staged-host.ts';
import { problemOf, sshSpec, type TestTransport, testTransport } from '../../../../support/transport.ts';

// Logging in to a real sshd by keys and agents. Passwords and second factors are asked for by servers in this process
// (test/unit/cli/hostile-login.test.ts): an sshd without rights cannot check those of the system.

let sshd: OwnSshd;
beforeAll(async () => {
  sshd = await startOwnSshd({ config: ['MaxAuthTries 3'] });
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
async function logIn(transport: TestTransport, spec: Partial<SshSpec> = {}): Promise<string> {
  const session = await transport.connect(sshd.target(spec));
  return (await session.script('echo in', { as: 'login' })).stdout;
}

describe('a key file', () => {
  test('logs in', async () => {
    expect(await logIn(open())).toBe('in\n');
  });

  test('that is encrypted is asked about once for all hosts, and again after a wrong answer', async () => {
    const locked = join(sshd.folder, 'locked');
    copyFileSync(sshd.clientKeyFile, locked);
    execFileSync('ssh-keygen', ['-q', '-p', '-P', '', '-N', 'open sesame', '-f', locked]);
    const answers = ['wrong', 'open sesame'];
    const transport = open({ answer: () => answers.shift() ?? '' });
    const spec = { identityFile: locked };
    expect(await Promise.all([logIn(transport, spec), logIn(transport, spec)])).toEqual(['in\n', 'in\n']);
    expect(transport.questions.map(({ text }) => text)).toEqual([
      `Passphrase for ${locked}:`,
      `Passphrase for ${locked} (the last one was wrong):`,
    ]);
    const refused = await problemOf(open().connect(sshd.target(spec)));
    expect(refused).toMatchObject({
      code: 'ssh.auth',
      seen: expect.stringContaining('nothing to offer') as string,
    });
  });

  test.each([
    ['is not there', undefined, 'no such file'],
    ['is no key', 'not a key\n', 'Unsupported key format'],
    [
      'is the public half',
      'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ6l3x5Fv3C1Kq8x0VvQm0eWb4Yk1mZx0g8mO8fC2b1N\n',
      'a public key',
    ],
  ])('that %s is not offered', async (what, text, leftOut) => {
    const file = join(sshd.folder, what.replaceAll(' ', '-'));
    if (text !== undefined) writeFileSync(file, text, { mode: 0o600 });
    expect(await problemOf(open().connect(sshd.target({ identityFile: file })))).toMatchObject({
      code: 'ssh.auth',
      what: expect.stringContaining('accepted no credential') as string,
      seen: `nothing to offer; not offered: key ${file} (${leftOut})`,
    });
  });

  test('that other users can read is not offered, as with ssh, and the error has the fix', async () => {
    const file = makeKey(join(sshd.folder, 'open-to-others'));
    copyFileSync(sshd.clientKeyFile, file);
    chmodSync(file, 0o640);
    expect(await problemOf(open().connect(sshd.target({ identityFile: file })))).toMatchObject({
      code: 'ssh.auth',
      seen: `nothing to offer; not offered: key ${file} (readable by other users)`,
      next: `chmod 600 ${file}`,
    });
    chmodSync(file, 0o600);
    expect(await logIn(open(), { identityFile: file })).toBe('in\n');
  });

  test('that the host does not accept is reported, with the command that installs it', async () => {
    const file = makeKey(join(sshd.folder, 'unknown'));
    expect(await problemOf(open().connect(sshd.target({ identityFile: file })))).toMatchObject({
      code: 'ssh.auth',
      host: 'box',
      seen: `tried key ${file}`,
      next: expect.stringContaining(
        `then: ssh-copy-id -i ${file} -p ${sshd.port} ${sshd.user}@127.0.0.1`,
      ) as string,
    });
  });
});

describe('an agent', () => {
  test('offers the named key first, and only that key with IdentitiesOnly', async () => {
    const agent = await startAgent(sshd.folder);
    try {
      const others = Array.from({ length: 19 }, (_, index) => makeKey(join(sshd.folder, `held${index}`)));
      for (const file of others) agent.add(file);
      agent.add(sshd.clientKeyFile);
      const env = { SSH_AUTH_SOCK: agent.socket };
      // MaxAuthTries is 3 here, and the right key the agent's twentieth.
      expect(await logIn(open({ env }), { identityFile: `${sshd.clientKeyFile}.pub` })).toBe('in\n');
      const config = 'IdentitiesOnly yes\n';
      const refused = open({ env, config }).connect(sshd.target({ identityFile: others[0] ?? '' }));
      expect(await problemOf(refused)).toMatchObject({
        code: 'ssh.auth',
        seen: `tried key ${others[0]} (of the agent)`,
      });
      // Without a named key, none of the agent is offered.
      const none = open({ env, config }).connect(sshd.target({ identityFile: join(sshd.folder, 'none') }));
      expect((await problemOf(none)).seen).toMatch(/^nothing to offer; /);
    } finally {
      agent.stop();
    }
  });

  test('that does not answer is ignored', async () => {
    const env = { SSH_AUTH_SOCK: join(sshd.folder, 'missing.sock') };
    expect(await logIn(open({ env }))).toBe('in\n');
  });
});

test('a configured password is not sent to a host that accepts only keys', async () => {
  const spec = { identityFile: '/nonexistent', loginPassword: { env: 'a password' } };
  expect(await problemOf(open().connect(sshd.target(spec)))).toMatchObject({
    code: 'ssh.auth',
    seen: 'tried keyboard-interactive; not offered: key /nonexistent (no such file)',
  });
  expect(sshd.log()).not.toMatch(/Failed password/);
});

describe('a host that wants several credentials', () => {
  const hosts: { close(): unknown }[] = [];
  afterEach(async () => {
    await Promise.all(hosts.splice(0).map((host) => host.close()));
  });
  async function wanting(...stages: Parameters<typeof stagedHost>): Promise<number> {
    const host = await stagedHost(...stages);
    hosts.push(host);
    return host.port;
  }
  const password = { loginPassword: { env: 'secret' } };
  const keyPair = (name: string): string => makeKey(join(sshd.folder, name));

  test('gets a password, then a key', async () => {
    const wants = ['password', 'publickey'] as const;
    const port = await wanting({ wants, keys: [publicKey(sshd.clientKeyFile)] });
    const session = await open().connect(sshd.target({ port, ...password }));
    expect(session.closed.aborted).toBe(false);
  });

  test('gets a key, then a password', async () => {
    const wants = ['publickey', 'password'] as const;
    const port = await wanting({ wants, keys: [publicKey(sshd.clientKeyFile)] });
    const session = await open().connect(sshd.target({ port, ...password }));
    expect(session.closed.aborted).toBe(false);
  });

  test('gets a key of an agent, then the answers to two prompts', async () => {
    const agent = await startAgent(sshd.folder);
    hosts.push({ close: () => agent.stop() });
    agent.add(sshd.clientKeyFile);
    for (const name of ['agent1', 'agent2', 'agent3']) agent.add(keyPair(name));
    const wants = ['publickey', 'keyboard-interactive'] as const;
    // Of the agent's other keys none may be tried where a password is wanted.
    const port = await wanting({ wants, keys: [publicKey(sshd.clientKeyFile)], maxAuthTries: 1 });
    const transport = open({ env: { SSH_AUTH_SOCK: agent.socket }, answer: () => '123456' });
    const session = await transport.connect(sshd.target({ port, ...password }));
    expect(session.closed.aborted).toBe(false);
    expect(transport.questions.map(({ said }) => said)).toEqual(['Code:']);
  });

  test('is not offered a key again that it has refused before others were tried', async () => {
    const agent = await startAgent(sshd.folder);
    hosts.push({ close: () => agent.stop() });
    const [wrong, first, second] = ['wrong', 'first', 'second'].map(keyPair);
    for (const key of [wrong, first, second]) agent.add(key ?? '');
    const keys = [first, second].map((key) => publicKey(key ?? ''));
    const port = await wanting({ wants: ['publickey', 'publickey'], keys, maxAuthTries: 2 });
    const spec = { port, identityFile: '/nonexistent' };
    const session = await open({ env: { SSH_AUTH_SOCK: agent.socket } }).connect(sshd.target(spec));
    expect(session.closed.aborted).toBe(false);
  });

  test('without end is refused', async () => {
    const asked: string[] = [];
    const wants = Array.from({ length: 1000 }, () => 'password' as const);
    const port = await wanting({ wants, onRequest: (method) => asked.push(method) });
    const spec = { port, identityFile: '/nonexistent', ...password };
    const transport = open({ config: 'NumberOfPasswordPrompts 100\n' });
    expect(await problemOf(transport.connect(sshd.target(spec)))).toMatchObject({ code: 'ssh.auth' });
    expect(asked.filter((method) => method === 'password')).toHaveLength(8);
  });

  test('is offered no more passwords in all stages than NumberOfPasswordPrompts', async () => {
    const asked: string[] = [];
    const wants = ['password', 'publickey', 'password'] as const;
    const keys = [publicKey(sshd.clientKeyFile)];
    const port = await wanting({ wants, keys, onRequest: (method) => asked.push(method) });
    const limited = open({ config: 'NumberOfPasswordPrompts 1\n' });
    expect(await problemOf(limited.connect(sshd.target({ port, ...password })))).toMatchObject({
      code: 'ssh.auth',
      expected: 'password',
    });
    expect(asked.filter((method) => method === 'password')).toHaveLength(1);
    const session = await open().connect(sshd.target({ port, ...password }));
    expect(session.closed.aborted).toBe(false);
  });

  test('that is sshd gets two keys', async () => {
    const config = ['AuthenticationMethods publickey,publickey', 'AuthorizedKeysFile FOLDER/both'];
    const strict = await startOwnSshd({ config: [...config, 'MaxAuthTries 2'] });
    hosts.push({ close: () => strict.stop() });
    const other = makeKey(join(strict.folder, 'other'));
    const keys = [strict.clientKeyFile, other].map((key) => `${publicKey(key)}\n`);
    writeFileSync(join(strict.folder, 'both'), keys.join(''));
    const session = await open({ config: `IdentityFile ${other}\n` }).connect(strict.target());
    expect((await session.script('echo in', { as: 'login' })).stdout).toBe('in\n');
    expect(await problemOf(open().connect(strict.target()))).toMatchObject({
      code: 'ssh.auth',
      what: `${strict.user}@127.0.0.1:${strict.port} accepted one credential, and wants another`,
      expected: 'publickey',
    });
  });

  test('and one of them is missing: the error names it', async () => {
    const wants = ['publickey', 'password'] as const;
    const port = await wanting({ wants, keys: [publicKey(sshd.clientKeyFile)] });
    expect(await problemOf(open().connect(sshd.target({ port })))).toMatchObject({
      code: 'ssh.auth',
      what: `${sshd.user}@127.0.0.1:${port} accepted one credential, and wants another`,
      expected: 'password',
      next: expect.stringContaining('"loginPassword:"') as string,
    });
  });

  test('gets them in the order of PreferredAuthentications, without a method that the configuration excludes', async () => {
    const asked: string[] = [];
    const wants = ['publickey', 'password'] as const;
    const keys = [publicKey(sshd.clientKeyFile)];
    const port = await wanting({ wants, keys, onRequest: (method) => asked.push(method) });
    const order = 'PreferredAuthentications password,publickey\n';
    await open({ config: order }).connect(sshd.target({ port, ...password }));
    expect(asked.filter((method) => method !== 'none')).toEqual([
      'password',
      'publickey',
      'publickey',
      'password',
    ]);
    asked.length = 0;
    const denied = open({ config: 'PasswordAuthentication no\n' }).connect(
      sshd.target({ port, ...password }),
    );
    expect(await problemOf(denied)).toMatchObject({
      what: expect.stringContaining('accepted one credential') as string,
      seen: expect.stringContaining('excluded by the SSH configuration: password') as string,
      next: 'allow password for this host in the SSH configuration, which excludes it',
    });
    expect(asked).not.toContain('password');
  });
});

describe('a password', () => {
  test.each([
    ['PasswordAuthentication no', 'password'],
    ['PreferredAuthentications keyboard-interactive,publickey', 'password'],
    ['NumberOfPasswordPrompts 0', 'keyboard-interactive, password'],
    ['BatchMode yes', 'keyboard-interactive, password'],
  ])('is not sent with %s', async (config, excluded) => {
    const host = await hostileHost();
    const ssh = { address: '127.0.0.1', port: host.port, user: 'lab', loginPassword: { env: 'a password' } };
    const transport = open({ config: `${config}\n`, answer: () => 'typed' });
    const problem = await problemOf(transport.connect({ name: 'box', ssh: sshSpec(ssh) }));
    host.close();
    expect(problem).toMatchObject({
      code: 'ssh.auth',
      seen: expect.stringContaining(`excluded by the SSH configuration: ${excluded}`) as string,
    });
    expect(host.methods()).not.toContain('password');
    expect(transport.questions).toEqual([]);
  });

  test('answers no question with KbdInteractiveAuthentication no', async () => {
    const host = await hostileHost({ asks: { instructions: '', prompt: 'Password:' } });
    const ssh = { address: '127.0.0.1', port: host.port, user: 'lab', loginPassword: { env: 'a password' } };
    const transport = open({ config: 'KbdInteractiveAuthentication no\n' });
    expect((await problemOf(transport.connect({ name: 'box', ssh: sshSpec(ssh) }))).code).toBe('ssh.auth');
    host.close();
    expect(host.methods()).not.toContain('keyboard-interactive');
  });
});

describe('keys that the SSH configuration excludes are not offered', () => {
  test.each([
    ['PubkeyAuthentication no', /^nothing to offer.*excluded by the SSH configuration: publickey$/],
    [
      'PubkeyAcceptedAlgorithms ecdsa-sha2-nistp256',
      /^nothing to offer; not offered: key \S+ \(ssh-ed25519 is not in PubkeyAcceptedAlgorithms\)$/,
    ],
  ])('%s', async (config, seen) => {
    const before = sshd.log().length;
    const problem = await problemOf(open({ config: `${config}\n` }).connect(sshd.target()));
    expect(problem).toMatchObject({ code: 'ssh.auth', seen: expect.stringMatching(seen) as string });
    expect(sshd.log().slice(before)).not.toMatch(/publickey/);
  });

  test('an RSA key by its length and its signature', async () => {
    const identityFile = makeKey(join(sshd.folder, 'rsa'), 'rsa');
    const seen = async (config: string) =>
      (await problemOf(open({ config: `${config}\n` }).connect(sshd.target({ identityFile })))).seen;
    expect(await seen('RequiredRSASize 4096')).toMatch(/\(RSA with 3072 bits; RequiredRSASize is 4096\)$/);
    expect(await seen('PubkeyAcceptedAlgorithms ssh-ed25519,rsa-sha2-512')).toMatch(
      /\(rsa-sha2-256 is not in PubkeyAcceptedAlgorithms\)$/,
    );
    expect(await seen('PubkeyAcceptedAlgorithms rsa-sha2-256')).toBe(`tried key ${identityFile}`);
  });

  test.each([
    ['BatchMode yes', 0],
    ['NumberOfPasswordPrompts 0', 0],
    ['NumberOfPasswordPrompts 1', 1],
    ['NumberOfPasswordPrompts 4', 4],
  ])('with %s, a passphrase is asked for %i times', async (config, times) => {
    const locked = join(sshd.folder, `locked-${config.replace(' ', '-')}`);
    copyFileSync(sshd.clientKeyFile, locked);
    execFileSync('ssh-keygen', ['-q', '-p', '-P', '', '-N', 'open sesame', '-f', locked]);
    const transport = open({ config: `${config}\n`, answer: () => 'wrong' });
    const problem = await problemOf(transport.connect(sshd.target({ identityFile: locked })));
    expect(problem.seen).toContain(`not offered: key ${locked} (needs a passphrase)`);
    expect(transport.questions).toHaveLength(times);
  });
});

test('two questions of one host are asked together; another host disconnects and retries later', async () => {
  const queue = new PromptQueue();
  const asked: string[] = [];
  const hangUps: string[] = [];
  const login = async (host: string): Promise<void> => {
    const turn = new PromptTurn(queue);
    for (;;) {
      try {
        for (const question of ['password', 'code']) {
          turn.begin();
          asked.push(`${host} ${question}`);
          await Promise.resolve();
        }
        return turn.end();
      } catch (error) {
        if (!(error instanceof HungUp)) throw error;
        hangUps.push(host);
      }
      await turn.wait();
    }
  };
  await Promise.all(['a', 'b', 'c'].map(login));
  expect(asked).toEqual(['a password', 'a code', 'b password', 'b code', 'c password', 'c code']);
  expect(hangUps).toEqual(['b', 'c']);
});

test('after a host that fails, the next host in the queue asks', async () => {
  const queue = new PromptQueue();
  const [first, second] = [new PromptTurn(queue), new PromptTurn(queue)];
  first.begin();
  const turn = second.wait();
  first.end();
  await turn;
  expect(() => second.begin()).not.toThrow();
  second.end();
  expect(queue.take()).toBe(true);
});

test('a jump host asks at once, because the host that is asking may be waiting for it', () => {
  const queue = new PromptQueue();
  new PromptTurn(queue).begin();
  const hop = new PromptTurn(undefined);
  expect(() => hop.begin()).not.toThrow();
});

const options = { name: 'gpu-1', user: 'ann', hostname: '192.0.2.7', port: 2222 };

test.each([
  ['', 'Password: ', 'Password:'],
  ['Two factors\n', 'Code:', 'Two factors\nCode:'],
  ['', '\u001b[2K\rSudo password for prod-bastion:', 'Sudo password for prod-bastion:'],
  ['', `${' '.repeat(200)}root@prod: password`, 'root@prod: password'],
  ['', `${'\u2800'.repeat(200)}root@prod: password`, 'root@prod: password'],
  ['', 'a\n\nroot@prod: password', 'a root@prod: password'],
  ['', '', ''],
])('%j, %j', (instructions, prompt, said) => {
  expect(serverQuestion(options, instructions, { prompt })).toEqual({
    host: 'gpu-1',
    text: 'ann@192.0.2.7:2222 asks, in its own words:',
    said,
    hidden: true,
  });
});

test('the answer is shown only if the host requests it', () => {
  expect(serverQuestion(options, '', { prompt: 'Name:', echo: true }).hidden).toBe(false);
  expect(serverQuestion(options, '', { prompt: 'Name:', echo: false }).hidden).toBe(true);
});

test('our own text is on a separate line, and lines and words have a limit', () => {
  const text = fc.string({ unit: 'binary', maxLength: 50 }).map((said) => `${said}\n`.repeat(90));
  fc.assert(
    fc.property(text, text, (instructions, prompt) => {
      const question = serverQuestion(options, instructions, { prompt });
      expect(question.text).toBe('ann@192.0.2.7:2222 asks, in its own words:');
      expect(question.said?.split('\n').length).toBeLessThanOrEqual(22);
      expect(question.said?.length).toBeLessThanOrEqual(2400);
    }),
  );
});
