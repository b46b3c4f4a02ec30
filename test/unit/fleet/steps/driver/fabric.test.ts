import { expect, it } from 'vitest';

import type { Facts } from '../../../../../src/fleet/facts/facts.ts';
import { driverServices } from '../../../../../src/fleet/facts/probes/driver.ts';
import { driverStep } from '../../../../../src/fleet/steps/driver/step.ts';
import { enableServices } from '../../../../../src/fleet/steps/driver/services.ts';
import { desiredOf, factsOf } from '../../../../support/host.ts';

function installScript(facts: Facts): string {
  const changes = [...driverStep.plan(facts, desiredOf())];
  const install = changes.find((item) => 'id' in item && item.id.startsWith('driver-install'));
  const action = install !== undefined && 'actions' in install ? install.actions[0] : undefined;
  return action?.kind === 'run' ? action.script : '';
}

it.each([
  ['NVSwitches', { nvswitches: 4 }],
  ['an NVLink 5 board', { nvlink5: { switches: 4, umad: true }, packages: { nvlsm: '2025.03.1-1' } }],
] as const)(
  '%s: the fabric manager is installed with the driver, and enabled although a reboot follows',
  (_, board) => {
    const script = installScript(factsOf({ ...board, driver: { nouveau: true } }));
    expect(script).toContain('beside nvidia-fabricmanager;');
    expect(script).toContain(enableServices(driverServices));
    expect(script).not.toContain('modprobe -a');
  },
);
