import { expect, it } from 'vitest';

import type { Facts } from '../../../../../src/fleet/facts/facts.ts';
import { driverServices } from '../../../../../src/fleet/facts/probes/driver.ts';
import { driverStep } from '../../../../../src/fleet/steps/driver/step.ts';
import { enableServices, startServices } from '../../../../../src/fleet/steps/driver/services.ts';
import { desiredOf, factsOf } from '../../../../support/host.ts';
import { afterwards } from '../host-stack-plan.ts';

const defaults = desiredOf();
const ready = afterwards(factsOf(), defaults);
const [daemon, fabricManager] = driverServices;
const off = (unit: string) => ({ unit, file: 'disabled', active: 'inactive' });
const older = { ...ready.driver, loaded: '570.86.10', userspace: '570.86.10' };
const unloaded = { ...ready.driver, loaded: undefined, open: undefined };

function script(facts: Facts, name: string): string {
  const change = [...driverStep.plan(facts, defaults)].find(
    (item) => 'actions' in item && item.id.startsWith(`driver-${name}-`),
  );
  const action = change !== undefined && 'actions' in change ? change.actions[0] : undefined;
  if (action?.kind !== 'run') throw new Error(`no ${name} is planned`);
  return action.script;
}

it.each<[string, string, Facts, readonly (typeof driverServices)[number][]]>([
  ['a fresh host', 'install', factsOf(), driverServices],
  [
    'an upgrade with a disabled daemon',
    'install',
    factsOf({ driver: { ...older, services: [off(daemon)] } }),
    [fabricManager],
  ],
  [
    'an installation that was interrupted before the daemon was enabled',
    'install',
    factsOf({ unfinished: { 'nvidia-driver-cuda': '580.95.05-1' }, driver: { services: [off(daemon)] } }),
    driverServices,
  ],
  [
    'a load with a disabled daemon, and a fabric manager without switches',
    'load',
    factsOf({ ...ready, driver: { ...unloaded, services: [off(daemon), off(fabricManager)] } }),
    [],
  ],
  [
    'a load after a run that was interrupted before it enabled services',
    'load',
    factsOf({ ...ready, held: [], driver: { ...unloaded, services: [off(daemon)] } }),
    driverServices,
  ],
  [
    'a fabric manager that its package leaves disabled, with switches',
    'install',
    factsOf({ nvswitches: 4, driver: { services: [off(daemon), off(fabricManager)] } }),
    [fabricManager],
  ],
])('enabled services: %s', (_, change, facts, units) => {
  const text = script(facts, change);
  for (const unit of driverServices) {
    const word = `systemctl enable -q ${unit}`;
    expect([unit, text.includes(word)]).toEqual([unit, units.includes(unit)]);
  }
  if (units.length > 0) expect(text).toContain(enableServices(units));
  if (units.length > 0 && change === 'load') expect(text.endsWith(startServices(units))).toBe(true);
});
