// Records the whole screen of every command in a separate file: review changes there.
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';

import { commands } from '../../../src/cli/commands.ts';
import { runCommand } from '../../support/command.ts';
import { StillClock } from '../../support/clock.ts';
import { practiceFleet, type PracticeFleet } from '../../support/practice-fleet.ts';
import { leftOnScreen } from '../../support/screen.ts';
import { useFake } from '../practice/azure/server.ts';

// The artifacts are built in dist/, which need not exist for unit tests.
vi.mock('../../../src/fleet/artifacts/load.ts', async () => {
  const { desiredOf } = await import('../../support/host.ts');
  return { loadArtifacts: () => Promise.resolve(desiredOf().artifacts) };
});

interface Size {
  readonly columns: number;
  readonly rows: number;
}

/** Command lines by the name of their file: the command, and after a comma the case. */
const chosen: Readonly<Record<string, string>> = {
  'setup, no terminal': 'setup',
  init: 'init h9 me@192.0.2.7:2222 -o new.yaml --organization https://dev.azure.com/example',
  'completion, unknown shell': 'completion csh',
  'inventory list': 'inventory list',
  'inventory show': 'inventory show h200-1',
  'inventory diff': 'inventory diff h200-1 rtx-box two.yaml',
  'inventory check': 'inventory check',
  'inventory check, mistakes': 'inventory check wrong.yaml',
  'inventory check, yaml error': 'inventory check yaml-error.yaml',
  'inventory import': 'inventory import --ansible hosts.ini',
  pipeline: 'pipeline gpu-lab --kind matrix',
  'pipeline, no such agent': 'pipeline gpu-lab --kind container',
  plan: 'plan l40s-1 away',
  provision: 'provision --yes h200-1 away',
  upgrade: 'upgrade',
  'upgrade, two hosts': 'upgrade all h200-1 rtx-box',
  'upgrade, to a version': 'upgrade driver rtx-box --to 580 --dry-run',
  'upgrade, an unreachable host': 'upgrade docker h200-1 away --to 29.8.2 --yes',
  'upgrade, a failure': 'upgrade docker h200-1 --to 29.8.2 --yes',
  'upgrade, no version': 'upgrade docker --to 29',
  reboot: 'reboot --dry-run',
  'token rotate': 'token rotate --dry-run h200-1 away',
  remove: 'remove --dry-run "*"',
  status: 'status',
  'status, one slot': 'status h200-1/0',
  'status, one host': 'status h200-1',
  'status, one drained host': 'status rtx-box',
  'status, one unreachable host': 'status away',
  'status, check': 'status --check',
  doctor: 'doctor',
  'doctor, one host': 'doctor h200-1',
  'doctor, mistake in the inventory': 'doctor wrong.yaml',
  'doctor, waiting job': 'doctor --job BUILD',
  'doctor, no such job': 'doctor --job 4711',
  diagnose: 'diagnose kernel.log',
  explain: 'explain ssh.auth',
  'explain, unknown code': 'explain ssh.aut',
  history: 'history h200-1',
  'history, several hosts': 'history h200-1 rtx-box away --since 7d',
  logs: 'logs h200-1',
  'logs, slot': 'logs h200-1/0',
  drain: 'drain h200-1 rtx-box away --reason "a new fan"',
  'drain, unknown slot': 'drain h200-1 --slot 7',
  undrain: 'undrain h200-1 rtx-box',
  repaired: 'repaired rtx-box --gpu 0000:01:00.0',
  webhook: 'webhook h200-1',
  adopt: 'adopt h200-1 rtx-box',
  'image list': 'image list',
  'image which': 'image which',
  'image build': 'image build h200-1',
  bundle: 'bundle -o site.bundle away',
  'pool list': 'pool list',
  'pool list, unknown pool': 'pool list nope',
  'pool create': 'pool create gpu-COLUMNS --yes',
  'pool authorize': 'pool authorize gpu-lab --yes',
  'pool prune': 'pool prune --dry-run',
  exec: 'exec -- nvidia-smi -L',
  'ssh, two hosts': 'ssh hopper',
  'ssh-config': 'ssh-config h200-1',
  trust: 'trust h200-1 l40s-1 away --yes',
  'unknown command': 'statsu',
  version: 'version',
  'nothing left': 'status h200-1 --limit rtx-box',
};
/** Other commands are shown with the first example of their declaration. */
const screens: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    commands.map(({ name, examples: [[line] = ['']] }) => [name, line.replace(/^azp-fleet /, '')]),
  ),
  ...chosen,
};
const names = Object.keys(screens).filter(
  (name) => name in chosen || !Object.keys(chosen).some((each) => each.startsWith(`${name}, `)),
);
/** Commands whose output is from programs of a host, or for programs. */
const rawOutput: ReadonlySet<string> = new Set(['exec', 'ssh-config']);

