// doctor as a user types it, over ssh and with the practice server: what it shows, what --fix does, and what it never does.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, expect, test, vi } from 'vitest';

import { StillClock } from '../../../support/clock.ts';
import { runCommand } from '../../../support/command.ts';
import { framesSaid, hostileHost, type HostileHost } from '../../../support/hostile-host.ts';
import { Keyboard } from '../../../support/keyboard.ts';
import { managerStatus } from '../../../support/manager-status.ts';
import { sshKeyPair } from '../../../support/ssh-key.ts';
import { workingFacts } from '../../../support/practice-fleet.ts';
import { useFake } from '../../practice/azure/server.ts';

// The artifacts are built in dist/, which need not exist for unit tests.
vi.mock('../../../../src/fleet/artifacts/load.ts', async () => {
  const { desiredOf } = await import('../../../support/host.ts');
  return { loadArtifacts: () => Promise.resolve(desiredOf().artifacts) };
});

const fake = useFake();
const cwd = mkdtempSync('/tmp/azp-doctor-');
afterAll(() => rmSync(cwd, { recursive: true }));

const at = '2026-11-21T11:59:50Z';
const drain = { reason: 'a new fan', at: '2026-11-21T08:15:00Z', owner: 'ann@laptop' };
const report = managerStatus({
  at,
  protocol: 1,
  connection: { to: 'dev.azure.com:443', checkedAt: at },
  drained: true,
  drains: [drain],
  slots: [
    {
      slot: '0',
      agent: 'good-0',
      state: 'drained',
      pool: 'gpu-lab',
      gpus: [],
      since: at,
      jobsRun: 1,
    },
  ],
  health: { state: 'healthy', checkedAt: at, findings: [] },
});
const healthy = {
  docker: 'active\nenabled\ncdi-run\ncdi-spec /var/run/cdi/nvidia.yaml\ncdi-driver 580.95.05\n',
  'manager-status': `present\n${JSON.stringify(report)}`,
};

let machines: HostileHost[];
/** Scripts that the hosts got, other than those that read facts. */
let scripts: string[];

/** Serves a host with these facts; returns its line in the inventory. */
async function serve(name: string, facts: Readonly<Record<string, string>> = {}, more = ''): Promise<string> {
  const all = { ...workingFacts(name), ...healthy, ...facts };
  const machine = await hostileHost({
    answer: (script) => {
      if (script.includes('frames %s')) return framesSaid(script, all);
      scripts.push(script);
      return { code: 1, stderr: 'nothing is changed here\n' };
    },
  });
  machines.push(machine);
  return `  ${name}: { address: 127.0.0.1, port: ${machine.port}${more} }\n`;
}

const write = (lines: readonly string[], token = `file: ${fake.tokenFile}`) =>
  writeFileSync(
    join(cwd, 'inventory.yaml'),
    `organization: ${fake.server.organization}
token: { ${token}, expires: 2027-05-01 }
projects: [vision]
defaults: { user: lab, pool: gpu-lab, agents: 1, sshConfig: none, loginPassword: { env: LOGIN } }
hosts:
${lines.join('')}`,
  );

const env = { LOGIN: 'a-login-password' };
async function doctor(...argv: readonly string[]) {
  fake.ahead = new StillClock().wall() - Date.now();
  return runCommand(['doctor', ...argv], { cwd, env });
}

beforeEach(async () => {
  machines = [];
  scripts = [];
  await fake.client().ensurePool('gpu-lab');
  write([]);
});
afterEach(() => {
  for (const machine of machines) machine.close();
});

const permit = () => runCommand(['pool', 'authorize', '--yes'], { cwd, env });
const broken = { docker: 'enabled\n' };

