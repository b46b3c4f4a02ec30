// A machine that costs money by the hour powers itself off. Real: systemd that stops, logind, SSH, the CLI, Docker.
// Stand-ins: the agent program, Azure DevOps, whose clock and the manager's are fast: five minutes are 15 s.
import { afterAll, beforeAll, expect, test } from 'vitest';

import type { IdleStatus } from '../../../src/contract/idle.ts';
import { startAzure, type LabAzure } from '../harness/azure.ts';
import { azpFleet } from '../harness/azp-fleet.ts';
import type { LabHost } from '../harness/host.ts';
import { writeInventory } from '../harness/inventory.ts';
import { startLab, type Lab } from '../harness/lab.ts';
import type { Output } from '../harness/run.ts';
import { ManagedHost, pool, settings } from '../support/managed-host.ts';

const speed = 20;
const afterS = 300;

let lab: Lab;
let azure: LabAzure;
let host: LabHost;
let managed: ManagedHost;
let inventory: string;
beforeAll(async () => {
  lab = await startLab({ prefix: 'idle', hosts: [{ name: 'cloud', login: 'sudo', gpus: [] }] });
  host = lab.host('cloud');
  await host.staysOff();
  azure = await startAzure('idle', lab.folder, { speed });
  managed = new ManagedHost(host, azure);
  inventory = await writeInventory(lab, azure, {
    hosts: { cloud: { agents: 1, idle: { after: '5m', run: 'poweroff' } } },
  });
  const { code, stdout, stderr } = await cli('provision', '--yes');
  expect(code, `${stdout}\n${stderr}`).toBe(0);
  expect(`${stdout}${stderr}`).toContain('idle.after: 5 min');
});
afterAll(() => lab.remove());

const cli = (command: string, ...more: readonly string[]): Promise<Output> =>
  azpFleet(lab.folder, [command, inventory, ...more]);
const idle = async (): Promise<IdleStatus | undefined> => (await managed.status()).idle;
const stays = async (): Promise<string | undefined> => (await idle())?.stays?.what;
const agents = async () => {
  const { pools } = await azure.control.overview();
  return pools
    .flatMap((each) => each.agents)
    .map(({ name, enabled, status }) => `${name} ${enabled} ${status}`);
};

/** It has been watched for longer than it would take without what keeps it on. */
async function outlasts(): Promise<void> {
  const began = Date.parse((await managed.status()).at);
  const longer = (afterS / speed) * 1500;
  await expect
    .poll(async () => Date.parse((await managed.status()).at), settings)
    .toBeGreaterThan(began + longer);
}

test('a job that runs, one that waits, a container of others and a login keep it on', async () => {
  const job = await managed.holdJob('cloud-0');
  await expect.poll(stays, settings).toMatch(/^cloud-0 runs /);
  await outlasts();
  await azure.control.limitJobs(0);
  await job.end();
  const [waiting] = await azure.control.queue({ pool, name: 'train', script: 'true' });
  await expect.poll(stays, settings).toBe('job train waits in pool gpu-lab');
  await azure.control.cancel(waiting?.id ?? 0);
  await azure.control.limitJobs(null);
  const { image } = await managed.status();
  await host.exec(`docker run -d --name notebook --entrypoint sleep ${image.reference} 600`);
  await expect.poll(stays, settings).toBe('container notebook runs, which is not ours');
  await outlasts();
  await host.exec('docker rm -f notebook');
  const login = azpFleet(lab.folder, [
    'exec',
    '-i',
    inventory,
    'cloud',
    '--',
    `sleep ${(afterS / speed) * 2}`,
  ]);
  await expect.poll(stays, settings).toMatch(/^lab is logged in since \d{4}-\d\d-\d\d \d\d:\d\d UTC$/);
  expect(await cli('status')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('stays on: lab is logged in'),
  });
  expect(await login).toMatchObject({ code: 0 });
});

test('then systemd really stops; the pool and the status tell why', async () => {
  await expect.poll(() => host.isOff(), settings).toBe(true);
  expect(await agents()).toEqual(['cloud-0 false offline']);
  const { code, stdout } = await cli('status');
  expect(stdout.replaceAll(/\s+/g, ' ')).toMatch(
    /cloud: idle since \d{4}-\S+ \d\d:\d\d UTC, and powered itself off/,
  );
  expect(stdout).toMatch(/^cloud .* off$/m);
  expect(code).toBe(0);
});

test('after the next start it is counted anew, and takes jobs', async () => {
  const [job] = await azure.control.queue({ pool, script: 'true' });
  await host.powerOn();
  expect(await managed.finished(job === undefined ? [] : [job])).toMatchObject([{ result: 'succeeded' }]);
  expect(await agents()).toEqual(['cloud-0 true online']);
  expect((await idle())?.idleS).toBeLessThan(afterS);
});
