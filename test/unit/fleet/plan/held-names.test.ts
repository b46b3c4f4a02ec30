import { expect, test } from 'vitest';

import type { PooledAgent } from '../../../../src/shared/contract/holder.ts';
import type { SlotStatus } from '../../../../src/shared/contract/status.ts';
import {
  hasOnlyTakeOvers,
  heldNames,
  planTakeOvers,
  refusedTakeOvers,
  desiredNames,
} from '../../../../src/fleet/plan/held-names.ts';
import type { FleetPlan } from '../../../../src/fleet/plan/fleet-plan.ts';
import { planText } from '../../../../src/cli/render/plan.ts';
import { desiredOf, factsOf } from '../../../support/host.ts';
import { managerStatus } from '../../../support/manager-status.ts';

const now = { wall: Date.parse('2026-11-22T12:00:00Z'), leftForMs: 180_000 };
const gpu = { address: '0000:83:00.0', deviceId: '2335', boundTo: undefined };
const names = (host: Parameters<typeof desiredOf>[0], facts = factsOf({ gpus: [gpu, gpu] })) =>
  desiredNames(desiredOf(host).host, facts).map(({ pool, agent }) => `${pool}/${agent}`);
const slot = (name: string, state: SlotStatus['state']): SlotStatus => ({
  slot: name,
  agent: `h200-1-${name}`,
  state,
  gpus: [],
  pool: 'gpu-lab',
  since: '2026-11-21T12:00:00Z',
  jobsRun: 0,
});

test.each<[string, Parameters<typeof desiredOf>[0], ReturnType<typeof factsOf> | undefined, string[]]>([
  ['an agent for each GPU', {}, undefined, ['gpu-lab/h200-1-0', 'gpu-lab/h200-1-1']],
  ['no GPU yet, none expected', {}, factsOf({ gpus: [] }), []],
  [
    'the configured number of GPUs',
    { gpus: 3 },
    undefined,
    ['0', '1', '2'].map((n) => `gpu-lab/h200-1-${n}`),
  ],
  [
    'the configured number of agents',
    { agents: { kind: 'count', count: 1 } },
    undefined,
    ['gpu-lab/h200-1-0'],
  ],
  ['a pool whose name depends on a missing driver', { pool: 'cuda{cuda}' }, undefined, []],
  [
    'not names in use on the host',
    {},
    factsOf({
      gpus: [gpu, gpu],
      manager: { status: managerStatus({ slots: [slot('0', 'idle'), slot('1', 'backing-off')] }) },
    }),
    ['gpu-lab/h200-1-1'],
  ],
])('the desired names of a host: %s', (_, host, facts, desired) => {
  expect(names({ pool: 'gpu-lab', ...host }, facts)).toEqual(desired);
});

const agent = (name: string, owner: string | undefined, changes: Partial<PooledAgent> = {}): PooledAgent => ({
  name,
  status: 'offline',
  statusChangedOn: '2026-11-20T14:03:00Z',
  userCapabilities: owner === undefined ? {} : { 'azp-fleet.owner': owner },
  ...changes,
});
const desired = {
  host: 'azl2',
  owner: 'us',
  names: ['0', '1', '2'].map((each) => ({ slot: each, agent: `azl2-${each}`, pool: 'gpu-lab' })),
};
const held = (agents: readonly PooledAgent[], owner: string | undefined = 'us') =>
  heldNames({ ...desired, owner }, () => agents, now);

test('free and own names are not held, compared without case', () => {
  expect(held([agent('AZL2-0', 'us'), agent('other-1', 'them')])).toEqual([]);
  expect(held([agent('AZL2-0', 'them')]).map(({ names: found }) => found)).toEqual([[desired.names[0]]]);
});

test('a host without an installation owns no agents', () => {
  const all = heldNames({ ...desired, owner: undefined }, () => [agent('azl2-0', 'us')], now);
  expect(planTakeOvers(all).map(({ action }) => action)).toEqual([
    { kind: 'take-over', pool: 'gpu-lab', host: 'azl2', slots: ['0'] },
  ]);
});

test('each owner is judged separately, and agents without an owner one by one', () => {
  const agents = [
    agent('azl2-0', 'them'),
    agent('azl2-1', undefined),
    agent('azl2-2', undefined, { status: 'online' }),
  ];
  expect(planTakeOvers(held(agents)).map(({ id }) => id)).toEqual([
    'agent.take-over.gpu-lab.azl2-0.them',
    'agent.take-over.gpu-lab.azl2-1.nobody',
  ]);
  expect(refusedTakeOvers(held(agents)).map(({ what }) => what)).toEqual([
    'agent azl2-2 was not registered by azp-fleet, online since 2026-11-20 14:03 UTC',
  ]);
});

test.each([
  ['only take-overs', [{ kind: 'take-over' }], [], true],
  ['take-overs and a pool', [{ kind: 'take-over' }, { kind: 'create-pool' }], [], false],
  ['take-overs and a change on a host', [{ kind: 'take-over' }], [[{}]], false],
])('%s', (_, actions, stages, only) => {
  const fleet = actions.map((action) => ({ action }));
  expect(hasOnlyTakeOvers({ fleet, hosts: [{ stages }] } as unknown as FleetPlan)).toBe(only);
});

test('the plan at 80 columns', () => {
  const fleet = planTakeOvers(held([agent('azl2-0', 'them'), agent('azl2-1', 'them')]));
  const plan = { schema: 1, version: '', at: '', inventory: '', inventoryDigest: '', hosts: [] } as const;
  expect(
    planText({ ...plan, fleet }, { scripts: false, color: false })
      .split('\n')
      .slice(0, 5),
  ).toEqual([
    'Azure DevOps',
    '  ~ take over agents azl2-0, azl2-1 in pool gpu-lab for azl2',
    '      agents azl2-0, azl2-1 belong to another installation, offline since',
    '      2026-11-20 14:03 UTC; only after confirmation or with --adopt',
    '',
  ]);
});