test('a healthy host: every rung, what was seen, and exit code 0', async () => {
  write([await serve('good')]);
  await permit();
  const { stdout, exitCode } = await doctor('--no-probe');
  expect(stdout).toContain('  ✔ Node, ssh, clock, disk, configuration, Azure DevOps, token, token scope\n');
  expect(stdout).toContain('  ✔ driver                      580.95.05\n');
  expect(stdout).toContain('  – probe                       not checked: --no-probe\n');
  expect(stdout).toContain('  – agents                      not checked: whole host drained by ann@laptop');
  expect(stdout).toContain('azp-fleet undrain good --of ann');
  expect(stdout).toContain('\nthis machine: ok; 1 host: 1 ok\n');
  expect(exitCode).toBe(0);
});

test('equal hosts are one block, the worst come first, and the totals last', async () => {
  write([
    await serve('good'),
    await serve('gpu-1', broken),
    await serve('gpu-2', broken),
    '  away: { address: 127.0.0.1, port: 9 }\n',
  ]);
  await permit();
  const { stdout, exitCode } = await doctor('--no-probe');
  const headings = stdout.split('\n').filter((line) => /^[a-z]/.test(line));
  expect(headings).toEqual([
    'this machine',
    'away',
    'gpu-1, gpu-2',
    'good',
    'this machine: ok; 4 hosts: 3 failed, 1 ok',
    expect.stringContaining('azp-fleet doctor --fix gpu-1 gpu-2:') as string,
  ]);
  expect(stdout).toContain('run `azp-fleet provision gpu-1 gpu-2`');
  expect(exitCode).toBe(1);
});

test('another host key: it stops there, and --fix leaves the key alone', async () => {
  write([await serve('good', {}, `, hostKeys: ["${sshKeyPair().public.trim()}"]`)]);
  await permit();
  const { stdout, stderr, exitCode } = await doctor('--fix', '--yes');
  expect(stdout).toMatch(/✔ SSH settings, DNS, port\n {2}✗ host key .*\[ssh\.host-key-mismatch\]/);
  expect(stdout).toMatch(/– login, sudo, [^:]*: not\s+checked, because host key failed/);
  expect(stderr).toContain('nothing was changed');
  expect(exitCode).toBe(1);
  expect(scripts).toEqual([]);
});

