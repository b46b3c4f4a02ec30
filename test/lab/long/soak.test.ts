// The short form of `npm run soak`: real machines, engines and managers under a stream of jobs and faults.
// Stand-ins: the GPUs, the agent program, Azure DevOps.
import { expect } from 'vitest';

import {
  dockerRestart,
  drainAndUndrain,
  gpuTaken,
  managerKill,
  serverFault,
} from '../../../bench/soak/faults.ts';
import { report } from '../../../bench/soak/report.ts';
import type { SoakFleet } from '../../../bench/soak/model.ts';
import { soak } from '../../../bench/soak/soak.ts';
import { azpFleet } from '../../../practice/lab/azp-fleet.ts';
import { provisionedFleet } from '../../../practice/lab/provisioned.ts';
import { say } from '../../../practice/lab/say.ts';
import { fault } from '../../support/fault.ts';

fault(
  'soak',
  'sixty jobs run exactly once each while managers, Docker and the server fail, a host is drained and a GPU is taken',
  async () => {
    const { lab, azure, inventory } = await provisionedFleet();
    const cli: SoakFleet['cli'] = async (args) => {
      const output = await azpFleet(lab.folder, args);
      expect(output.code, output.stderr).toBe(0);
      return output;
    };
    const fleet = { lab, azure, inventory, pool: 'gpu-lab', cli };
    const result = await soak(
      fleet,
      [
        managerKill(lab.host('plain')),
        dockerRestart(lab.host('hook')),
        serverFault(fleet, { status: 500 }, 6_000),
        drainAndUndrain(fleet, lab.host('cdi')),
        gpuTaken(lab.host('hook')),
      ],
      60,
      say,
    );
    expect(result.violations, report(result)).toEqual([]);
    expect(result.record.jobs.length).toBeGreaterThanOrEqual(60);
  },
);
