// What is wrong with this machine or with the token, and what is then not checked.
import { expect, test } from 'vitest';

import {
  climbMachine,
  type MachineSeen,
  type TokenSeen,
} from '../../../../src/fleet/doctor/machine-rungs.ts';
import type { Problem } from '../../../../src/shared/base/errors.ts';

const token: TokenSeen = {
  organization: 'https://dev.azure.com/example',
  expires: '2027-05-01',
  answer: {},
  mayWrite: { kind: 'value', value: true },
};
const healthy: MachineSeen = {
  node: '24.21.0',
  ssh: { kind: 'value', value: 'OpenSSH_9.2p1' },
  aheadMs: { kind: 'value', value: -1500 },
  disk: { kind: 'value', value: { path: '/home/me/.cache', freeBytes: 40e9 } },
  hosts: 3,
  token,
};
const problem = (code: Problem['code'], what: string): Problem => ({ code, what, next: 'do this' });
const withToken = (difference: Partial<TokenSeen>): MachineSeen => ({
  ...healthy,
  token: { ...token, ...difference },
});

test('a healthy machine: every rung is ok', () => {
  expect(climbMachine(healthy).map(({ state }) => state)).toEqual(Array.from({ length: 8 }, () => 'ok'));
});

const rejected = problem('azure.auth', 'token rejected (401)');
const away = problem('azure.unreachable', 'no answer from https://dev.azure.com');

test.each<[string, MachineSeen, Readonly<Record<string, unknown>>]>([
  ['no ssh', { ...healthy, ssh: { kind: 'absent' } }, { ssh: 'ssh.no-openssh' }],
  ['ssh does not answer', { ...healthy, ssh: { kind: 'unknown', why: 'EACCES' } }, { ssh: 'unknown' }],
  [
    'the clock is behind',
    { ...healthy, aheadMs: { kind: 'value', value: -6 * 60_000 } },
    { 'local-clock': 'doctor.clock-off' },
  ],
  [
    'the time of the server is unknown',
    { ...healthy, aheadMs: { kind: 'unknown', why: 'no answer' } },
    { 'local-clock': 'unknown' },
  ],
  [
    'the disk is full',
    { ...healthy, disk: { kind: 'value', value: { path: '/c', freeBytes: 4e6 } } },
    { 'local-disk': 'doctor.no-space' },
  ],
  [
    'the inventory has a mistake',
    { ...healthy, configuration: problem('inventory.unknown-key', 'unknown key') },
    {
      configuration: 'inventory.unknown-key',
      organization: 'blocked',
      token: 'blocked',
      'token-scope': 'blocked',
    },
  ],
  [
    'the variable of the token is not set: nothing asks Azure DevOps',
    { ...healthy, token: { problem: problem('inventory.secret', 'the token cannot be read') } },
    { organization: 'unknown', token: 'inventory.secret', 'token-scope': 'blocked' },
  ],
  [
    'the token has ended',
    withToken({ expiry: problem('inventory.token-expired', 'the token expired') }),
    { token: 'inventory.token-expired', 'token-scope': 'blocked' },
  ],
  [
    'the token is rejected: Azure DevOps answers',
    withToken({ answer: { problem: rejected } }),
    { token: 'azure.auth', 'token-scope': 'blocked' },
  ],
  [
    'Azure DevOps does not answer: whether the token is good is unknown',
    withToken({ answer: { problem: away } }),
    { organization: 'azure.unreachable', token: 'unknown', 'token-scope': 'blocked' },
  ],
  [
    'the token may not write',
    withToken({ mayWrite: { kind: 'value', value: false } }),
    { 'token-scope': 'azure.permission' },
  ],
  [
    'the server does not report the scope',
    withToken({ mayWrite: { kind: 'value', value: undefined } }),
    { 'token-scope': 'skipped' },
  ],
])('%s', (_, seen, expected) => {
  const found = climbMachine(seen).filter(({ state }) => state !== 'ok');
  expect(
    Object.fromEntries(found.map((each) => [each.rung, each.state === 'broken' ? each.code : each.state])),
  ).toEqual(expected);
  for (const each of found) if (each.state === 'broken') expect(each.next).toMatch(/^[a-z]/);
});

test('a token that ends soon is accepted, with a warning', () => {
  const expiry = problem('inventory.token-expires', 'the token expires in 9 days');
  const found = climbMachine(withToken({ expiry })).find(({ rung }) => rung === 'token');
  expect(found).toMatchObject({
    state: 'ok',
    findings: [{ code: 'inventory.token-expires', severity: 'warn' }],
  });
});
