import { expect, test } from 'vitest';

import { directive } from '../../../../src/fleet/ssh/fleet-file.ts';

test.each([
  ['hostname', 'fe80::1%eth0', ['HostName', 'fe80::1%%eth0']],
  ['user', String.raw`LAB\ann`, ['User', String.raw`LAB\\ann`]],
  ['identityfile', ['/keys/a "b"', '/keys/50%'], ['IdentityFile', [String.raw`/keys/a \"b\"`, '/keys/50%%']]],
  ['proxycommand', `nc -x 'a b' %h`, ['ProxyCommand', `nc -x 'a b' %%h`]],
  ['proxycommand', undefined, ['ProxyCommand', 'none']],
  ['addressfamily', undefined, ['AddressFamily', 'any']],
  ['stricthostkeychecking', 'true', ['StrictHostKeyChecking', 'yes']],
  ['connecttimeout', 0, ['ConnectTimeout', 'none']],
  ['ciphers', ['aes128-ctr', 'aes256-ctr'], ['Ciphers', 'aes128-ctr,aes256-ctr']],
  ['ciphers', undefined, undefined],
  ['gssapiauthentication', 'yes', undefined],
])('%s %j', (option, value, written) => {
  expect(directive('box', option, value)).toEqual(written);
});

test('a value with a line break is rejected', () => {
  expect(() => directive('box', 'identityfile', ['/keys/a\nProxyCommand touch x'])).toThrow(
    'IdentityFile has a control character',
  );
});
