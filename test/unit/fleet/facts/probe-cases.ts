import type { ScriptSuite } from '../../../support/scratch/case.ts';
import { dockerCases } from './probes/docker-cases.ts';
import { driverCases } from './probes/driver-cases.ts';
import { kernelCases } from './probes/kernel-cases.ts';
import { machineCases } from './probes/machine-cases.ts';
import { managerCases } from './probes/manager-cases.ts';
import { orchestratorsCases } from './probes/orchestrators-cases.ts';
import { othersCases } from './probes/others-cases.ts';
import { oursCases } from './probes/ours-cases.ts';

export const probeSuite: ScriptSuite = {
  name: 'the facts',
  flags: [],
  cases: [
    ...machineCases,
    ...driverCases,
    ...kernelCases,
    ...dockerCases,
    ...managerCases,
    ...othersCases,
    ...orchestratorsCases,
    ...oursCases,
  ],
};
