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
  ['all have the reason', [agent(), agent()], true],
  ['one has another reason', [agent(), agent(drained)], true],
  ['none has the reason', [agent(drained)], false],
  ['one was disabled without a reason', [{ ...agent(), userCapabilities: undefined as never }], false],
  ['an agent is online again', [agent(), agent({ status: 'online' })], false],
  ['it was enabled by hand', [agent({ enabled: true })], false],
])('the pool shows that a host is off: %s', (_, agents, off) => {
  expect(switchedOff(agents)?.state).toBe(off ? 'off' : undefined);
});

test('the verdict has the time and the next action', () => {
  expect(switchedOff([agent()])).toEqual({
    state: 'off',
    cause: 'idle since 2026-11-20 09:30 UTC, and powered itself off (idle:)',
    next: 'start it at its provider when needed; its agents then come online by themselves',
  });
});
