// The real command on a real pseudo-terminal of 80 columns, against real sshds and the practice server.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest';

import { requireCurrentBuild } from '../support/current-build.ts';
import type { Terminal } from '../../practice/lab/terminal.ts';
import { type Desk, give, makeDesk, path, steady } from '../support/wizard-desk.ts';

let desk: Desk;
let terminal: Terminal;

beforeAll(() => requireCurrentBuild(repository));
beforeEach(async () => void (desk = await makeDesk()));
afterEach(async () => {
  terminal.close();
  await desk.end();
});

const repository = join(import.meta.dirname, '../..');

const file = () => readFileSync(join(desk.folder, 'inventory.yaml'), 'utf8');

/** Replaces the preset answer and submits it. */
function type(text: string): void {
  terminal.press('C-u');
  terminal.type(text);
  terminal.press('Enter');
}

/** Waits for the complaint below a question. */
async function refused(text: string, complaint: string | RegExp): Promise<void> {
  type(text);
  await terminal.see(complaint);
}

test('every wrong answer is refused where it is typed, and the rest is an inventory', async () => {
  terminal = desk.start('setup');
  await terminal.answer('Hosts from', 'Enter');
  await terminal.see('? Hosts (user@');
  await refused('box a@', 'a@: write address, user@address:port or name=user@address:port');
  await refused('gpu!1', 'gpu!1: write a name of letters');
  await refused('box-a:22 box-a:2222', 'Duplicate host box-a');
  type('box-a closd');
  await terminal.see('? closd is not ready');
  terminal.press('Enter');
  // A name that is nearly one of ~/.ssh/config is proposed.
  await terminal.see('closd, corrected (user@address:port): (closed)');
  terminal.press('Enter');
  await terminal.see(/closed is not ready:[^]*Remove it/);
  terminal.press('Enter');
  await terminal.see('? closed, corrected');
  type(`127.0.0.1:${desk.hosts[1]?.port ?? 0}`);
  await terminal.see('127.0.0.1 is not ready');
  terminal.press('Down', 'Down', 'Down', 'Enter');
  await terminal.see('? Private key file');
  await refused('nothing', 'nothing cannot be read');
  type(desk.hosts[1]?.clientKeyFile ?? '');
  await terminal.see('? The hostname of 127.0.0.1 is rtx-7. Name in the inventory: (rtx-7)');
  await refused('box-a', 'Name already in use');
  await refused('a b', 'write a name of letters');
  type('rtx-7');
  await terminal.see('? Azure DevOps organization');
  await refused('https://dev.azure.com', 'https://dev.azure.com/ORGANIZATION');
  type(`${desk.azure.organization}/vision/_git/models`);
  await terminal.answer('Does internet access need a proxy', 'y', 'Enter');
  await terminal.see('? Proxy');
  await refused('proxy:3128', 'http://… or https://…');
  type('');
  await terminal.see('? PEM file');
  await refused('/no/ca.pem', '/no/ca.pem cannot be read');
  type('');
  await terminal.answer('Use mirrors', 'Enter');
  await terminal.answer('Where is the access token stored', 'Enter');
  await terminal.see('? The access token');
  terminal.type('two words');
  terminal.press('Enter');
  await terminal.see('has no spaces');
  terminal.type('wrong');
  terminal.press('Enter');
  await terminal.see('? The token check failed');
  terminal.press('Down', 'Down', 'Enter');
  await terminal.see(/The token check failed: Correct[^]*Azure DevOps organization/);
  terminal.press('Enter');
  await terminal.see(/correct[^]*Does internet access need a proxy/i);
  terminal.type('n');
  terminal.press('Enter');
  await terminal.see('? Where is the access token stored');
  terminal.press('Enter');
  await terminal.see('? The access token (replaces');
  terminal.type('right');
  terminal.press('Enter');
  await terminal.see('? When does it expire');
  await refused('2027-5-1', 'Year-month-day');
  await refused('2020-01-01', '2020-01-01 is in the past');
  type('2099-05-31');
  await terminal.answer('Projects that may use the pool', 'Enter');
  await terminal.answer('Agent pool:', 'Enter');
  await terminal.see('? Agent pool (created');
  await refused('gpu/lab', 'Azure DevOps allows no / in pool names');
  type('gpu-lab');
  await terminal.answer('Agents on each host', 'Down', 'Enter');
  await terminal.see('? How many');
  await refused('0', 'A number from 1 to 256');
  type('1');
  await terminal.answer('Mounts of the hosts', 'Space', 'Enter');
  await terminal.see('? Other folders');
  await refused('data', 'data: an absolute path');
  type('');
  await terminal.see('? Environment variable with the path of /mnt/imagenet');
  await refused('9', 'Capital letters');
  type('IMAGENET');
  await terminal.answer('Is /mnt/imagenet a mount', 'Enter');
  await terminal.see('? Write it to inventory.yaml?');
  expect(readdirSync(desk.folder)).toEqual([]);
  terminal.press('Down', 'Enter');
  await terminal.see('? File:');
  await refused('lab.txt', 'A name that ends in .yaml');
  type('inventory.yaml');
  await terminal.answer('Provision now', 'n', 'Enter');
  await terminal.see('[exit 0]');
  expect(
    file()
      .split('\n')
      .slice(1)
      .join('\n')
      .replaceAll(/127\.0\.0\.1:\d+/g, 'SERVER'),
  ).toMatch(
    /organization: http:\/\/SERVER\/lab\ntoken: \{ file: \S+\/token, expires: 2099-05-31 \}[^]*projects: \[ vision \][^]*IMAGENET: \{ host: \/mnt\/imagenet[^]*box-a: \{ gpus: 2 \}\n {2}rtx-7: \{ address: 127\.0\.0\.1, port: \d+, identityFile: \S+, gpus: 1 \}/,
  );
  expect(
    terminal
      .history()
      .split('\n')
      .every((line) => line.length <= 80),
  ).toBe(true);
});

/** How often a question was asked so far. */
const times = (question: string) => terminal.history().split(question).length - 1;

async function again(question: string, before: number): Promise<void> {
  await expect.poll(() => times(question)).toBeGreaterThan(before);
  await terminal.see(`? ${question}`);
}

test('Ctrl-C at every question writes nothing, and the next start continues from there', async () => {
  for (const [index, [question]] of path.entries()) {
    terminal = desk.start('setup');
    if (index > 1) await terminal.answer('Saved answers from', 'Enter');
    const [before, ...keys] = path[index - 1] ?? [];
    if (before !== undefined) {
      await terminal.see(`? ${before}`);
      give(desk, terminal, keys);
    }
    await terminal.see(`? ${question}`);
    terminal.press('C-c');
    await terminal.see('[exit 130]');
    expect(readdirSync(desk.folder)).toEqual([]);
    if (index > 0) expect(terminal.screen()).toContain('Your answers are saved');
    terminal.close();
  }
  terminal = desk.start('setup');
  await terminal.answer('Saved answers from', 'Enter');
  const [last = '', ...keys] = path.at(-1) ?? [];
  await terminal.see(`? ${last}`);
  give(desk, terminal, keys);
  await terminal.answer('Provision now', 'n', 'Enter');
  await terminal.see('[exit 0]');
  expect(file()).toContain('projects: [ vision ]');
  expect(terminal.screen()).toContain('azp-fleet pipeline inventory.yaml');
});

test('Esc goes back at every question, and the answers before stay', async () => {
  terminal = desk.start('setup');
  for (const [index, [question, ...keys]] of path.entries()) {
    await terminal.see(`? ${question}`);
    const [before] = path[index - 1] ?? [];
    if (before !== undefined) {
      const [seen, asked] = [times(before), times(question)];
      terminal.press('Escape');
      await again(before, seen);
      terminal.press('Enter');
      await again(question, asked);
    }
    give(desk, terminal, keys);
  }
  await terminal.answer('Provision now', 'n', 'Enter');
  await terminal.see('[exit 0]');
  expect(file()).toContain('projects: [ vision ]');
  expect(file()).toContain('box-a: { gpus: 2 }\n  box-b: { gpus: 1 }');
});

test('the happy path, as the page shows it', async () => {
  terminal = desk.start('setup');
  for (const [question, ...keys] of path) {
    await terminal.see(`? ${question}`);
    give(desk, terminal, keys);
  }
  await terminal.answer('Provision now', 'n', 'Enter');
  await terminal.see('[exit 0]');
  const page = join(import.meta.dirname, '../../docs/setup-transcript.txt');
  await expect(steady(terminal.history())).toMatchFileSnapshot(page);
});

test('hosts are added to an inventory that is there, its comments kept', async () => {
  const before = `# ours
organization: https://dev.azure.com/example
token: { env: AZP_TOKEN }
defaults: { pool: gpu-lab, sshConfig: ../ssh_config } # everywhere
hosts:
  old: { address: 192.0.2.1 } # rack 7
`;
  writeFileSync(join(desk.folder, 'inventory.yaml'), before);
  terminal = desk.start('setup --add box-b');
  await terminal.see('✔ Hosts (user@address:port …): box-b');
  await terminal.see('? Add 1 host to inventory.yaml');
  expect(file()).toBe(before);
  terminal.press('Enter');
  await terminal.answer('Provision now', 'n', 'Enter');
  await terminal.see('[exit 0]');
  expect(file()).toMatch(/^# ours\n[^]*# everywhere\n[^]*# rack 7\n {2}box-b: \{[^}]*gpus: 1 \}\n$/);
  expect(readFileSync(join(desk.folder, 'inventory.yaml.bak-1'), 'utf8')).toBe(before);
});

test('one that the inventory has under another name is not added; the others bring their ssh_config', async () => {
  const before = `organization: https://dev.azure.com/example
token: { env: AZP_TOKEN }
defaults: { pool: gpu-lab }
hosts:
  old: { address: box-a, sshConfig: ../ssh_config }
`;
  const config = join(desk.folder, '../ssh_config');
  const { port = 0, user = '', clientKeyFile = '' } = desk.hosts[0] ?? {};
  const twin = `Host twin\n  HostName localhost\n  Port ${port}\n  User ${user}\n  IdentityFile ${clientKeyFile}\n`;
  writeFileSync(config, `${twin}${readFileSync(config, 'utf8')}`);
  writeFileSync(join(desk.folder, 'inventory.yaml'), before);
  terminal = desk.start('setup --add twin --add box-b');
  await terminal.see('! twin is the same machine as old in the inventory: not added');
  await terminal.answer('Add 1 host to inventory.yaml', 'Enter');
  await terminal.answer('Provision now', 'n', 'Enter');
  await terminal.see('[exit 0]');
  expect(file()).toBe(`${before}  box-b: { sshConfig: ${config}, gpus: 1 }\n`);
});

test('without a question: options, a file of answers, and what Enter gives', async () => {
  writeFileSync(
    join(desk.folder, 'answers.yaml'),
    `organization: ${desk.azure.organization}\nprojects: [speech]\ntoken: { file: ${desk.tokenFile} }\nunready: drop\n`,
  );
  terminal = desk.start(
    'setup --yes --answers answers.yaml --host box-a --host closed --agents 1 --pool night',
  );
  await terminal.see('[exit 0]');
  expect(file()).toMatch(
    /projects: \[ speech \][^]*pool: night\n {2}agents: 1[^]*hosts:\n {2}box-a: \{ gpus: 2 \}\n$/,
  );
});
