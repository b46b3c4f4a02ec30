import { describe, expect, test } from 'vitest';

import {
  buildOptions,
  noConfig,
  type ConnectionOptions,
} from '../../../../../src/fleet/ssh/config/options.ts';
import { algorithmsFor } from '../../../../../src/fleet/ssh/connect/algorithms.ts';
import { problemOf, sshSpec } from '../../../../support/transport.ts';

const local = { home: '/home/ann', user: 'ann', uid: 1000, host: 'laptop', env: {} };
const plain = buildOptions('box', sshSpec({ address: '192.0.2.7' }), noConfig, local);

function chosen(algorithms: Partial<ConnectionOptions['algorithms']>) {
  return algorithmsFor({ ...plain, algorithms: { ...plain.algorithms, ...algorithms } }, []);
}

test('a list that is not set is not sent to ssh2', () => {
  expect(Object.keys(chosen({}))).toEqual(['serverHostKey']);
});

test('a configured list is reduced to what ssh2 supports, in that order', () => {
  expect(chosen({ ciphers: ['3des-cbc', 'aes256-ctr', 'aes128-ctr'] }).cipher).toEqual([
    'aes256-ctr',
    'aes128-ctr',
  ]);
  expect(chosen({ hostKey: ['ssh-rsa', 'rsa-sha2-256'] }).serverHostKey).toEqual(['rsa-sha2-256']);
});

describe('a list without a supported algorithm is an error, not the default', () => {
  test.each<[string, Partial<ConnectionOptions['algorithms']>]>([
    ['Ciphers', { ciphers: ['3des-cbc'] }],
    ['KexAlgorithms', { kex: ['sntrup761x25519-sha512@openssh.com'] }],
    ['MACs', { macs: ['hmac-md5'] }],
    ['HostKeyAlgorithms', { hostKey: ['ssh-dss'] }],
  ])('%s', async (option, algorithms) => {
    const problem = await problemOf((async () => chosen(algorithms))());
    expect(problem).toMatchObject({
      code: 'ssh.handshake',
      what: `the built-in client supports no algorithm of ${option} in the SSH configuration`,
      seen: Object.values(algorithms)[0]?.[0],
    });
  });
});
