// The real command on a real pseudo-terminal, against real hosts. The organization is the practice server.
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import type { Terminal } from '../../practice/lab/terminal.ts';
import { startAzure, type LabAzure } from '../../practice/lab/azure.ts';
import { startLab, type Lab } from '../../practice/lab/lab.ts';
import { repository } from '../../practice/lab/paths.ts';
import { makeDesk, startCli, type Desk } from '../../practice/lab/setup-terminal.ts';

let lab: Lab;
let azure: LabAzure;
let desk: Desk;
let terminal: Terminal | undefined;

beforeAll(async () => {
  lab = await startLab({
    prefix: 'setup',
    hosts: [
      { name: 'a', release: 'bookworm', login: 'root', gpus: ['h200', 'h200'] },
      { name: 'b', release: 'bookworm', login: 'sudo-password', gpus: ['l40s'] },
    ],
  });
  azure = await startAzure('setup', lab.folder);
});
afterAll(async () => {
  await azure.stop();
  await lab.remove();
});

beforeEach(() => {
  // No server listens on port 9.
  desk = makeDesk(lab, `Host closed\n  HostName ${lab.host('a').address}\n  Port 9\n  User root\n`);
});
afterEach(() => {
  terminal?.close();
  terminal = undefined;
  for (const folder of [desk.folder, desk.ssh]) rmSync(folder, { recursive: true });
});

test('hosts of ~/.ssh/config are tested, fixed or skipped, and become an inventory', async () => {
  const password = join(desk.ssh, 'sudo-password');
  writeFileSync(password, 'a typo\n', { mode: 0o600 });
  terminal = startCli(desk, 'setup');
  await terminal.answer('Hosts from', 'a', 'Enter');
  await terminal.answer('Others', 'Enter');
  await terminal.see('sudo needs a password on gpu-b.');
  await terminal.answer('Where is the sudo password stored', 'Down', 'Enter');
  await terminal.see('? File:');
  terminal.type(password);
  terminal.press('Enter');
  const failed = await terminal.see('? closed is not ready');
  expect(failed).toContain('closed · connect');
  expect(failed).toContain('next ');
  await terminal.answer('closed is not ready', 'Down', 'Enter');
  await terminal.see('sudo refused the password of labadmin');
  await terminal.see('? Where is the sudo password stored');
  writeFileSync(password, 'practice makes perfect\n');
  terminal.press('Down', 'Enter');
  await terminal.see('? File:');
  terminal.type(password);
  terminal.press('Enter');
  await terminal.see('? Azure DevOps organization');
  expect(terminal.history()).toMatch(/✔ gpu-a +Debian 12, 2 GPUs, root/);
  expect(terminal.screen()).toMatch(/✔ gpu-b +Debian 12, 1 GPU, labadmin/);
  terminal.type(`${azure.organization}/vision/_build`);
  terminal.press('Enter');
  await terminal.answer('Does internet access need a proxy', 'Enter');
  await terminal.answer('Where is the access token stored', 'Down', 'Down', 'Enter');
  await terminal.see(/\? File:/);
  terminal.type(azure.tokenFile);
  terminal.press('Enter');
  await terminal.see('pools: ');
  await terminal.see('? When does it expire');
  terminal.type('2027-5-1');
  terminal.press('Enter');
  await terminal.see('> Year-month-day');
  terminal.press(...Array.from('5-1', () => 'BSpace'));
  terminal.type('05-01');
  terminal.press('Enter');
  await terminal.answer('Projects that may use the pool', 'Enter');
  await terminal.answer('Agent pool:', 'Enter');
  await terminal.answer('Agent pool (created', 'Enter');
  await terminal.answer('Agents on each host', 'Enter');
  await terminal.see('? Folders of the hosts');
  terminal.type('/data/image-net');
  terminal.press('Enter');
  await terminal.answer('Environment variable with the path', 'Enter');
  await terminal.answer('Is /data/image-net a mount', 'Enter');
  await terminal.see('? Write it to inventory.yaml?');
  expect(readdirSync(desk.folder)).toEqual([]);
  await terminal.answer('Write it to inventory.yaml', 'Enter');
  await terminal.answer('Provision now', 'n', 'Enter');
  await terminal.see('[exit 0]');
  expect(terminal.screen()).toContain('Next: azp-fleet plan inventory.yaml');

  const text = readFileSync(join(desk.folder, 'inventory.yaml'), 'utf8');
  expect(
    text
      .replaceAll(desk.ssh, 'SSH')
      .replace(repository, 'PACKAGE/')
      .replace(azure.organization, 'URL')
      .replace(azure.tokenFile, 'TOKEN'),
  ).toBe(
    `# yaml-language-server: $schema=PACKAGE/inventory.schema.json

organization: URL
token: { file: TOKEN, expires: 2027-05-01 } # the source of the token, never the token itself
projects: [ vision ] # projects whose pipelines may use the pool

defaults:
  pool: gpu-lab
  agents: one-per-gpu # each agent has one GPU and runs one job at a time
  datasets:
    IMAGE_NET: { host: /data/image-net, container: /datasets/image_net }

hosts:
  gpu-a: { gpus: 2 }
  gpu-b: { gpus: 1, sudoPassword: { file: SSH/sudo-password } }
`,
  );

  terminal.close();
  terminal = startCli(desk, 'plan inventory.yaml');
  await terminal.see('[exit 3]');
  expect(terminal.history()).toMatch(/^gpu-a: \d+ changes$/m);
  expect(terminal.history()).toMatch(/^gpu-b: \d+ changes$/m);
});

