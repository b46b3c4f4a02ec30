// From `azp-fleet setup` to an agent that is online, on a pseudo-terminal, in one go.
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';

import { loadFleet } from '../../src/fleet/inventory/load.ts';
import type { Terminal } from '../../practice/lab/terminal.ts';
import { practiceEnvironment, startAzure, type LabAzure } from '../../practice/lab/azure.ts';
import { writeInventory } from '../../practice/lab/inventory.ts';
import { startLab, type Lab } from '../../practice/lab/lab.ts';
import { dockerVersions } from '../../practice/lab/repositories.ts';
import { makeDesk, startCli, type Desk } from '../../practice/lab/setup-terminal.ts';

let lab: Lab;
let azure: LabAzure;
let desk: Desk;
let terminal: Terminal | undefined;

beforeAll(async () => {
  lab = await startLab({
    prefix: 'wizard',
    hosts: [
      { name: 'old', release: 'bookworm', login: 'root', gpus: ['h200'] },
      { name: 'new', release: 'bookworm', login: 'sudo', gpus: ['l40s', 'l40s'] },
    ],
  });
  azure = await startAzure('wizard', lab.folder);
  desk = makeDesk(lab);
});
afterAll(async () => {
  terminal?.close();
  for (const folder of [desk.folder, desk.ssh]) rmSync(folder, { recursive: true });
  await azure.stop();
  await lab.remove();
});

test('a host is added to an inventory, provisioned, and its agents are online', async () => {
  const file = join(desk.folder, 'inventory.yaml');
  const old: Lab = { ...lab, hosts: [lab.host('old')] };
  await writeInventory(old, azure, { file, defaults: { docker: { version: dockerVersions().bookworm } } });
  terminal = startCli(desk, 'setup', practiceEnvironment(lab.folder));
  await terminal.answer('inventory.yaml has 1 host', 'Enter');
  await terminal.answer('Hosts from', 'Down', 'Space', 'Enter');
  await terminal.answer('Others', 'Enter');
  await terminal.see(/✔ gpu-new +Debian 12, 2 GPUs, labadmin/);
  await terminal.answer('Add 1 host to inventory.yaml', 'Enter');
  await terminal.see('backup: inventory.yaml.bak-1');
  await terminal.answer('Provision now', 'Enter');
  await terminal.see('? Apply these changes');
  terminal.press('y', 'Enter');
  await terminal.see('[exit 0]');

  const { hosts } = loadFleet(file, { env: {}, cwd: desk.folder, home: '/' });
  expect(hosts.map(({ name, gpus }) => ({ name, gpus }))).toEqual([
    { name: 'old', gpus: undefined },
    { name: 'gpu-new', gpus: 2 },
  ]);
  const { pools } = await azure.control.overview();
  const agents = pools.filter(({ name }) => name === 'gpu-lab').flatMap((pool) => pool.agents);
  // In whichever order they came.
  const byName = agents.toSorted((a, b) => a.name.localeCompare(b.name));
  expect(byName.map(({ name, status }) => ({ name, status }))).toEqual([
    { name: 'gpu-new-0', status: 'online' },
    { name: 'gpu-new-1', status: 'online' },
  ]);
});
