import ssh2, { type ParsedKey } from 'ssh2';
import { expect, test } from 'vitest';

import { buildOptions, noConfig } from '../../../../../src/fleet/ssh/config/options.ts';
import { OneKeyAgent } from '../../../../../src/fleet/ssh/connect/agent.ts';
import { HostKeyStore, hostKeyOf } from '../../../../../src/fleet/ssh/connect/host-keys.ts';
import {
  rsaBits,
  signatureFault,
  withAllowedSignature,
} from '../../../../../src/fleet/ssh/connect/key-rules.ts';
import { sshKeyPair } from '../../../../support/ssh-key.ts';
import { problemOf, sshSpec } from '../../../../support/transport.ts';

/** A public key of RSA with a modulus of this many bits. */
function rsaBlob(bits: number): Buffer {
  const modulus = Buffer.from(
    (1n << BigInt(bits - 1)).toString(16).padStart(Math.ceil(bits / 8) * 2, '0'),
    'hex',
  );
  const positive = bits % 8 === 0 ? Buffer.concat([Buffer.from([0]), modulus]) : modulus;
  const parts = [Buffer.from('ssh-rsa'), Buffer.from([1, 0, 1]), positive];
  return Buffer.concat(
    parts.flatMap((part) => {
      const length = Buffer.alloc(4);
      length.writeUInt32BE(part.length);
      return [length, part];
    }),
  );
}

test.each([1023, 1024, 2047, 2048, 3072])('the length of an RSA key: %i bits', (bits) => {
  expect(rsaBits(rsaBlob(bits))).toBe(bits);
});

test('another type of key, and a damaged one, have no length', () => {
  const ed25519 = ssh2.utils.parseKey(sshKeyPair().public) as ParsedKey;
  expect(rsaBits(ed25519.getPublicSSH())).toBeUndefined();
  expect(rsaBits(rsaBlob(2048).subarray(0, 12))).toBeUndefined();
});

test('a host key that is shorter than RequiredRSASize is refused, also if it is pinned', async () => {
  const local = { home: '/home/ann', user: 'ann', uid: 1000, host: 'laptop', env: {} };
  const key = hostKeyOf(rsaBlob(2048));
  const pinned = sshSpec({ address: '192.0.2.7', hostKeys: [key.fingerprint] });
  const plain = buildOptions('box', pinned, noConfig, local);
  const check = (minimumRsaBits: number) =>
    new HostKeyStore().check({ ...plain, login: { ...plain.login, minimumRsaBits } }, [], key, () =>
      Promise.resolve(false),
    );
  expect(await check(2048)).toBeUndefined();
  expect(await problemOf(check(3072))).toMatchObject({
    code: 'ssh.host-key-short',
    host: 'box',
    expected: 'at least 3072 bits (RequiredRSASize)',
    seen: expect.stringContaining('with 2048 bits') as string,
  });
});

test.each([
  ['sha256', true],
  ['sha512', false],
  ['sha1', false],
  [undefined, false],
])('an RSA key signs only as PubkeyAcceptedAlgorithms has it: %s', (hash, isAllowed) => {
  const rules = { keyAlgorithms: ['rsa-sha2-256'], minimumRsaBits: 1024 };
  const key = { type: 'ssh-rsa', sign: () => Buffer.from('signature') } as unknown as ParsedKey;
  expect(signatureFault(key, hash, rules) === undefined).toBe(isAllowed);
  expect(withAllowedSignature(key, rules).sign(Buffer.from(''), hash)).toEqual(
    isAllowed ? Buffer.from('signature') : expect.any(Error),
  );
});

test('an agent is not asked for a signature that PubkeyAcceptedAlgorithms excludes: the next key is tried', () => {
  const refusals: string[] = [];
  const agent = new OneKeyAgent({
    socket: '/nonexistent',
    key: { type: 'ssh-rsa' } as ParsedKey,
    rules: { keyAlgorithms: ['rsa-sha2-256'], minimumRsaBits: 1024 },
    pause: () => expect.unreachable(),
    onWait: () => expect.unreachable(),
    onRefused: (why) => refusals.push(why),
    signal: new AbortController().signal,
  });
  agent.sign({ type: 'ssh-rsa' } as ParsedKey, Buffer.from(''), { hash: 'sha1' }, () => expect.unreachable());
  expect(refusals).toEqual(['the server asks for ssh-rsa, which is not in PubkeyAcceptedAlgorithms']);
});
