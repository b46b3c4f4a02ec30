import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';

import { runCommand } from '../../../support/command.ts';

const cwd = mkdtempSync(join(tmpdir(), 'inventory-commands-'));
afterAll(() => rmSync(cwd, { recursive: true }));

writeFileSync(
  join(cwd, 'lab.ssh_config'),
  'Host h200-*\n  User labadmin\n  ConnectTimeout 7\nHost h200-1\n  HostName 192.0.2.11\n',
);
writeFileSync(
  join(cwd, 'lab.yaml'),
  `organization: https://dev.azure.com/example
token: { env: AZP_TOKEN, expires: 2026-12-01 }
defaults: { pool: gpu-lab, sshConfig: lab.ssh_config }
hosts:
  h200-1: { gpus: 8, labels: { room: b12 } }
  rtx: { address: rtx.lab.example, port: 2222, user: me }
`,
);

test('list shows the chosen hosts', async () => {
  const { exitCode, stdout } = await runCommand(['inventory', 'list', 'lab.yaml', '--limit', 'room=b12'], {
    cwd,
  });
  expect(exitCode).toBe(0);
  expect(stdout.split('\n').map((line) => line.split(' ')[0])).toEqual(['HOST', 'h200-1', '']);
});

test('show prints the connection of a host and the source of each option', async () => {
  const { stdout } = await runCommand(['inventory', 'show', 'h200-1', 'lab.yaml', '--json'], { cwd });
  expect(JSON.parse(stdout)).toMatchObject({
    hosts: [
      {
        name: 'h200-1',
        agentNames: Array.from({ length: 8 }, (_, slot) => `h200-1-${slot}`),
        connection: {
          hostname: '192.0.2.11',
          port: 22,
          user: 'labadmin',
          connecttimeout: 7,
          from: { hostname: 'ssh', port: 'default', user: 'ssh', connecttimeout: 'ssh' },
        },
      },
    ],
  });
  const text = await runCommand(['inventory', 'show', 'rtx', '-i', 'lab.yaml'], { cwd });
  expect(text.stdout).toContain('connection:\n  hostname: rtx.lab.example\n  port: 2222\n  user: me\n');
});

test('show accepts another ssh configuration, or none', async () => {
  const shown = async (...more: string[]) => {
    const argv = ['inventory', 'show', 'h200-1', 'lab.yaml', '--json', ...more];
    const { stdout } = await runCommand(argv, { cwd });
    return (JSON.parse(stdout) as { hosts: { connection: Record<string, unknown> }[] }).hosts[0]?.connection;
  };
  writeFileSync(join(cwd, 'other.ssh_config'), 'User other\n');
  expect(await shown('--ssh-config', 'other.ssh_config')).toMatchObject({
    hostname: 'h200-1',
    user: 'other',
  });
  expect(await shown('--ssh-config', 'none')).toMatchObject({ hostname: 'h200-1', connecttimeout: 15 });
});

test('show names the host that ssh refuses, and shows the others', async () => {
  writeFileSync(join(cwd, 'part.ssh_config'), 'Host rtx*\n  HostName "a b"\n');
  const argv = [
    'inventory',
    'show',
    'h200-1',
    'rtx',
    'lab.yaml',
    '--ssh-config',
    'part.ssh_config',
    '--json',
  ];
  const { exitCode, stdout } = await runCommand(argv, { cwd });
  expect(exitCode).toBe(2);
  expect(JSON.parse(stdout)).toMatchObject({
    hosts: [{ name: 'h200-1', connection: { hostname: 'h200-1' } }, { name: 'rtx' }],
    problems: [{ host: 'rtx', code: 'ssh.config' }],
  });
});

test('no program that ssh runs for show gets the token', async () => {
  writeFileSync(join(cwd, 'exec.ssh_config'), 'Match exec "test -z $AZP_TOKEN"\n  User clean\n');
  const argv = ['inventory', 'show', 'h200-1', 'lab.yaml', '--json', '--ssh-config', 'exec.ssh_config'];
  const { stdout } = await runCommand(argv, { cwd, env: { AZP_TOKEN: 'secret' } });
  expect(JSON.parse(stdout)).toMatchObject({ hosts: [{ connection: { user: 'clean' } }] });
});

