import type { Facts } from '../../../../src/fleet/facts/facts.ts';
import type { Desired } from '../../../../src/fleet/steps/step.ts';
import { desiredOf, factsOf, merge } from '../../../support/host.ts';
import { afterwards } from './host-stack-plan.ts';

const defaults = desiredOf();
const ready = afterwards(factsOf(), defaults);
const write = 'write the CDI specification [new-containers]';

/** Which specification containers get, in the form of host-stack-cases.ts. */
export const cdiCases: readonly [string, Facts, Desired, readonly string[]][] = [
  [
    'a specification by hand, of the driver before, beside the one that wins',
    merge(ready, { toolkit: { cdiInRun: true, cdiInEtc: ['/etc/cdi/nvidia.yaml'] } }),
    defaults,
    [write],
  ],
  [
    'a specification by hand alone, of this driver',
    merge(ready, { toolkit: { cdiInEtc: ['/etc/cdi/nvidia.yaml'] } }),
    defaults,
    [],
  ],
  [
    'a specification by hand alone, of the driver before',
    merge(ready, { toolkit: { cdiInEtc: ['/etc/cdi/nvidia.yaml'], cdiDriver: '570.86.10' } }),
    defaults,
    [write],
  ],
  ['another MIG layout', merge(ready, { toolkit: { cdiMigDiffers: true } }), defaults, [write]],
];
