// Another version of azp-fleet is provisioned over the one that runs, as its user would do it. Real: SSH, systemd, the
// manager, Docker, the job's container. Stand-ins: the GPUs, the agent program, Azure DevOps.
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';

import { azpFleet } from '../../../practice/lab/azp-fleet.ts';
import { provisionedFleet, type ProvisionedFleet } from '../../../practice/lab/provisioned.ts';
import { ManagedHost, settings } from '../support/managed-host.ts';
import { release } from '../support/release.ts';

let fleet: ProvisionedFleet;
let managed: ManagedHost;
let provision: readonly string[];
beforeAll(async () => {
  fleet = await provisionedFleet();
  managed = new ManagedHost(fleet.lab.host('hook'), fleet.azure);
  provision = ['provision', fleet.inventory, '--limit', 'hook', '--yes', '--no-probe'];
});
afterEach(() => managed.endHeldJobs());
afterAll(async () => {
  await azpFleet(fleet.lab.folder, provision);
  await managed.allIdle();
});

const version = async (): Promise<string> =>
  (await managed.host.exec('readlink /opt/azp-fleet/current')).stdout.trim();

const once = {
  result: 'succeeded',
  log: expect.stringContaining('done') as string,
  runs: [{ agent: 'hook-0' }],
};

test('a new version is rolled out under a running job: its container stays, it runs once', async () => {
  await managed.allIdle();
  const job = await managed.holdJob('hook-0');
  const containers = await managed.containers();
  const before = await version();
  await release(fleet.lab.folder, 'next')(provision);
  expect(await version()).not.toBe(before);
  await expect.poll(managed.states, settings).toBe('busy idle');
  expect(await managed.containers()).toEqual(containers);
  expect(await job.end()).toMatchObject(once);
});

test.each([
  ['ends at once', "console.error('broken on purpose'); process.exit(9);", 'broken on purpose'],
  [
    'never becomes ready',
    "console.log('here it hangs'); await new Promise(() => setInterval(() => {}, 1000));",
    'here it hangs',
  ],
])(
  'after a version whose manager %s the previous one is restored, under a running job',
  async (_, first, seen) => {
    await managed.allIdle();
    const job = await managed.holdJob('hook-0');
    const containers = await managed.containers();
    const before = await version();
    const broken = release(fleet.lab.folder, 'broken', first);
    const { code, stdout, stderr } = await broken(provision, { allowFailure: true });
    expect(code).toBe(1);
    expect(stdout).toMatch(/^hook +failed /m);
    // Long lines are wrapped.
    const said = stderr.replaceAll(/\s+/g, ' ');
    expect(said).toContain(
      `this version of the manager did not become ready; the previous one is restored: ${before}`,
    );
    expect(said).toContain(seen);
    expect(await version()).toBe(before);
    await expect.poll(managed.states, settings).toBe('busy idle');
    expect(await managed.containers()).toEqual(containers);
    expect(await job.end()).toMatchObject(once);
    await managed.allIdle();
  },
);
