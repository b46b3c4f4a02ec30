// npm run soak [-- --jobs N] [--record] [--keep]: four machines, fourteen agents, one fault after another, every tenth job is
// hostile, and attackers all the time.
import { parseArgs } from 'node:util';

import { say as sayOnLab } from '../../practice/lab/say.ts';
import { keepDisksCounting } from '../../practice/lab/host.ts';
import { stopService } from '../../practice/lab/services.ts';
import { release } from '../../test/lab/support/release.ts';
import { recordResults } from '../results.ts';
import {
  dockerKill,
  dockerRestart,
  drainAndUndrain,
  gpuTaken,
  managerKill,
  managerUpgrade,
  reboot,
  serverFault,
} from './faults.ts';
import { capabilityPublisher, forker, nonsenseServer, portAttacker } from './attackers.ts';
import { soakFleet, speed } from './fleet.ts';
import { report } from './report.ts';
import { script, soak } from './soak.ts';

const { values } = parseArgs({
  options: {
    jobs: { type: 'string', default: '300' },
    record: { type: 'boolean', default: false },
    keep: { type: 'boolean', default: false },
  },
});

const fleet = await soakFleet();
const [a, b, c] = [fleet.lab.host('a'), fleet.lab.host('b'), fleet.lab.host('c')];
const over = new AbortController();
const counting = keepDisksCounting(fleet.lab.hosts, over.signal);
try {
  const result = await soak(
    fleet,
    [
      managerKill(a),
      dockerRestart(b),
      serverFault(fleet, { status: 500 }, 15_000),
      managerUpgrade(fleet, release(fleet.lab.folder, 'next')),
      serverFault(fleet, { status: 429, retryAfterS: 5 }, 15_000),
      drainAndUndrain(fleet, c),
      serverFault(fleet, { status: 203 }, 15_000),
      dockerKill(c),
      gpuTaken(b),
      reboot(a, speed),
      managerKill(b),
    ],
    Number(values.jobs),
    sayOnLab,
    {
      isHostile: true,
      attackers: [
        ...fleet.lab.hosts.map(portAttacker),
        capabilityPublisher(fleet.azure.control),
        nonsenseServer(fleet),
        forker(fleet.hostPool, script),
      ],
    },
  );
  const title = `${result.record.jobs.length} jobs on 3 machines with 4 agents each and one in host mode, with faults and attackers, every tenth job hostile`;
  if (values.record) recordResults('soak', title, report(result));
  else process.stdout.write(`${title}\n\n${report(result)}\n`);
  process.exitCode = result.violations.length === 0 ? 0 : 1;
} finally {
  over.abort();
  await counting;
  if (!values.keep) {
    await fleet.lab.remove();
    await stopService(`azure-${fleet.lab.prefix}`);
  }
}
