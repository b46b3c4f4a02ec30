// A host on which every tenth job is hostile: to the disk, the manager's reading, the processes, the kernel log, the
// key, the pool. Another user attacks the metrics port, and the server answers nonsense from time to time. Real: systemd, Docker Engine, cgroups, the kernel and its log, btrfs and its quota, the manager.
// Stand-ins: the GPUs, the agent program, Azure DevOps.
import { afterAll, beforeAll, expect } from 'vitest';

import { capabilityPublisher, nonsenseServer, portAttacker } from '../../../bench/soak/attackers.ts';
import { drainAndUndrain, managerKill } from '../../../bench/soak/faults.ts';
import { deedsDone } from '../../../bench/soak/hostile.ts';
import type { SoakFleet } from '../../../bench/soak/model.ts';
import { report } from '../../../bench/soak/report.ts';
import { soak } from '../../../bench/soak/soak.ts';
import { startAzure } from '../../../practice/lab/azure.ts';
import { azpFleet } from '../../../practice/lab/azp-fleet.ts';
import { keepDisksCounting } from '../../../practice/lab/host.ts';
import { writeInventory } from '../../../practice/lab/inventory.ts';
import { type Lab, removeLab, startLab } from '../../../practice/lab/lab.ts';
import { say } from '../../../practice/lab/say.ts';
import { fault } from '../../support/fault.ts';

const prefix = 'hostile';
const disk = { mib: 6_000, type: 'btrfs' } as const;
let lab: Lab;
let fleet: SoakFleet;
const over = new AbortController();
let counting: Promise<void>;

beforeAll(async () => {
  await removeLab(prefix);
  lab = await startLab({ prefix, hosts: [{ name: 'h', gpus: ['h200', 'h200'], disk }] });
  // Docker restarts while it is provisioned; without limits a job fills the disk of all.
  counting = keepDisksCounting(lab.hosts, over.signal);
  const azure = await startAzure(prefix, lab.folder, { speed: 20 });
  const pool = 'gpu-hostile';
  const inventory = await writeInventory(lab, azure, {
    pool,
    defaults: { agents: 4, share: true, limits: { pids: 512, disk: '1g' } },
  });
  const cli: SoakFleet['cli'] = async (args) => {
    const output = await azpFleet(lab.folder, args);
    expect(output.code, output.stderr + output.stdout).toBe(0);
    return output;
  };
  await cli(['provision', inventory, '--yes', '--no-probe']);
  fleet = { lab, azure, inventory, pool, cli };
});
afterAll(async () => {
  over.abort();
  await counting;
  await removeLab(prefix);
});

fault('hostile-jobs', 'seven hostile jobs harm no other job, and their keys are worth nothing', async () => {
  const host = lab.host('h');
  const result = await soak(fleet, [managerKill(host), drainAndUndrain(fleet, host)], 80, say, {
    isHostile: true,
    attackers: [portAttacker(host), capabilityPublisher(fleet.azure.control), nonsenseServer(fleet)],
  });
  expect(result.violations, report(result)).toEqual([]);
  expect(Math.min(...deedsDone(result.record.jobs).values()), report(result)).toBeGreaterThan(0);
  expect(result.attempts).toBeGreaterThan(0);
  say(report(result));
});
