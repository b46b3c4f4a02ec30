import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';

import { loadFleet } from '../../../../src/fleet/inventory/load.ts';
import { runCommand, type CommandResult } from '../../../support/command.ts';

const server = 'https://dev.azure.com/lab';
let cwd = '';
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'import-'));
  writeFileSync(
    join(cwd, 'hosts.ini'),
    '[hopper]\nh200-1 ansible_host=192.0.2.11 ansible_user=lab\nh200-2 rack=7\n',
  );
});
afterEach(() => rmSync(cwd, { recursive: true }));

function run(line: string): Promise<CommandResult> {
  return runCommand(['inventory', 'import', ...line.split(' ')], { cwd });
}

test('it shows the inventory, the left-out entries and the next command, and writes nothing', async () => {
  const { exitCode, stdout } = await run('--ansible hosts.ini -o lab.yaml --pool gpu-x');
  expect([exitCode, stdout]).toEqual([0, expect.stringContaining('2 hosts would be written to lab.yaml:')]);
  for (const piece of [
    'h200-1: { address: 192.0.2.11, user: lab }',
    'pool: gpu-x',
    'variable rack',
    '-o lab.yaml --pool gpu-x \\\n  --write',
  ])
    expect(stdout).toContain(piece);
  expect(() => readFileSync(join(cwd, 'lab.yaml'))).toThrow('ENOENT');
});

test('it writes a valid inventory', async () => {
  expect((await run(`--ansible hosts.ini -o lab.yaml --write --organization ${server}`)).exitCode).toBe(0);
  const { hosts, organization } = loadFleet('lab.yaml', { cwd, env: {}, home: cwd });
  expect(organization).toBe(server);
  expect(hosts.map(({ name, groups }) => [name, groups])).toEqual([
    ['h200-1', ['hopper']],
    ['h200-2', ['hopper']],
  ]);
});

test('the printed next command works as printed, and names what is still missing', async () => {
  const preview = await run('--ansible hosts.ini -o lab.yaml');
  const [, next = ''] = /^Next: azp-fleet inventory import (.+)$/mu.exec(preview.stdout) ?? [];
  const written = await run(next);
  expect([written.exitCode, written.stdout]).toEqual([
    0,
    expect.stringContaining(
      'Next: replace NAME under "organization:" in lab.yaml, then run:\n  azp-fleet inventory check lab.yaml\n',
    ),
  ]);
  const check = await runCommand(['inventory', 'check', 'lab.yaml'], { cwd });
  expect([check.exitCode, check.stderr]).toEqual([
    2,
    expect.stringContaining('lab.yaml:3:15: "NAME" is a placeholder'),
  ]);
});

test('the printed next command is quoted for a shell, and continued with backslashes', async () => {
  const argv = [
    'inventory',
    'import',
    '--ansible',
    'hosts.ini',
    '--pool',
    'gpu lab',
    '-o',
    'a/very/long/folder/lab.yaml',
  ];
  const { stdout } = await runCommand(argv, { cwd, terminal: { columns: 80, rows: 24 } });
  const next = stdout.slice(stdout.indexOf('Next:')).trimEnd();
  expect(next.replaceAll(/(?: \\)?\n\s*/gu, ' ')).toBe(
    `Next: azp-fleet inventory import --ansible hosts.ini --pool 'gpu lab' -o a/very/long/folder/lab.yaml --write`,
  );
  expect(Math.max(...next.split('\n').map((line) => line.length))).toBeLessThan(80);
});

test('an existing inventory keeps its comments and hosts, with a backup', async () => {
  const before = `# ours
organization: https://dev.azure.com/example
token: { env: AZP_TOKEN }
defaults: { pool: gpu-lab }
groups:
  hopper: { hosts: [big] } # the large ones
hosts:
  big: { address: 192.0.2.11 } # the first
`;
  writeFileSync(join(cwd, 'lab.yaml'), before);
  const { stdout } = await run('--ansible hosts.ini -o lab.yaml --write');
  expect(stdout).toContain('1 host added to lab.yaml');
  expect(stdout).toContain('host h200-1: same address as host big');
  expect(readFileSync(join(cwd, 'lab.yaml'), 'utf8')).toBe(
    before.replace('[big]', '[ big, h200-2 ]').concat('  h200-2: {}\n'),
  );
  expect(readFileSync(join(cwd, 'lab.yaml.bak-1'), 'utf8')).toBe(before);
  const again = await run('--ansible hosts.ini -o lab.yaml --write');
  expect(again.stdout).toContain('nothing to add to lab.yaml');
  expect(again.stdout).toContain('host h200-2: the inventory has a host with that name');
});

test("hosts of ssh's configuration need only names and their file; Git servers are left out", async () => {
  writeFileSync(join(cwd, 'mine'), 'Host rtx h200-*\n  HostName 192.0.2.7\nHost github.com\n  User git\n');
  const { stdout } = await run('--ssh-config mine');
  expect(stdout).toContain(`rtx: { sshConfig: ${join(cwd, 'mine')} }`);
  expect(stdout).toContain('host github.com: it hosts Git repositories');
  expect((await run('--ssh')).exitCode).toBe(0);
});

test.each([
  ['--write', 'usage.import'],
  ['--ansible a --terraform b', 'usage.import'],
  ['--ansible none.ini', 'inventory.import'],
  ['--terraform hosts.ini', 'inventory.import'],
  ['--ansible hosts.ini --write --organization https://github.com/lab', 'azure.url'],
])('%s is reported', async (line, code) => {
  const { exitCode, stdout } = await run(`${line} --json`);
  expect([exitCode, JSON.parse(stdout)]).toEqual([
    2,
    expect.objectContaining({ problems: [expect.objectContaining({ code })] }),
  ]);
});
