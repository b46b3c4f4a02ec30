import { describe, expect, test } from 'vitest';

import {
  heldDetail,
  heldLine,
  heldNext,
  holderOf,
  leftForMs,
  mayBeTakenOver,
  type PooledAgent,
} from '../../../../src/shared/contract/holder.ts';

const now = { wall: Date.parse('2026-11-21T12:00:00Z'), leftForMs };
const longAgo = '2026-11-20T14:03:41.2Z';
const justNow = '2026-11-21T11:59:48Z';
const owner = '3f2a91c0aa11bb22cc33dd44ee55ff66';
const agent = (changes: Partial<PooledAgent> = {}): PooledAgent => ({
  name: 'azl2-0',
  status: 'offline',
  statusChangedOn: longAgo,
  userCapabilities: { 'azp-fleet.owner': owner, 'azp-fleet.host': 'azl2' },
  ...changes,
});
const job = { requestId: 7 };
const other = (changes: Partial<PooledAgent>) => agent({ name: 'azl2-1', ...changes });
const described = (held: readonly PooledAgent[], others: readonly PooledAgent[] = [], host = 'azl2') => {
  const holder = holderOf(held, others, host, now);
  return `${mayBeTakenOver(holder) ? 'may be taken' : 'stays'}: ${heldLine(holder)}`;
};

describe('the holder of a name, and whether it may be adopted', () => {
  test.each<[string, readonly PooledAgent[], readonly PooledAgent[], string]>([
    [
      'a machine that was installed again',
      [agent()],
      [],
      'may be taken: agent azl2-0 belongs to another installation, offline since 2026-11-20 14:03 UTC',
    ],
    [
      'all its names',
      [agent(), other({})],
      [],
      'may be taken: agents azl2-0, azl2-1 belong to another installation, offline since 2026-11-20 14:03 UTC',
    ],
    [
      'a name that was never online',
      [{ name: 'azl2-0', status: 'offline', userCapabilities: {} }],
      [],
      'may be taken: agent azl2-0 was not registered by azp-fleet, offline',
    ],
    [
      'an invalid time',
      [agent({ statusChangedOn: 'yesterday' })],
      [],
      'may be taken: agent azl2-0 belongs to another installation, offline',
    ],
    [
      'its owner waits for jobs',
      [agent({ status: 'online' })],
      [],
      'stays: agent azl2-0 belongs to another installation, online since 2026-11-20 14:03 UTC',
    ],
    [
      'its owner runs a job',
      [agent({ status: 'online', assignedRequest: job })],
      [],
      'stays: agent azl2-0 belongs to another installation, with a job that the server still counts',
    ],
    [
      'its owner is cut off, and its job may continue',
      [agent({ assignedRequest: job })],
      [],
      'stays: agent azl2-0 belongs to another installation, with a job that the server still counts',
    ],
    [
      'its owner may be between two jobs',
      [agent({ statusChangedOn: justNow })],
      [],
      'stays: agent azl2-0 belongs to another installation, offline since 2026-11-21 11:59 UTC, maybe between two jobs',
    ],
    [
      'its owner has another agent online',
      [agent()],
      [other({ status: 'online', statusChangedOn: '2026-11-19T08:00:00Z' })],
      'stays: agent azl2-0 belongs to another installation, whose agent azl2-1 is online since 2026-11-19 08:00 UTC',
    ],
    [
      'another agent of its owner has just exited',
      [agent()],
      [other({ statusChangedOn: justNow })],
      'stays: agent azl2-0 belongs to another installation, whose agent azl2-1 is offline since 2026-11-21 11:59 UTC, maybe between two jobs',
    ],
  ])('%s', (_, held, others, words) => {
    expect(described(held, others)).toBe(words);
  });

  test('the host is named only if its name is valid', () => {
    expect(described([agent()], [], 'azl7')).toContain(
      'belongs to another installation (host azl2), offline',
    );
    const mark = { 'azp-fleet.owner': owner, 'azp-fleet.host': 'x\u001B[31m rm -rf' };
    expect(described([agent({ userCapabilities: mark })], [], 'azl7')).toContain(
      'another installation, offline',
    );
  });

  test('a local clock behind the server does not make an active owner look offline', () => {
    const ahead = agent({ statusChangedOn: '2026-11-21T12:20:00Z' });
    expect(mayBeTakenOver(holderOf([ahead], [], 'azl2', now))).toBe(false);
  });
});

test('names the pool, the installation and the next action', () => {
  const away = holderOf([agent()], [], 'azl7', now);
  expect(heldDetail(away, 'gpu-lab')).toBe('in pool gpu-lab, registered by host azl2, installation 3f2a91c0');
  expect(heldDetail(holderOf([agent({ userCapabilities: {} })], [], 'azl2', now), 'gpu-lab')).toBe(
    'in pool gpu-lab',
  );
  expect(heldNext(away, 'azl7')).toBe(
    'take it over with "azp-fleet provision azl7 --adopt" or "azp-fleet adopt azl7", or choose another agentName',
  );
  // Its manager keeps showing this until its next try, so it names no step that fails or does nothing by then.
  const take = 'take it over with "azp-fleet provision azl2 --adopt" or "azp-fleet adopt azl2"';
  for (const [changes, first] of [
    [{ status: 'online' }, `stop the agents of its owner and ${take} three minutes later`],
    [
      { assignedRequest: job },
      `wait until the job has ended and its owner has been offline for three minutes, then ${take}`,
    ],
    [
      { statusChangedOn: justNow },
      `wait three minutes, because an agent is briefly offline between two jobs, then ${take}`,
    ],
  ] as const)
    expect(heldNext(holderOf([agent(changes)], [], 'azl2', now), 'azl2')).toContain(
      `${first}, or choose another agentName`,
    );
});