test('a token that cannot be read: the hosts are checked all the same', async () => {
  write([await serve('good')], 'env: NO_TOKEN');
  const { stdout, exitCode } = await doctor('--no-probe');
  expect(stdout).toMatch(
    /✗ token: the token cannot be read[^[]*\[inventory\.secret\]\n {4}next {6}read -rs NO_TOKEN/,
  );
  expect(stdout).toMatch(/✔ manager +0\.2\.0/);
  expect(stdout).toContain('– pool, project queue, permission: not checked, because token failed');
  expect(exitCode).toBe(1);
});

test('a read-only token, and a server that does not answer', async () => {
  write([await serve('good')]);
  await fake.control.setToken('read-only');
  expect((await doctor('--no-probe')).stdout).toContain('✗ token scope: the token may not write pools');
  await fake.control.setToken('expired');
  const { stdout } = await doctor('--no-probe');
  expect(stdout).toMatch(/✗ token: .*\[azure\.auth\]/);
  expect(stdout).toMatch(/✔ .*Azure DevOps\n/);
});

test('a clock that is off is a fault of this machine', async () => {
  write([await serve('good')]);
  fake.ahead = new StillClock().wall() - Date.now() + 7 * 60_000;
  const { stdout } = await runCommand(['doctor', '--no-probe'], { cwd, env });
  expect(stdout).toContain('✗ clock: the clock of this machine is 7 min behind that of Azure DevOps');
});

test('a mistake in the inventory: this machine is checked, exit code 2', async () => {
  write(['  good: { adress: 127.0.0.1 }\n']);
  const { stdout, stderr, exitCode } = await doctor();
  expect(stderr).toBe('');
  expect(stdout).toMatch(/✗ configuration: .*\[inventory\.unknown-key\]/);
  expect(stdout).toContain('– Azure DevOps, token, token scope: not checked, because configuration failed');
  expect(stdout).toContain('did you mean "address"?');
  expect(exitCode).toBe(2);
});

test('a host that is not in the inventory is a mistake of the command line', async () => {
  write([await serve('good')]);
  const { stdout, exitCode } = await doctor('nope');
  expect([stdout, exitCode]).toEqual(['', 2]);
});

test('--fix shows the ladder and the plan, and asks: a no changes nothing', async () => {
  write([await serve('gpu-1', broken)]);
  const { stdin } = new Keyboard();
  let heard = '';
  fake.ahead = new StillClock().wall() - Date.now();
  const done = runCommand(['doctor', '--no-probe', '--fix'], {
    cwd,
    env,
    terminal: true,
    stdin: Object.assign(stdin, { isTTY: true }),
    heard: (text) => void (heard += text),
  });
  await expect.poll(() => heard).toContain('Apply these changes to');
  const before = scripts.length;
  stdin.write('n\r');
  const { stdout, exitCode } = await done;
  expect(exitCode).toBe(4);
  expect(stdout.indexOf('✗ Docker')).toBeLessThan(stdout.indexOf('start Docker Engine'));
  expect(scripts).toHaveLength(before);
});

test('--fix --yes does what provision does, and checks again', async () => {
  write([
    (await serve('gpu-1', broken)).replace(' }', ', pool: fresh }'),
    '  away: { address: 127.0.0.1, port: 9, pool: other }\n',
  ]);
  const { stdout, exitCode } = await doctor('--no-probe', '--fix', '--yes');
  const [first = '', second = ''] = stdout.split('this machine: ok;');
  expect(first).toContain('agent pool fresh does not exist');
  expect(second).toContain('create agent pool fresh');
  // The host refuses its changes here; the pool was created, and the second check shows both.
  expect(stdout.split('agent pool fresh does not exist')).toHaveLength(2);
  expect(await fake.client().findPool('fresh')).toMatchObject({ autoUpdate: false });
  expect(await fake.client().findPool('other')).toBeUndefined();
  expect(exitCode).toBe(1);
});

test('--fix where provision is no fix: nothing is changed, and drains of users stay', async () => {
  const [slot] = report.slots;
  const full = {
    state: 'waiting',
    code: 'disk.full',
    cause: 'the disk of Docker is full',
    next: 'free space',
  };
  const status = { ...report, slots: [slot, { ...slot, ...full, slot: '1', agent: 'good-1' }] };
  write([await serve('good', { 'manager-status': `present\n${JSON.stringify(status)}` })]);
  await permit();
  const { stdout, stderr } = await doctor('--no-probe', '--fix', '--yes');
  expect(stdout).toMatch(/✗ disk +the disk of Docker is full \[disk\.full\]\n {4}next {6}free space/);
  expect(stderr).toContain('azp-fleet provision fixes none of this: nothing was changed');
  expect(scripts).toEqual([]);
});

test('--json has the same rungs', async () => {
  write([await serve('gpu-1', broken)]);
  await permit();
  const { stdout } = await doctor('--no-probe', '--json');
  const { hosts, fixed } = JSON.parse(stdout) as {
    readonly hosts: readonly { readonly rungs: readonly Record<string, unknown>[] }[];
    readonly fixed: null;
  };
  const rungs = hosts[0]?.rungs ?? [];
  expect(fixed).toBeNull();
  expect(rungs.find(({ rung }) => rung === 'docker')).toEqual({
    rung: 'docker',
    title: 'Docker',
    state: 'broken',
    code: 'docker.down',
    what: 'the Docker Engine is not running',
    next: 'run `azp-fleet provision gpu-1`; if that does not help, check `systemctl status docker` on the host',
    fix: 'provision',
  });
  expect(rungs.find(({ rung }) => rung === 'toolkit')).toMatchObject({ state: 'blocked', because: 'docker' });
});
