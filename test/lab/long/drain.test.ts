// Drain as an administrator gives it, over SSH. Real: CLI, SSH, manager, Docker. Stand-ins: the GPUs, the agent program,
// Azure DevOps.
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';

import { azpFleet } from '../../../practice/lab/azp-fleet.ts';
import { provisionedFleet, type ProvisionedFleet } from '../../../practice/lab/provisioned.ts';
import type { Output } from '../../../practice/lab/run.ts';
import { ManagedHost, pool, settings } from '../support/managed-host.ts';

let fleet: ProvisionedFleet;
let managed: ManagedHost;
beforeAll(async () => {
  fleet = await provisionedFleet();
  managed = new ManagedHost(fleet.lab.host('hook'), fleet.azure);
  await managed.allIdle();
});
afterEach(() => managed.endHeldJobs());
afterAll(async () => {
  await cli('undrain');
  await managed.allIdle();
});

const cli = (command: 'drain' | 'undrain', ...options: readonly string[]): Promise<Output> =>
  azpFleet(fleet.lab.folder, [command, fleet.inventory, 'hook', ...options]);

async function agentInPool(name: string): Promise<{ readonly enabled: boolean } | undefined> {
  const { pools } = await fleet.azure.control.overview();
  return pools.flatMap(({ agents }) => agents).find((agent) => agent.name === name);
}

test('one slot of a host is drained by name; the other works on', async () => {
  expect(
    await cli('drain', '--slot', '1', '--reason', 'new fan', '--wait', '--drain-timeout', '3m'),
  ).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/slot 1 drained by .+@.+: new fan, since .+ UTC/),
  });
  expect(await managed.states()).toBe('idle drained');
  expect(await agentInPool('hook-1')).toMatchObject({ enabled: false });
  const [drained] = (await managed.status()).slots.filter(({ slot }) => slot === '1');
  expect(drained?.cause).toMatch(/^drained by [^@ ]+@[^@ ]+: new fan$/);
  const jobs = await fleet.azure.control.queue({
    pool,
    script: 'true',
    demands: ['Agent.Name -equals hook-0'],
  });
  expect(await managed.finished(jobs)).toMatchObject([{ result: 'succeeded' }]);
  expect(await cli('undrain', '--slot', '1')).toMatchObject({ code: 0 });
  await managed.allIdle();
  expect(await agentInPool('hook-1')).toMatchObject({ enabled: true });
});

test('a wait that ends before the jobs says which they are; the drain stays, the jobs continue', async () => {
  const job = await managed.holdJob('hook-0');
  const { code, stderr } = await cli('drain', '--wait', '--drain-timeout', '4s');
  expect(code).toBe(1);
  const said = stderr.replaceAll(/\s+/g, ' ');
  expect(said).toContain('jobs still run; the slots stay drained and take no new jobs');
  expect(said).toContain('slot 0: job');
  await expect.poll(managed.states, settings).toBe('busy drained');
  expect(await job.end()).toMatchObject({ result: 'succeeded', log: 'done\n', runs: [{ agent: 'hook-0' }] });
  expect(await cli('drain', '--wait', '--drain-timeout', '3m')).toMatchObject({ code: 0 });
  expect(await managed.states()).toBe('drained drained');
  expect(await managed.containers()).toEqual([]);
  expect(await cli('undrain')).toMatchObject({ code: 0 });
  await managed.allIdle();
});
