// Becoming root through sudo on a real sshd; sudo itself is a stand-in that speaks like it.
import { writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import type { SshSpec } from '../../../../src/inventory/fleet.ts';
import type { Session } from '../../../../src/ssh/transport.ts';
import { type OwnSshd, startOwnSshd } from '../../../support/own-sshd.ts';
import { ownSudo } from '../../../support/own-sudo.ts';
import { problemOf, testTransport, type TestTransport } from '../../../support/transport.ts';

const password = "it's a 'secret'";
let sshd: OwnSshd;
let bare: OwnSshd;
beforeAll(async () => {
  [sshd, bare] = await Promise.all([
    startOwnSshd({ programs: ownSudo }),
    startOwnSshd({ programs: { id: ownSudo.id, command: 'exit 1\n' } }),
  ]);
});
afterAll(() => Promise.all([sshd.stop(), bare.stop()]));

async function session(
  wants: string,
  spec: Partial<SshSpec> = {},
  transport: TestTransport = testTransport(),
): Promise<Session> {
  writeFileSync(sshd.path('sudo'), wants);
  return transport.connect(sshd.target(spec));
}

/** Who a script counts as: sudo leaves its mark. */
const who = 'echo "${SUDO_UID:-nobody}"; cat';

describe('sudo', () => {
  test('without a password: it gets none, and nothing of one is run', async () => {
    const free = await session('free', { sudoPassword: { env: 'echo SECRET' } });
    expect(await free.script(who)).toMatchObject({ stdout: '1000\n', stderr: '' });
    expect(await free.script(who)).toMatchObject({ stdout: '1000\n', stderr: '' });
    await free.close();
  });

  test('with a password by reference, at every script', async () => {
    const asked = await session(password, { sudoPassword: { env: password } });
    expect((await asked.script(who)).stdout).toBe('1000\n');
    expect((await asked.script(who)).stdout).toBe('1000\n');
    expect((await asked.script(who, { as: 'login' })).stdout).toBe('nobody\n');
    await asked.close();
  });

  test('that no longer asks is not given the password as if it did', async () => {
    const asked = await session(password, { sudoPassword: { env: password } });
    await asked.script(who);
    writeFileSync(sshd.path('sudo'), 'free');
    expect((await asked.script(who)).stdout).toBe('1000\n');
    await asked.close();
  });

  test('with a password that is asked for once, however many hosts want it', async () => {
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
    ['a password that nobody can be asked for', password, {}, 'ssh.sudo-password-needed'],
    ['a terminal', 'tty', {}, 'ssh.sudo-tty'],
    ['another user', 'outsider', { sudoPassword: { env: password } }, 'ssh.not-in-sudoers'],
  ])('that wants %s is an error of its own, and no password is told', async (_, wants, spec, code) => {
    const box = await session(wants, spec);
    const problem = await problemOf(box.script('true'));
    expect(problem).toMatchObject({ code, host: 'box', step: 'sudo' });
    expect(problem.next).toBeTruthy();
    expect(JSON.stringify(problem)).not.toContain(password);
    await box.close();
  });
});
