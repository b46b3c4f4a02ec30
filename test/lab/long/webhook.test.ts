// A webhook on a real host: the manager under its unit, its file, the network; SSH and systemd are real. GPUs, the agent's
// program and Azure DevOps are stand-ins.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';

import { azpFleet } from '../../../practice/lab/azp-fleet.ts';
import { writeInventory } from '../../../practice/lab/inventory.ts';
import { network } from '../../../practice/lab/paths.ts';
import { provisionedFleet, type ProvisionedFleet } from '../../../practice/lab/provisioned.ts';
import type { Output } from '../../../practice/lab/run.ts';
import { ManagedHost } from '../support/managed-host.ts';
import { placesOnHost } from '../support/secret-search.ts';

interface Message {
  readonly text: string;
  readonly events: readonly { readonly event: string; readonly state?: string; readonly code?: string }[];
}

const secret = 'T0LAB/s3cret-path-of-the-room';
const patience = { timeout: 900_000, interval: 500 };
const got: Message[] = [];

let fleet: ProvisionedFleet;
let managed: ManagedHost;
let receiver: Server;
beforeAll(async () => {
  fleet = await provisionedFleet();
  managed = new ManagedHost(fleet.lab.host('hook'), fleet.azure);
  receiver = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => (body += String(chunk)));
    request.on('end', () => {
      const isTaken = request.url === `/services/${secret}`;
      if (isTaken) got.push(JSON.parse(body) as Message);
      response.writeHead(isTaken ? 200 : 404).end(isTaken ? 'ok' : 'no_service');
    });
  });
  await new Promise<void>((resolve) => receiver.listen(0, network.gateway, resolve));
  setAddress(`/services/${secret}`);
});
afterAll(async () => {
  await managed.host.setGpuFaults([]);
  const { code, stdout, stderr } = await cli('provision', fleet.inventory, '--yes', '--no-probe');
  receiver.close();
  expect(code, stderr).toBe(0);
  expect(stdout).toContain('remove the address of the webhook');
  expect(await placesOnHost(managed.host, secret)).toEqual([]);
  await managed.allIdle();
});

const cli = (command: string, inventory: string, ...options: readonly string[]): Promise<Output> =>
  azpFleet(fleet.lab.folder, [command, inventory, '--limit', 'hook', ...options]);

function setAddress(path: string): void {
  const { port } = receiver.address() as AddressInfo;
  writeFileSync(join(fleet.lab.folder, 'webhook-address'), `http://${network.gateway}:${port}${path}\n`, {
    mode: 0o600,
  });
}

const events = () =>
  got.flatMap((message) => message.events.map(({ event, state = '' }) => `${event} ${state}`));

test('the address comes to one file for root, and stands in no plan, process, journal and other file', async () => {
  const inventory = await writeInventory(fleet.lab, fleet.azure, {
    file: join(fleet.lab.folder, 'webhook.yaml'),
    defaults: { webhook: { url: { file: 'webhook-address' } } },
  });
  const plan = await cli('plan', inventory, '--show-scripts', '--diff');
  expect(plan.stdout).toContain('store the address of the webhook (root only)');
  const { code, stdout, stderr } = await cli('provision', inventory, '--yes', '--no-probe');
  expect(code, `${stdout}${stderr}`).toBe(0);
  expect(`${plan.stdout}${plan.stderr}${stdout}${stderr}`).not.toContain(secret);
  expect((await cli('plan', inventory)).code).toBe(0);
  const tried = await azpFleet(fleet.lab.folder, ['webhook', 'hook', '--inventory', inventory]);
  expect(tried.stdout).toBe('hook: the webhook accepted a test message; check that it arrived\n');
  expect(got.map(({ text }) => text)).toEqual(['hook: this is a test of the webhook; nothing has happened']);
  expect(await placesOnHost(managed.host, secret)).toEqual(['file /etc/azp-fleet/webhook 600 root']);
});

test('a slot that the health gate closes is reported once, and once when it is open again', async () => {
  await managed.allIdle();
  await managed.host.setGpuFaults(['exit15 0']);
  await expect.poll(events, patience).toContain('slot-closed begun');
  expect(got.at(-1)?.text).toMatch(/^hook: slots? .* closed: GPU: /);
  await managed.host.setGpuFaults([]);
  await expect.poll(events, patience).toContain('slot-closed ended');
  await managed.allIdle();
});

test('a receiver that refuses is reported with its answer, without the address', async () => {
  const { port } = receiver.address() as AddressInfo;
  await managed.host.exec('cat >/etc/azp-fleet/webhook', {
    input: `http://${network.gateway}:${port}/services/gone/${secret}\n`,
  });
  const { code, stderr } = await azpFleet(fleet.lab.folder, [
    'webhook',
    'hook',
    '--inventory',
    join(fleet.lab.folder, 'webhook.yaml'),
  ]);
  expect(code).toBe(1);
  expect(stderr).toContain('the webhook refuses the message');
  expect(stderr).toContain('HTTP 404: no_service');
  expect(stderr).not.toContain(secret);
});