test('a host that knows no key of ours can be logged in to by password', async () => {
  const { address } = lab.host('b');
  const entry = `Host by-password\n  HostName ${address}\n  User labadmin\n  IdentityFile none\n  IdentityAgent none\n`;
  writeFileSync(join(desk.ssh, 'config'), entry);
  terminal = startCli(desk, 'setup');
  await terminal.answer('Hosts from', 'Space', 'Enter');
  await terminal.answer('Others', 'Enter');
  await terminal.answer('by-password is not ready', 'Down', 'Enter');
  await terminal.see(/\? .*assword.* of labadmin|\? .*assword for labadmin/i);
  terminal.type('practice makes perfect');
  terminal.press('Enter');
  await terminal.see('? sudo password of labadmin');
  terminal.type('practice makes perfect');
  terminal.press('Enter');
  await terminal.see('? Azure DevOps organization');
  expect(terminal.history()).toMatch(/✔ by-password +Debian 12, 1 GPU, labadmin/);
  expect(terminal.history()).not.toContain('practice makes perfect');
});

describe('Ctrl-C leaves nothing behind', () => {
  test('while hosts are tested', async () => {
    await lab.host('b').freeze(true);
    terminal = startCli(desk, 'setup');
    await terminal.answer('Hosts from', 'Down', 'Space', 'Enter');
    await terminal.answer('Others', 'Enter');
    await terminal.see(/gpu-b +connecting/);
    terminal.press('C-c');
    await terminal.see('[exit 130]');
    await lab.host('b').freeze(false);
    expect(readdirSync(desk.folder)).toEqual([]);
  });

  test('at the last question before writing, and an inventory that was there is unchanged', async () => {
    const before = 'organization: [\n';
    writeFileSync(join(desk.folder, 'inventory.yaml'), before);
    terminal = startCli(desk, 'setup');
    await terminal.see('cannot add hosts to inventory.yaml');
    await terminal.answer('Hosts from', 'Space', 'Enter');
    await terminal.answer('Others', 'Enter');
    await terminal.see('? Azure DevOps organization');
    terminal.type('example');
    terminal.press('Enter');
    await terminal.answer('Does internet access need a proxy', 'Enter');
    await terminal.answer('Where is the access token stored', 'Down', 'Enter');
    await terminal.answer('Variable', 'Enter');
    await terminal.see('environment variable AZP_TOKEN is not set');
    await terminal.answer('When does it expire', 'Enter');
    await terminal.answer('Projects', 'Enter');
    await terminal.answer('Agent pool', 'Enter');
    await terminal.answer('Agents on each host', 'Enter');
    await terminal.answer('Folders of the hosts', 'Enter');
    await terminal.see('? inventory.yaml exists');
    terminal.press('C-c');
    await terminal.see('[exit 130]');
    expect(readdirSync(desk.folder)).toEqual(['inventory.yaml']);
    expect(readFileSync(join(desk.folder, 'inventory.yaml'), 'utf8')).toBe(before);
  });

  test('at the first question', async () => {
    terminal = startCli(desk, 'setup');
    await terminal.see('? Hosts from');
    terminal.press('C-c');
    await terminal.see('[exit 130]');
    expect(readdirSync(desk.folder)).toEqual([]);
  });
});
