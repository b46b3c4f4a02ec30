// A machine that costs money by the hour powers itself off. Real: systemd that stops, logind, SSH, the CLI, Docker.
// Stand-ins: the agent program, Azure DevOps, whose clock and the manager's are fast: five minutes are 15 s.
import { afterAll, beforeAll, expect, test } from 'vitest';

import type { IdleStatus } from '../../../src/shared/contract/idle.ts';
import { startAzure, type LabAzure } from '../../../practice/lab/azure.ts';
import { azpFleet } from '../../../practice/lab/azp-fleet.ts';
import type { LabHost } from '../../../practice/lab/host.ts';
import { writeInventory } from '../../../practice/lab/inventory.ts';
import { startLab, type Lab } from '../../../practice/lab/lab.ts';
import type { Output } from '../../../practice/lab/run.ts';
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
  expect(`${stdout}${stderr}`).toContain('idle: poweroff after 5 min');
});
afterAll(() => lab.remove());

const cli = (command: string, ...more: readonly string[]): Promise<Output> =>
  azpFleet(lab.folder, [command, inventory, ...more]);
const idle = async (): Promise<IdleStatus | undefined> => (await managed.status()).idle;
const stays = async (): Promise<string | undefined> => (await idle())?.stays?.what;
const agent = async (): Promise<string> => {
  const { pools } = await azure.control.overview();
  const found = pools.flatMap(({ agents }) => agents).find(({ name }) => name === 'cloud-0');
  return `${found?.enabled === true ? 'enabled' : 'disabled'} ${found?.status}`;
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
  // Each begins before the one before it ends: on a busy machine 15 s are soon over.
  await azure.control.limitJobs(0);
  const [waiting] = await azure.control.queue({ pool, name: 'train', script: 'true' });
  await job.end();
  await expect.poll(stays, settings).toBe('job train waits in pool gpu-lab');
  const { image } = await managed.status();
  await host.exec(`docker run -d --name notebook --entrypoint sleep ${image.reference} 3600`);
  await azure.control.cancel(waiting?.id ?? 0);
  await azure.control.limitJobs(null);
  await expect.poll(stays, settings).toBe('container notebook is running');
  await outlasts();
  const enough = '/tmp/enough';
  const login = cli('exec', 'cloud', '--timeout', '10m', '--', `until [ -e ${enough} ]; do sleep 0.2; done`);
  await expect.poll(stays, settings).toMatch(/^labadmin is logged in since \d{4}-\d\d-\d\d \d\d:\d\d UTC$/);
  await host.exec('docker rm -f notebook');
  await outlasts();
  const { code, stdout } = await cli('status');
  expect(stdout).toContain('cloud: stays on: labadmin is logged in since');
  expect(code).toBe(0);
  await host.exec(`touch ${enough}`);
  expect(await login).toMatchObject({ code: 0 });
});

test('then systemd really stops; the pool and the status show why', async () => {
  await expect.poll(() => host.isOff(), settings).toBe(true);
  expect(await agent()).toBe('disabled offline');
  const { code, stdout } = await cli('status');
  expect(stdout.replaceAll(/\s+/g, ' ')).toMatch(
    /cloud: idle since \d{4}-\S+ \d\d:\d\d UTC, and powered itself off/,
  );
  expect(stdout).toMatch(/^cloud .* off$/m);
  expect(code).toBe(0);
});

test('after the next start the count begins again, and the host takes jobs', async () => {
  const [job] = await azure.control.queue({ pool, script: 'true' });
  await host.powerOn();
  expect(await managed.finished(job === undefined ? [] : [job])).toMatchObject([{ result: 'succeeded' }]);
  await expect.poll(agent, settings).toBe('enabled online');
  expect((await idle())?.idleS).toBeLessThan(afterS);
});
