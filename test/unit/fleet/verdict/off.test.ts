import { expect, test } from 'vitest';

import type { AzureAgent } from '../../../../src/shared/azure/client.ts';
import { switchedOff } from '../../../../src/fleet/verdict/judge.ts';

const reason = 'powered off: idle since 2026-11-20 09:30 UTC';
const agent = (changes: Partial<AzureAgent> = {}): AzureAgent => ({
  id: 1,
  name: 'a-0',
  enabled: false,
  status: 'offline',
  userCapabilities: { 'azp-fleet.disabled': reason },
  ...changes,
});
const drained = { userCapabilities: { 'azp-fleet.disabled': 'drained by ann@laptop' } };

test.each<[string, readonly AzureAgent[], boolean]>([
  ['no agents', [], false],
  ['all say so', [agent(), agent()], true],
  ['one has another reason of its own', [agent(), agent(drained)], true],
  ['none says so', [agent(drained)], false],
  ['the host is up again', [agent(), agent({ status: 'online' })], false],
  ['it was enabled by hand since', [agent({ enabled: true })], false],
])('the pool tells that a host is off: %s', (_, agents, off) => {
  expect(switchedOff(agents)?.state).toBe(off ? 'off' : undefined);
});

test('since when, and what to do', () => {
  expect(switchedOff([agent()])).toEqual({
    state: 'off',
    cause: 'idle since 2026-11-20 09:30 UTC, and powered itself off (idle:)',
    next: 'start it at its provider when needed; its agents then come online by themselves',
  });
});
