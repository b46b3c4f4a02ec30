// Two runs on one host; a run that is killed; a reboot. On a separate bare machine.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { azpFleet } from '../../../practice/lab/azp-fleet.ts';
import { startAzure, type LabAzure } from '../../../practice/lab/azure.ts';
import type { LabHost } from '../../../practice/lab/host.ts';
import { writeInventory } from '../../../practice/lab/inventory.ts';
import { startLab, type Lab } from '../../../practice/lab/lab.ts';
import { provisionedFleet, type ProvisionedFleet } from '../../../practice/lab/provisioned.ts';
import { until } from '../../../practice/lab/run.ts';
import { startCli } from '../support/cli.ts';
import { endState } from '../support/end-state.ts';

let fleet: ProvisionedFleet;
let lab: Lab;
let azure: LabAzure;
let host: LabHost;
let inventory: string;
beforeAll(async () => {
  fleet = await provisionedFleet();
  lab = await startLab({
    prefix: 'resume',
    hosts: [{ name: 'd', release: 'bookworm', login: 'sudo', gpus: ['l40s'] }],
  });
  azure = await startAzure('resume', lab.folder);
  inventory = await writeInventory(lab, azure);
  host = lab.host('d');
});
afterAll(async () => {
  await azure.stop();
  await lab.remove();
});

describe('two runs on one host', () => {
  test('one works, the other says who does; killed or interrupted, the next one continues from there', async () => {
    const first = startCli(lab, ['provision', inventory, '--yes']);
    await first.said(/d: install Docker Engine .* …/);

    const second = await azpFleet(lab.folder, ['provision', inventory, '--yes']);
    expect(second.code).toBe(1);
    expect(second.stderr).toMatch(/root@\S+/);
    expect(second.stderr).toContain('azp-fleet provision');

    first.child.kill('SIGKILL');
    await first.done;
    const third = startCli(lab, ['provision', inventory, '--yes']);
    await third.said(/still runs on the host: waiting for its end|started by an earlier run/);

    await third.said(/d: install NVIDIA Container Toolkit .* …/);
    third.child.kill('SIGINT');
    const interrupted = await third.done;
    expect(interrupted.code, interrupted.stderr).toBe(130);
    expect(interrupted.stdout).toMatch(
      /^d +interrupted +(?:nothing changed|\d+ changes? made); interrupted during "install NVIDIA Container Toolkit .*", which continues on the host as azp-fleet-change-\S+\.service; run again to follow it$/m,
    );

    const { code, stdout, stderr } = await azpFleet(lab.folder, ['provision', inventory, '--yes']);
    expect(code, stderr).toBe(0);
    expect(stdout).toContain('1 host: 1 healthy');
  });

  test('the end is the same as without the interruption', async () => {
    expect((await azpFleet(lab.folder, ['plan', inventory])).code).toBe(0);
    expect(await endState(host)).toEqual(await endState(fleet.lab.host('plain')));
  });
});

describe('a driver upgrade', () => {
  test('waits for the running job, reboots with proof, and gives the agent back to work', async () => {
    const before = await host.bootId();
    await azure.control.queue({ pool: 'gpu-lab', script: 'sleep 8; echo done' });
    await until('the job to run', async () => {
      const [job] = await azure.control.jobs();
      return job?.state === 'running';
    });
    const upgraded = await writeInventory(lab, azure, { defaults: { driver: { branch: '595' } } });
    const run = await azpFleet(lab.folder, ['provision', upgraded, '--yes']);
    expect(run.code, run.stderr).toBe(0);
    expect(run.stderr).toContain('draining: waiting for');
    // What was announced was made: not a wait more.
    expect(run.stdout).toContain('? manager  wait for the agent image');
    const [, announced = ''] = /^Changes: (\d+) on 1 host/m.exec(run.stdout) ?? [];
    expect(run.stdout).toMatch(new RegExp(`^d +healthy +${announced} changes`, 'm'));
    expect(run.stdout).toContain('1 host: 1 healthy');
    const [job] = await azure.control.jobs();
    expect(job).toMatchObject({ state: 'done', result: 'succeeded' });
    expect((await host.exec('nvidia-smi --query-gpu=driver_version --format=csv,noheader')).stdout).toContain(
      '595.',
    );
    expect(await host.bootId()).not.toBe(before);
    const [agent] =
      (await azure.control.overview()).pools.find(({ name }) => name === 'gpu-lab')?.agents ?? [];
    expect(agent).toMatchObject({ enabled: true, status: 'online' });
  });
});
