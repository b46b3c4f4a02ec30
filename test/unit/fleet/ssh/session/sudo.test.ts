// Becoming root through sudo: real shells run our commands, sudo itself is a stand-in that speaks like it.
import { writeFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';

import type { SshSpec } from '../../../../../src/fleet/inventory/fleet.ts';
import type { Session } from '../../../../../src/fleet/ssh/transport.ts';
import { anyUserHost, type AnyUserHost } from '../../../../support/any-user-host.ts';
import { hostileHost, type HostileHost } from '../../../../support/hostile-host.ts';
import { ownSudo } from '../../../../support/own-sudo.ts';
import { problemOf, sshSpec, testTransport, type TestTransport } from '../../../../support/transport.ts';

const password = "it's a 'secret'";
let real: AnyUserHost;
beforeAll(async () => {
  real = await anyUserHost(ownSudo);
});
afterAll(() => real.close());

const target = (port: number, spec: Partial<SshSpec>) => ({
  name: 'box',
  ssh: sshSpec({ address: '127.0.0.1', port, user: 'ann', loginPassword: { env: 'word' }, ...spec }),
});

async function session(
  wants: string,
  spec: Partial<SshSpec> = {},
  transport: TestTransport = testTransport(),
): Promise<Session> {
  writeFileSync(real.path('sudo'), wants);
  return transport.connect(target(real.port, spec));
}

/** Who a script counts as: sudo leaves its mark. */
const who = 'echo "${SUDO_UID:-nobody}"; cat';

describe('sudo', () => {
  test('without a password it gets none, and no password command is run', async () => {
    const free = await session('free', { sudoPassword: { env: 'echo SECRET' } });
    expect(await free.script(who)).toMatchObject({ stdout: '1000\n', stderr: '' });
    expect(await free.script(who)).toMatchObject({ stdout: '1000\n', stderr: '' });
    await free.close();
  });

  test('with a password by reference, for every script', async () => {
    const asked = await session(password, { sudoPassword: { env: password } });
    expect((await asked.script(who)).stdout).toBe('1000\n');
    expect((await asked.script(who)).stdout).toBe('1000\n');
    expect((await asked.script(who, { as: 'login' })).stdout).toBe('nobody\n');
    await asked.close();
  });

  test('that no longer asks gets no password', async () => {
    const asked = await session(password, { sudoPassword: { env: password } });
    await asked.script(who);
    writeFileSync(real.path('sudo'), 'free');
    expect((await asked.script(who)).stdout).toBe('1000\n');
    await asked.close();
  });

  test('with a password asked once for all hosts', async () => {
    const transport = testTransport({ answer: () => password });
    const two = [await session(password, {}, transport), await session(password, {}, transport)];
    const said = await Promise.all(two.map((each) => each.script(who)));
    expect(said.map(({ stdout }) => stdout)).toEqual(['1000\n', '1000\n']);
    expect(transport.questions.map(({ text }) => text)).toEqual([
      expect.stringContaining('sudo password of'),
    ]);
    await transport.close();
  });

  test.each([
    ['another password', password, { sudoPassword: { env: 'wrong' } }, 'ssh.sudo-wrong-password'],
    ['a password, without a terminal to ask on', password, {}, 'ssh.sudo-password-needed'],
    ['a terminal', 'tty', {}, 'ssh.sudo-tty'],
    ['another user', 'outsider', { sudoPassword: { env: password } }, 'ssh.not-in-sudoers'],
  ])('that requires %s has its own error, which contains no password', async (_, wants, spec, code) => {
    const box = await session(wants, spec);
    const problem = await problemOf(box.script('true'));
    expect(problem).toMatchObject({ code, host: 'box', step: 'sudo' });
    expect(problem.next).toBeTruthy();
    expect(JSON.stringify(problem)).not.toContain(password);
    await box.close();
  });
});

describe('a host that asks for the sudo password although sudo is not run', () => {
  let host: HostileHost;
  afterEach(() => host.close());

  test.each([
    ['a login as root', { user: 'root' }, 'root'],
    ['a script for the login user', { user: 'ann' }, 'login'],
    ['both', { user: 'root' }, 'login'],
  ] as const)('%s: it gets none, the user is not asked, and the error reports it', async (_, spec, as) => {
    host = await hostileHost({ wantsSudo: true });
    const transport = testTransport({ answer: () => password });
    for (const given of [{}, { sudoPassword: { env: password } }]) {
      const session = await transport.connect(target(host.port, { ...spec, ...given }));
      const problem = await problemOf(session.script('true', { as }));
      expect(problem).toMatchObject({ code: 'ssh.sudo-not-run', host: 'box', step: 'sudo' });
      expect(problem.next).toBeTruthy();
    }
    expect(transport.questions).toEqual([]);
    expect(host.heard()).toBe('');
    await transport.close();
  });

  test('a script as root, after sudo needed no password: it gets none', async () => {
    let asks = false;
    host = await hostileHost({ wantsSudo: () => asks, ready: 'sudo' });
    const transport = testTransport();
    const session = await transport.connect(target(host.port, { sudoPassword: { env: password } }));
    await session.script('true');
    asks = true;
    expect(await problemOf(session.script('true'))).toMatchObject({ code: 'ssh.sudo-not-run' });
    expect(host.heard()).not.toContain(password);
    await transport.close();
  });

  test('a script as root by another user: sudo asks and gets it', async () => {
    host = await hostileHost({ wantsSudo: true });
    const transport = testTransport();
    const session = await transport.connect(target(host.port, { sudoPassword: { env: password } }));
    await session.script('true');
    expect(host.heard()).toContain(password);
    await transport.close();
  });
});
