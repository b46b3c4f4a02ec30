// Managers that log in as their Azure VM: the metadata service at its link-local address is the practice server, one hop away.
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';

import { startAzure, type LabAzure } from '../../../practice/lab/azure.ts';
import { azpFleet } from '../../../practice/lab/azp-fleet.ts';
import { names, raiseCloud, reach } from '../../../practice/lab/cloud.ts';
import type { LabHost } from '../../../practice/lab/host.ts';
import { writeInventory } from '../../../practice/lab/inventory.ts';
import type { Lab } from '../../../practice/lab/lab.ts';
import { startStackLab } from '../../../practice/lab/provisioned.ts';
import { boxAndBare, ManagedHost } from '../support/managed-host.ts';
import { placesOnHost } from '../support/secret-search.ts';

let lab: Lab;
let azure: LabAzure;
let host: LabHost;
let managed: ManagedHost;
beforeAll(async () => {
  lab = await startStackLab({ prefix: 'identity', hosts: [{ name: 'vm', gpus: ['h200', 'h200'] }] });
  host = lab.host('vm');
  azure = await startAzure('identity', lab.folder);
  managed = new ManagedHost(host, azure);
  await provision(await writeInventory(lab, azure, { hosts: { vm: { agents: boxAndBare } } }));
  const { origin } = new URL(azure.organization);
  await raiseCloud(host, new URL(origin));
  await azure.control.setMachine({ vm: {} });
  // The CLI's own credential has its token endpoint at the practice server, which is thereby Azure DevOps Services.
  const secret = { file: azure.tokenFile };
  const servicePrincipal = { clientId: 'client-1', tenantId: 'tenant-1', secret, authority: origin };
  const inventory = await writeInventory(lab, azure, {
    file: join(lab.folder, 'identity.yaml'),
    hosts: { vm: { agents: boxAndBare } },
    top: { token: undefined, servicePrincipal, managedIdentity: {} },
  });
  await provision(inventory);
  await managed.allIdle();
});
afterAll(() => lab.remove());

async function provision(inventory: string): Promise<void> {
  const { code, stdout, stderr } = await azpFleet(lab.folder, ['provision', inventory, '--yes']);
  expect(code, `${stdout}\n${stderr}`).toBe(0);
}

const run = async (slot: string, script: string) => {
  const demands = [`Agent.Name -equals vm-${slot}`];
  const [job] = await managed.finished(await managed.queue(script, 1, demands));
  return job;
};

test('the manager logs in, and no credential is on the host', async () => {
  expect(await run('box', 'true')).toMatchObject({ result: 'succeeded' });
  const { stdout: unit } = await host.exec('systemctl cat azp-fleet-manager');
  expect(unit).not.toContain('LoadCredential');
  expect(await placesOnHost(host, azure.token)).toEqual([]);
});

test.each(['box', 'bare'])('a job of %s gets no identity', async (slot) => {
  const path =
    '/metadata/identity/oauth2/token?api-version=2018-02-01&resource=499b84ac-1321-427f-aa17-267ca6975798';
  // Neither the host nor the image has curl.
  const ask = `timeout 5 bash -c 'exec 3<>/dev/tcp/169.254.169.254/80
printf "GET ${path} HTTP/1.1\\r\\nHost: 169.254.169.254\\r\\nMetadata: true\\r\\nConnection: close\\r\\n\\r\\n" >&3
cat <&3'`;
  expect((await host.exec(ask)).stdout).toContain('access_token');
  const before = (await azure.control.requests()).at(-1)?.n ?? 0;
  const job = await run(slot, `${ask}\n${reach}\ntrue`);
  expect(job?.log).not.toContain('access_token');
  expect(job?.log.split('\n').filter((line) => line.startsWith('reached'))).toEqual([`reached ${names}`]);
  await managed.allIdle();
  // Those of the manager alone, whose token is kept for longer than this job.
  const asked = await azure.control.requests(before);
  expect(asked.filter(({ path }) => path === '/metadata/identity/oauth2/token')).toEqual([]);
});

test("a container has no way to the port of Azure Arc's agent", async () => {
  await host.exec(
    `systemd-run --quiet --unit=arc /opt/azp-fleet/current/node -e 'require("net").createServer((socket) => socket.end()).listen(40342, "127.0.0.1")'
until timeout 1 bash -c '</dev/tcp/127.0.0.1/40342' 2>/dev/null; do sleep 0.2; done`,
  );
  const { stdout: gateway } = await host.exec(
    "ip -4 -o addr show azp-fleet0 | awk '{print $4}' | cut -d/ -f1",
  );
  const job = await run(
    'box',
    `for address in 127.0.0.1 ${gateway.trim()} ${host.address}; do
  timeout 3 bash -c "</dev/tcp/$address/40342" 2>/dev/null && echo "reached $address"
done
echo asked`,
  );
  expect(job?.log.trim()).toBe('asked');
});