describe('check', () => {
  test('a valid inventory, with warnings', async () => {
    const { exitCode, stdout, stderr } = await runCommand(['inventory', 'check', 'lab.yaml'], {
      cwd,
      env: { AZP_TOKEN: 'x' },
    });
    expect(exitCode).toBe(0);
    expect(stdout).toBe('lab.yaml: 2 hosts, 1 pool, https://dev.azure.com/example\n');
    expect(stderr).toBe(`! the token expires on 2026-12-01, in 10 days
  next      create a new one in Azure DevOps, store it in the same place, then
            run azp-fleet provision
`);
  });

  test('a condition of this shell only is a warning', async () => {
    const { exitCode, stderr } = await runCommand(['inventory', 'check', 'lab.yaml'], { cwd });
    expect(exitCode).toBe(0);
    expect(stderr).toContain('! the token: environment variable AZP_TOKEN is not set\n');
    expect(stderr).not.toContain('✗');
  });

  test('a missing file and an expired token are errors', async () => {
    const text = readFileSync(join(cwd, 'lab.yaml'), 'utf8').replace('2026-12-01', '2026-11-01');
    writeFileSync(join(cwd, 'gone.yaml'), `${text}ca: none.pem\n`);
    const { exitCode, stdout, stderr } = await runCommand(['inventory', 'check', 'gone.yaml'], {
      cwd,
      env: { AZP_TOKEN: 'x' },
    });
    expect(exitCode).toBe(2);
    expect(stdout).toContain('gone.yaml: 2 hosts');
    expect(stderr).toContain('✗ inventory: the token expired on 2026-11-01');
    expect(stderr.replaceAll(/\s+/g, ' ')).toContain(
      `✗ inventory: the CA file ${cwd}/none.pem cannot be read`,
    );
    const json = await runCommand(['inventory', 'check', 'gone.yaml', '--json'], {
      cwd,
      env: { AZP_TOKEN: 'x' },
    });
    expect(JSON.parse(json.stdout)).toMatchObject({
      exitCode: 2,
      warnings: [],
      problems: [{ code: 'inventory.token-expired' }, { code: 'inventory.file' }],
    });
  });

  test('mistakes, as JSON too', async () => {
    writeFileSync(
      join(cwd, 'bad.yaml'),
      'organization: https://dev.azure.com/example\nhosts: { a: { prot: 1 } }\n',
    );
    const { exitCode, stderr } = await runCommand(['inventory', 'check', 'bad.yaml'], { cwd });
    expect(exitCode).toBe(2);
    expect(stderr).toContain('bad.yaml:2:15: hosts.a.prot is not a known key');
  });
});

const example = ['--organization', 'https://dev.azure.com/example'] as const;

describe('init', () => {
  test.each([
    ['without an organization', ['a'], 'init needs an organization'],
    ['for one name twice', ['a:22', 'a:2222', ...example], 'duplicate host a'],
    ['with an invalid pool name', ['a', '--pool', 'a/b', ...example], 'Azure DevOps allows no /'],
  ])('%s nothing is written', async (_, argv, message) => {
    const { exitCode, stderr } = await runCommand(['init', '-o', 'none.yaml', ...argv], { cwd });
    expect({ exitCode, stderr }).toMatchObject({ exitCode: 2, stderr: expect.stringContaining(message) });
    expect(existsSync(join(cwd, 'none.yaml'))).toBe(false);
  });

  test('parses organization and project from any URL, and names the schema', async () => {
    const pasted = 'https://ann@dev.azure.com/example/vision/_git/models';
    const argv = ['init', 'a', '-o', 'pasted.yaml', '--organization', pasted];
    expect((await runCommand(argv, { cwd })).exitCode).toBe(0);
    const text = readFileSync(join(cwd, 'pasted.yaml'), 'utf8');
    expect(text).toContain('organization: https://dev.azure.com/example\n');
    expect(text).toContain('projects: [ vision ]');
    const [, schema = ''] = /\$schema=(\S+)/.exec(text) ?? [];
    expect(existsSync(schema)).toBe(true);
  });

  test('writes an inventory for the hosts named, known ones by name alone', async () => {
    const argv = [
      'init',
      'h200-1',
      'me@rtx.lab.example:2222',
      '-o',
      'new.yaml',
      '--pool',
      'big',
      '--project',
      'vision',
      '--organization',
      'example',
    ];
    const { exitCode, stdout } = await runCommand(argv, { cwd });
    expect(exitCode).toBe(0);
    expect(stdout).toBe('new.yaml written\nNext: review it, then run azp-fleet plan new.yaml\n');
    expect(readFileSync(join(cwd, 'new.yaml'), 'utf8')).toContain(
      'hosts:\n  h200-1: {}\n  rtx: { address: rtx.lab.example, port: 2222, user: me }\n',
    );
    expect((await runCommand(['inventory', 'check', 'new.yaml'], { cwd })).exitCode).toBe(0);
  });

  test.each([
    ['after it', ['init', 'rtx.lab', '-o', 'after.yaml', '--ssh-config', 'of.ssh_config', ...example]],
    ['before it', ['--ssh-config', 'of.ssh_config', 'init', 'rtx.lab', '-o', 'before.yaml', ...example]],
  ])('reads hosts from another ssh configuration, and names it: the option %s', async (_, argv) => {
    writeFileSync(join(cwd, 'of.ssh_config'), 'Host rtx.lab\n  HostName 192.0.2.17\n');
    expect((await runCommand(argv, { cwd })).exitCode).toBe(0);
    const file = argv.find((word) => word.endsWith('.yaml')) ?? '';
    const text = readFileSync(join(cwd, file), 'utf8');
    expect(text).toContain(`sshConfig: ${join(cwd, 'of.ssh_config')}\n`);
    expect(text).toContain('hosts:\n  rtx.lab: {}\n');
    const { stdout } = await runCommand(['inventory', 'show', 'rtx.lab', file, '--json'], { cwd });
    expect(stdout).toContain('"hostname": "192.0.2.17"');
  });

  test('never overwrites', async () => {
    const before = readFileSync(join(cwd, 'lab.yaml'), 'utf8');
    const { exitCode, stderr } = await runCommand(['init', 'a', '-o', 'lab.yaml', ...example], { cwd });
    expect(exitCode).toBe(2);
    expect(stderr.replaceAll(/\s+/g, ' ')).toContain('lab.yaml already exists [init.exists]');
    expect(stderr).toContain('name another file with --output FILE');
    expect(readFileSync(join(cwd, 'lab.yaml'), 'utf8')).toBe(before);
  });
});