const cwd = mkdtempSync('/tmp/azp-screens-');
const env = { LOGIN: 'a-login-password' };
const fake = useFake();
let fleet: PracticeFleet;
let waiting = 0;
const inventory = () => `organization: ${fake.server.organization}
token: { file: ${fake.tokenFile}, expires: 2026-12-01 }
projects: [vision]
defaults: { user: lab, pool: gpu-lab, sshConfig: none, loginPassword: { env: LOGIN } }
groups: { hopper: { hosts: [h200-1, l40s-1] } }
hosts:
${fleet.hosts.map((host) => `  ${host}\n`).join('')}`;
const write = (name: string, text: string) => writeFileSync(join(cwd, name), text);

beforeAll(async () => {
  fleet = await practiceFleet(cwd);
  write('inventory.yaml', inventory());
  write(
    'wrong.yaml',
    inventory()
      .replace('projects:', 'project:')
      .replace('agents: 1', 'agents: per-gpu')
      .replaceAll('address:', 'adress:'),
  );
  write('yaml-error.yaml', inventory().replace('[h200-1, l40s-1] }', '[h200-1, l40s-1]'));
  write(
    'two.yaml',
    `organization: https://dev.azure.com/example
token: { env: AZP_TOKEN }
defaults: { pool: gpu-lab, driver: { branch: "580" } }
groups: { hopper: { hosts: [h200-1], vars: { driver: { branch: "570" } } } }
hosts:
  h200-1: { gpus: 8, limits: { memory: 64g }, labels: { room: "b12, the third rack from the window, at the bottom" } }
  rtx-box: { agents: 2, docker: none }
`,
  );
  write(
    'hosts.ini',
    '[lab]\nnode[01:02].lab.example ansible_user=admin ansible_become_password=x\nodd ansible_host="$(reboot)"\n',
  );
  write(
    'kernel.log',
    '[    1.000000] Linux version 6.1.0\n[    9.000000] NVRM: Xid (PCI:0000:01:00): 79, pid=1, GPU has fallen off the bus.\n',
  );
  waiting = await waitingBuild();
  // Accept the host keys now: the order in which several new keys are reported differs from run to run.
  await runCommand(['exec', '--', 'true'], { cwd, env });
  await runCommand(['pool', 'authorize', '--yes'], { cwd, env });
});
afterAll(() => {
  fleet.close();
  rmSync(cwd, { recursive: true });
});

/** Begins a build in a pool of its own: each of its agents that fit takes no job for another reason. */
async function waitingBuild(): Promise<number> {
  const client = fake.client();
  const { pool } = await client.ensurePool('gpu-night');
  const queue = await client.createQueue('vision', pool);
  await client.authorizeQueue('vision', queue.id);
  const reason = { 'azp-fleet.host': 'away', 'azp-fleet.disabled': 'drained by ann@laptop: a new fan' };
  const agents = { pool: pool.name, count: 1 };
  await fake.control.makeAgents({ ...agents, namePattern: 'away-{n}', enabled: false, capabilities: reason });
  await fake.control.makeAgents({ ...agents, namePattern: 'lab-{n}', count: 2 });
  await fake.control.makeAgents({ ...agents, namePattern: 'desk-{n}', enabled: false });
  return await fake.control.begin({ pool: pool.name, jobs: 2, demands: ['gpu.model'] });
}

