import { expect, test } from 'vitest';

import type { FleetPlan, HostPlan } from '../../../../src/fleet/plan/fleet-plan.ts';
import { changedPlaces } from '../../../../src/cli/run/change-hosts.ts';
import { change } from '../../fleet/plan/changes.ts';

const pool: FleetPlan['fleet'][number] = {
  id: 'p',
  title: 'create agent pool gpu-lab',
  why: 'no pool of this name exists',
  action: { kind: 'create-pool', pool: 'gpu-lab' },
};
const well = (host: string): HostPlan => ({ host, factsDigest: host, stages: [], refusals: [] });
const changed = (host: string): HostPlan => ({ ...well(host), stages: [[change('a')]] });
const refused = (host: string): HostPlan => ({
  ...changed(host),
  refusals: [{ step: 'driver', what: 'a runfile driver is installed', next: 'remove it' }],
});
const many = (name: (index: number) => string) =>
  Array.from({ length: 300 }, (_, index) => changed(name(index)));

test.each<[string, FleetPlan['fleet'], readonly HostPlan[]]>([
  ['a, b', [], [changed('a'), well('w'), changed('b'), refused('r')]],
  ['Azure DevOps', [pool], [well('w'), refused('r')]],
  ['Azure DevOps, a', [pool], [changed('a')]],
  ['r', [], [refused('r')]],
  ['gpu-[000-299]', [], many((index) => `gpu-${String(index).padStart(3, '0')}`)],
  ['300 hosts', [], many((index) => `n${'abcdefghijklmnopqrst'[index % 20]}${'x'.repeat(index / 20)}`)],
])('%s', (places, fleet, hosts) => {
  expect(changedPlaces({ fleet, hosts })).toBe(places);
});
