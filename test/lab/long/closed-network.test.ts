// A site that reaches Azure DevOps through a proxy alone, with certificates of the site's authority: the server's name
// exists only at the proxy. The host, its manager, the proxy and TLS are real; the server is a stand-in. The stand-in of
// the agent's program knows no proxy, so that no job is run here.
import type { Server } from 'node:tls';
import { afterAll, beforeAll, expect, test } from 'vitest';

import type { ManagerStatus } from '../../../src/shared/contract/status.ts';
import { startConnectProxy, type ConnectProxy } from '../../support/connect-proxy.ts';
import { startAzure, type LabAzure } from '../../../practice/lab/azure.ts';
import { azpFleet } from '../../../practice/lab/azp-fleet.ts';
import type { LabHost } from '../../../practice/lab/host.ts';
import { writeInventory } from '../../../practice/lab/inventory.ts';
import { removeLab, startLab, type Lab } from '../../../practice/lab/lab.ts';
import { network } from '../../../practice/lab/paths.ts';
import { makeCertificates, startTls } from '../../../practice/lab/tls.ts';

const prefix = 'closed';
const name = 'azure.lab.invalid';
const settings = { timeout: 900_000, interval: 500 };

let lab: Lab;
let host: LabHost;
let azure: LabAzure;
let site: Server;
let proxy: ConnectProxy;
let isOpen = true;
let inventory: string;

beforeAll(async () => {
  lab = await startLab({ prefix, hosts: [{ name: 'a', release: 'trixie', gpus: ['h200'] }] });
  host = lab.host('a');
  azure = await startAzure(prefix, lab.folder, { speed: 10 });
  await makeCertificates(lab.folder, [`DNS:${name}`]);
  const { hostname, port: plain } = new URL(azure.organization);
  const tls = await startTls(lab.folder, '127.0.0.1', { hostname, port: Number(plain) });
  site = tls.server;
  proxy = await startConnectProxy(network.gateway, ({ target }) => {
    if (!isOpen) return 503;
    return target === `${name}:443` ? { host: '127.0.0.1', port: tls.port } : 403;
  });
  inventory = await writeInventory(lab, azure, {
    top: {
      organization: `https://${name}/lab`,
      proxy: { https: `http://${proxy.address}`, noProxy: [network.gateway] },
      ca: 'ca.crt',
    },
  });
});
afterAll(async () => {
  await proxy.close();
  site.close();
  await removeLab(prefix);
});

async function status(): Promise<ManagerStatus> {
  return JSON.parse((await host.exec('cat /run/azp-fleet/status.json')).stdout) as ManagerStatus;
}
const problem = async (): Promise<string | undefined> => (await status()).problems[0]?.code;

test('CLI and manager reach the server through the proxy, and trust its certificate', async () => {
  const { code, stderr } = await azpFleet(lab.folder, ['provision', inventory, '--yes', '--no-probe']);
  expect(code, stderr).toBe(0);
  await expect.poll(async () => (await status()).slots[0]?.agentId, settings).toBeGreaterThan(0);
  expect((await status()).problems).toEqual([]);
  const clients = proxy.requests.filter(({ target }) => target === `${name}:443`).map(({ from }) => from);
  expect([...new Set(clients)].sort()).toEqual([network.gateway, host.address].sort());
});

test('a proxy that is down is named, and nothing is needed once it is back', async () => {
  isOpen = false;
  await expect.poll(problem, settings).toBe('azure.unreachable');
  expect((await status()).problems[0]?.what).toContain(`${proxy.address} answered 503`);
  isOpen = true;
  await expect.poll(problem, settings).toBeUndefined();
});

test('a certificate that is not trusted is said as such', async () => {
  await host.exec(`cp -p /etc/azp-fleet/ca.pem /root/ca.pem
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=other -keyout /dev/null -out /etc/azp-fleet/ca.pem 2>/dev/null
systemctl restart azp-fleet-manager`);
  await expect.poll(problem, settings).toBe('azure.certificate');
  await host.exec('cp -p /root/ca.pem /etc/azp-fleet/ca.pem; systemctl restart azp-fleet-manager');
  await expect.poll(problem, settings).toBeUndefined();
});
