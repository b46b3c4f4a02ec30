import { expect, test } from 'vitest';
import { agentMounts, readsOnlyBelow } from '../../../../src/manager/docker/mounts.ts';

test.each([
  ['Engine 25 on Linux 5.12', '1.44', '5.12.0', ['rro'], true],
  ['a later one', '1.52', '6.8.0-45-generic', ['ro', 'rro'], true],
  ['an engine of the next number', '2.0', '7.0', ['rro'], true],
  ['an engine that knows no such thing', '1.43', '6.8.0', ['rro'], false],
  ['a kernel that knows no such thing', '1.48', '5.4.0-200-generic', ['rro'], false],
  ['a runtime that says that it cannot', '1.48', '6.8.0', ['ro'], false],
  ['a runtime that does not tell, of which the engine says no', '1.48', '6.8.0', undefined, false],
  ['what nobody can read', '', '', ['rro'], false],
])('mounts below a folder are read-only with it: %s', (_, apiVersion, kernel, mountOptions, expected) => {
  expect(readsOnlyBelow({ apiVersion, kernel, mountOptions })).toBe(expected);
});

test('an older engine is asked for what it can', () => {
  const datasets = [{ name: 'D', host: '/d', container: '/data', requireMount: false }];
  expect(agentMounts({ datasets, jobs: { sudo: false, docker: false } }, false)).toEqual([
    { Type: 'bind', Source: '/d', Target: '/data', ReadOnly: true },
  ]);
});
