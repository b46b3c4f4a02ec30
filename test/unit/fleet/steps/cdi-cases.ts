import type { Facts } from '../../../../src/fleet/facts/facts.ts';
import type { Desired } from '../../../../src/fleet/steps/step.ts';
import { desiredOf, factsOf, merge } from '../../../support/host.ts';
import { afterwards } from './host-stack-plan.ts';

const defaults = desiredOf();
const ready = afterwards(factsOf(), defaults);
const write = 'write the CDI specification [new-containers]';

/** CDI specifications, in the form of host-stack-cases.ts. */
export const cdiCases: readonly [string, Facts, Desired, readonly string[]][] = [
  [
    'a manual specification of an older driver, and a generated one',
    merge(ready, { toolkit: { cdiInRun: true, cdiInEtc: ['/etc/cdi/nvidia.yaml'] } }),
    defaults,
    [write],
  ],
  [
    'only a manual specification, of this driver',
    merge(ready, { toolkit: { cdiInEtc: ['/etc/cdi/nvidia.yaml'] } }),
    defaults,
    [],
  ],
  [
    'only a manual specification, of an older driver',
    merge(ready, { toolkit: { cdiInEtc: ['/etc/cdi/nvidia.yaml'], cdiDriver: '570.86.10' } }),
    defaults,
    [write],
  ],
  ['another MIG layout', merge(ready, { toolkit: { cdiMigDiffers: true } }), defaults, [write]],
];
