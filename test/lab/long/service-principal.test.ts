// A fleet whose credential is a service principal. Real: the CLI, the manager, their HTTP, config.sh's container.
// Stand-ins: Azure DevOps and Microsoft's login (one process), the agent program, the GPUs.
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';

import type { LoggedRequest } from '../../../practice/azure/world/fake.ts';
import type { ManagerConfig } from '../../../src/shared/contract/config.ts';
import { azpFleet } from '../../../practice/lab/azp-fleet.ts';
import { writeInventory } from '../../../practice/lab/inventory.ts';
import { provisionedFleet, type ProvisionedFleet } from '../../../practice/lab/provisioned.ts';
import type { Output } from '../../../practice/lab/run.ts';
import { ManagedHost, pool } from '../support/managed-host.ts';
import { placesOnHost } from '../support/secret-search.ts';

let fleet: ProvisionedFleet;
let managed: ManagedHost;
beforeAll(async () => {
  fleet = await provisionedFleet();
  managed = new ManagedHost(fleet.lab.host('hook'), fleet.azure);
});
afterAll(async () => {
  const { code, stderr } = await provision(fleet.inventory);
  expect(code, stderr).toBe(0);
  await managed.allIdle();
});

const provision = (inventory: string): Promise<Output> =>
  azpFleet(fleet.lab.folder, ['provision', inventory, '--limit', 'hook', '--yes', '--no-probe']);

/** What is asked of the server from now on. */
async function recorder(): Promise<() => Promise<readonly LoggedRequest[]>> {
  const from = (await fleet.azure.control.requests()).at(-1)?.n ?? 0;
  return () => fleet.azure.control.requests(from);
}

const logins = (requests: readonly LoggedRequest[]): number =>
  requests.filter(({ path, status }) => path === '/tenant-1/oauth2/v2.0/token' && status === 200).length;

const principal = { clientId: 'client-1', tenantId: 'tenant-1' };

/** The lab's inventory with the practice server's token as the secret of a service principal. */
const inventoryFor = (registration: string, authority: string): Promise<string> =>
  writeInventory(fleet.lab, fleet.azure, {
    file: join(fleet.lab.folder, `principal-${registration}.yaml`),
    defaults: { registration },
    top: {
      token: undefined,
      servicePrincipal: { ...principal, secret: { file: fleet.azure.tokenFile }, authority },
    },
  });

/** How the keys of the agent were replaced: by whom, and with which answer. */
async function keysReplaced(agent: string, requests: readonly LoggedRequest[]): Promise<readonly string[]> {
  const { pools } = await fleet.azure.control.overview();
  const id = pools.flatMap(({ agents }) => agents).find(({ name }) => name === agent)?.id;
  return requests
    .filter(({ method, path }) => method === 'PUT' && path.endsWith(`/agents/${id}`))
    .map(({ caller, status }) => `${caller} ${status}`);
}

test.each(['rest', 'config'] as const)(
  'CLI and manager log in as a service principal, registration: %s',
  async (way) => {
    const authority = new URL(fleet.azure.organization).origin;
    const requests = await recorder();
    const { code, stdout, stderr } = await provision(await inventoryFor(way, authority));
    expect(code, `${stdout}${stderr}`).toBe(0);
    await managed.allIdle();
    const { stdout: text } = await managed.host.exec('cat /etc/azp-fleet/manager.json');
    const { credential, registration } = JSON.parse(text) as ManagerConfig;
    expect(credential).toEqual({ kind: 'service-principal', ...principal, authority });
    expect(registration).toBe(way);
    // One token for the CLI and one for the manager, each for many calls.
    const before = logins(await requests());
    expect(before).toBeGreaterThanOrEqual(2);

    const [job] = await managed.finished(
      await fleet.azure.control.queue({ pool, script: 'true', demands: ['Agent.Name -equals hook-0'] }),
    );
    expect(job).toMatchObject({ result: 'succeeded', runs: [{ agent: 'hook-0' }] });
    await managed.allIdle();
    const seen = await requests();
    // The manager's at the end of the run, which a copied key does not outlive; config.sh then creates another one.
    const replaced = { rest: ['service-principal 200'], config: Array(2).fill('service-principal 200') };
    expect(await keysReplaced('hook-0', seen)).toEqual(replaced[way]);
    // config.sh logs in by itself.
    expect(logins(seen) > before).toBe(way === 'config');
    const places = await placesOnHost(managed.host, fleet.azure.token);
    expect(
      places.filter((place) => !/(?:\/etc\/azp-fleet\/token|\/credentials\/).* [46]00 root$/.test(place)),
    ).toEqual([]);
  },
);
