import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import type { SshSpec } from '../../../../../src/fleet/inventory/fleet.ts';
import type { Question } from '../../../../../src/fleet/ssh/questions.ts';
import { makeKey, type OwnSshd, publicKey, startOwnSshd } from '../../../../support/own-sshd.ts';
import { problemOf, testTransport } from '../../../../support/transport.ts';

// What becomes of a host's key at a real connection.

let sshd: OwnSshd;
let other: string;
let name: string;
beforeAll(async () => {
  sshd = await startOwnSshd();
  other = publicKey(makeKey(join(sshd.folder, 'other')));
  name = `[127.0.0.1]:${sshd.port}`;
});
afterAll(() => sshd.stop());

/** `ok` and what is on file afterwards, or the problem. */
async function attempt(
  knownHosts: string | undefined,
  spec: Partial<SshSpec> = {},
  config = '',
  answer?: (question: Question) => string,
) {
  const transport = testTransport({ config, ...(answer === undefined ? {} : { answer }) });
  const file = join(transport.home, '.ssh/known_hosts');
  if (knownHosts !== undefined) writeFileSync(file, knownHosts);
  try {
    const problem = await transport.connect(sshd.target(spec)).then(
      () => undefined,
      (error: unknown) => problemOf(Promise.reject(error as Error)),
    );
    const filed = existsSync(file) ? readFileSync(file, 'utf8') : undefined;
    return { code: problem?.code ?? 'ok', problem, filed, notices: transport.notices };
  } finally {
    await transport.close();
  }
}

describe('an unknown key', () => {
  test('is stored and reported, and known the next time', async () => {
    const first = await attempt(undefined);
    expect(first.code).toBe('ok');
    expect(first.filed).toBe(`${name} ${sshd.hostKey}\n`);
    const again = await attempt(first.filed);
    expect([again.code, again.filed, again.notices]).toEqual(['ok', first.filed, []]);
  });

  test('is stored with a hashed name if ssh_config requires it', async () => {
    const { filed = '' } = await attempt(undefined, {}, 'HashKnownHosts yes\n');
    expect(filed).toMatch(/^\|1\|\S+\|\S+ ssh-ed25519 /);
    expect((await attempt(filed)).notices).toEqual([]);
  });

  test('is refused with the strict policy, and not stored', async () => {
    const refused = await attempt('', { hostKeyPolicy: 'strict' });
    expect(refused).toMatchObject({ code: 'ssh.host-key-unknown', filed: '' });
    expect(refused.problem?.next).toContain('azp-fleet trust --limit box');
  });

  test('of many logins at once is stored once', async () => {
    const transport = testTransport();
    await Promise.all(
      Array.from({ length: 8 }, (_, index) => transport.connect(sshd.target({}, `h${index}`))),
    );
    const lines = readFileSync(join(transport.home, '.ssh/known_hosts'), 'utf8').trim().split('\n');
    expect(lines).toEqual([`${name} ${sshd.hostKey}`]);
    await transport.close();
  });
});

describe('a new key with StrictHostKeyChecking ask', () => {
  const ask = 'StrictHostKeyChecking ask\n';
  test('is refused without a terminal, and not stored', async () => {
    const refused = await attempt('', {}, ask);
    expect(refused).toMatchObject({ code: 'ssh.host-key-unknown', filed: '' });
    expect(refused.problem?.what).toContain('it was not accepted (StrictHostKeyChecking ask)');
  });

  test.each([
    ['yes', () => 'yes', 'ok'],
    ['its fingerprint', (text: string) => /SHA256:\S+(?=\. )/.exec(text)?.[0] ?? '', 'ok'],
    ['no', () => 'no', 'ssh.host-key-unknown'],
    ['nothing', () => '', 'ssh.host-key-unknown'],
    ['another fingerprint', () => `SHA256:${'A'.repeat(43)}`, 'ssh.host-key-unknown'],
  ])('is a question; the answer is %s', async (_, answer, code) => {
    const questions: string[] = [];
    const asked = await attempt('', {}, ask, ({ text, hidden }) => {
      expect(hidden).toBe(false);
      questions.push(text);
      return answer(text);
    });
    expect(asked.code).toBe(code);
    expect(questions).toEqual([
      expect.stringMatching(/^\S+@127\.0\.0\.1:\d+ shows a new host key, ssh-ed25519 SHA256:\S+\. Accept it/),
    ]);
    expect(asked.filed).toBe(code === 'ok' ? `${name} ${sshd.hostKey}\n` : '');
  });

  test('is not asked about if it is stored', async () => {
    expect((await attempt(`${name} ${sshd.hostKey}\n`, {}, ask)).code).toBe('ok');
  });
});

describe('a key that differs from the stored one', () => {
  test('is refused; the next action is a working command', async () => {
    const { code, problem, filed } = await attempt(`${name} ${other}\n`);
    expect([code, filed]).toEqual(['ssh.host-key-mismatch', `${name} ${other}\n`]);
    expect(problem?.expected).toMatch(/^ssh-ed25519 at \S+known_hosts:1$/);
    const remedy = /ssh-keygen -f .*$/.exec(problem?.next ?? '')?.[0] ?? 'false';
    execFileSync('sh', ['-c', remedy], { stdio: 'ignore' });
    const file = /at (\S+):1$/.exec(problem?.expected ?? '')?.[1] ?? '';
    expect(readFileSync(file, 'utf8')).toBe('');
  });

  test.each<[string, () => string, string]>([
    ['is revoked', () => `@revoked ${name} ${sshd.hostKey}\n`, 'ssh.host-key-revoked'],
    ['should come with a certificate', () => `@cert-authority * ${other}\n`, 'ssh.host-certificate'],
  ])('… that %s', async (_, knownHosts, code) => {
    expect((await attempt(knownHosts())).code).toBe(code);
  });

  test('is found under the bare name on any port, and under its alias', async () => {
    expect((await attempt(`127.0.0.1 ${sshd.hostKey}\n`)).notices).toEqual([]);
    expect((await attempt(`the-box ${other}\n`, {}, 'HostKeyAlias the-box\n')).code).toBe(
      'ssh.host-key-mismatch',
    );
  });
});

describe('a pinned key', () => {
  test('is the only accepted key, given as key or fingerprint', async () => {
    const fingerprint = execFileSync('ssh-keygen', ['-lf', `${sshd.hostKeyFile}.pub`], { encoding: 'utf8' });
    const onFile = `${name} ${other}\n`;
    expect((await attempt(onFile, { hostKeys: [sshd.hostKey] })).code).toBe('ok');
    expect((await attempt(onFile, { hostKeys: [fingerprint.split(' ')[1] ?? ''] })).code).toBe('ok');
    const refused = await attempt(`${name} ${sshd.hostKey}\n`, { hostKeys: [other] });
    expect(refused).toMatchObject({ code: 'ssh.host-key-mismatch', notices: [] });
    expect(refused.problem?.expected).toBe(other);
  });
});