test('setup without a terminal names the missing answer and its option', async () => {
  const { exitCode, stderr } = await runCommand(['setup'], { cwd });
  expect(exitCode).toBe(2);
  expect(stderr).toMatch(/an answer to "hosts"[^]*--answers\s+FILE/);
});

test('--json has the line and column of each mistake as members', async () => {
  const cwd = mkdtempSync(join(tmpdir(), 'mistakes-'));
  const file = join(cwd, 'lab.yaml');
  const text = 'organization: https://dev.azure.com/example\ntoken: { env: T }\nhosts:\n  a: { pool: 1 }\n';
  const problems = async (more: string) => {
    writeFileSync(file, `${text}${more}`);
    const { stdout } = await runCommand(['inventory', 'check', 'lab.yaml', '--json'], { cwd });
    return (JSON.parse(stdout) as { problems: readonly object[] }).problems;
  };
  expect(await problems('')).toMatchObject([{ line: 4, column: 14 }]);
  expect(await problems('  b: { pol: x }\n')).toMatchObject([
    {
      code: 'inventory.invalid',
      details: [
        { line: 4, column: 14 },
        { line: 5, column: 8 },
      ],
    },
  ]);
  rmSync(cwd, { recursive: true });
});

describe('diff', () => {
  writeFileSync(
    join(cwd, 'diff.yaml'),
    `organization: https://dev.azure.com/example
token: { env: AZP_TOKEN }
defaults:
  pool: gpu-lab
  driver: { branch: "580" }
  webhook: { url: { env: HOOK }, offline: 20m }
  volumes: ["/data:/data:DATA"]
groups:
  hopper: { hosts: [a], vars: { driver: { version: 570.86.15 }, limits: { memory: 64g } } }
hosts:
  a: { labels: { room: b12 } }
  b:
    driver: none
    webhook: { url: { env: HOOK } }
    datasets: { DATA: { host: /srv, container: /data } }
    agents: [{ name: x, gpus: [0] }]
  c: { labels: { room: b12 } }
`,
  );
  const diff = (...hosts: readonly string[]) =>
    runCommand(['inventory', 'diff', ...hosts, 'diff.yaml'], { cwd, env: { HOOK: 'https://hook.example' } });

  test.each([
    ['labels.room', 'b12  (host, diff.yaml:11:24)', '-'],
    ['limits.memory', '64g  (group hopper, diff.yaml:9:83)', '-'],
    ['driver.install', 'true  (default)', 'false  (host, diff.yaml:13:13)'],
    ['driver.version', '570.86.15  (group hopper, diff.yaml:9:52)', '-  (host, diff.yaml:13:13)'],
    ['datasets.DATA.host', '/data  (defaults, diff.yaml:7:12)', '/srv  (host, diff.yaml:15:31)'],
    // The map of the host replaces that of the defaults.
    ['webhook.offlineS', '1200  (defaults, diff.yaml:6:43)', '600  (default)'],
    ['agents.kind', 'one-per-gpu  (default)', 'slots  (host, diff.yaml:16:13)'],
    ['agents.slots.x.gpus', '-', '[0]  (host, diff.yaml:16:13)'],
  ])('%s of each host, with its origin', async (key, one, other) => {
    const { exitCode, stdout } = await diff('a', 'b');
    expect(exitCode).toBe(0);
    expect(stdout).toContain(`${key}\n  a  ${one}\n  b  ${other}\n`);
  });

  test('an equal setting is absent, also where it is from elsewhere', async () => {
    expect((await diff('a', 'b')).stdout).not.toMatch(/^(?:pool|name|webhook.url.*)$/mu);
    expect((await diff('b', 'b')).stdout).toBe('b and b have the same settings\n');
  });

  test('--json has values and origins', async () => {
    const { stdout } = await diff('c', 'a', '--json');
    expect(JSON.parse(stdout)).toMatchObject({
      hosts: ['c', 'a'],
      differences: expect.arrayContaining([
        {
          key: 'limits.memory',
          values: [
            { host: 'c', value: null, from: null },
            { host: 'a', value: '64g', from: { layer: 'group hopper', at: 'diff.yaml:9:83' } },
          ],
        },
      ]) as unknown,
    });
  });

  test('a pattern of several hosts is refused', async () => {
    const { exitCode, stderr } = await diff('a', 'all');
    expect(exitCode).toBe(2);
    expect(stderr).toContain('all selects 3 hosts [usage.target]');
  });
});