/** Returns the final screen, with values that differ from run to run replaced by texts of the same width. */
async function screen(name: string, size: Size): Promise<string> {
  // Write it again: `trust` pins keys in it.
  write('inventory.yaml', inventory());
  rmSync(join(cwd, 'new.yaml'), { force: true });
  const line = (screens[name] ?? '').replace('COLUMNS', String(size.columns));
  const [own = '', rest] = line.replace('BUILD', String(waiting)).split(' -- ');
  const words = [...own.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain = '']) => quoted ?? plain);
  const argv = rest === undefined ? words : [...words, '--', ...rest.split(' ')];
  // The date of the server's answers is that of the stopped clock.
  if (line.startsWith('doctor')) fake.ahead = new StillClock().wall() - Date.now();
  const { both, exitCode } = await runCommand(argv, { cwd, env, terminal: size });
  const shown = leftOnScreen(both).join('\n').trimEnd();
  return `$ azp-fleet ${line.replace('BUILD', '4711')}\n${shown}\n[exit ${exitCode}]\n`
    .replaceAll(`Node ${process.versions.node} on`, 'Node 24.21.0 on')
    .replaceAll(/127\.0\.0\.1:\d{5}\b/g, '127.0.0.1:22222')
    .replaceAll(/(?<=\bport:? )\d{5}\b/gi, '22222')
    .replaceAll(/\d{8}\.\d+ \(\d+\)/g, '20261121.3 (4711)')
    .replaceAll(/SHA256:[\w+/]{43}/g, `SHA256:${'0'.repeat(43)}`)
    .replaceAll(/(?<=\.bak-)\d+/g, '1')
    .replaceAll(cwd, '/tmp/azp-screens-000000');
}

/** Expects no line longer than the screen, except a single word. */
function expectWhole(shown: string, { columns }: Size): void {
  const [, ...lines] = shown.split('\n');
  const exact = /^\s*│/;
  const broken = lines.filter(
    (line) => line.length > columns && line.trim().includes(' ') && !exact.test(line),
  );
  expect(broken).toEqual([]);
}

describe.each([
  { columns: 80, rows: 24 },
  { columns: 140, rows: 40 },
])('$columns × $rows', (size) => {
  const folder = join(import.meta.dirname, 'screens', `${size.columns}x${size.rows}`);
  const fileOf = (name: string) => `${name.replaceAll(/,? /g, '-')}.txt`;

  test.each(names)('%s', async (name) => {
    const shown = await screen(name, size);
    await expect(shown).toMatchFileSnapshot(join(folder, fileOf(name)));
    if (!rawOutput.has(name)) expectWhole(shown, size);
  });

  test('no file of a former command is left', () => {
    const [kept, shown] = [readdirSync(folder), names.map(fileOf)];
    // With -u the files of new commands are written after the last test.
    const isUpdate = expect.getState().snapshotState.snapshotUpdateState === 'all';
    expect(kept.filter((file) => !shown.includes(file))).toEqual([]);
    expect(isUpdate ? [] : shown.filter((file) => !kept.includes(file))).toEqual([]);
  });
});

describe('no word is broken', () => {
  const widths = [40, 56, 72, 100];
  test.each(names.filter((name) => !rawOutput.has(name)))('%s', async (name) => {
    for (const columns of widths) {
      const size = { columns, rows: 24 };
      expectWhole(await screen(name, size), size);
    }
  });
});

// The live display is drawn over itself while they are printed.
describe('what a command remarks on hosts stays above its result', () => {
  const lines = [
    'status',
    'plan',
    'provision --yes --dry-run',
    'reboot --dry-run',
    'drain --yes',
    'undrain --yes',
  ];
  test.each(lines)('%s', async (line) => {
    write('inventory.yaml', inventory());
    rmSync(join(cwd, '.ssh/known_hosts'));
    const { both } = await runCommand(line.split(' '), { cwd, env, terminal: { columns: 80, rows: 24 } });
    const remarks = leftOnScreen(both).filter((each) => each.includes('new host key'));
    expect(remarks.map((each) => each.slice(0, each.indexOf(':'))).toSorted()).toEqual([
      'h200-1',
      'l40s-1',
      'rtx-box',
    ]);
  });
});
