import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { tar } from '../../../../src/shared/base/tar.ts';
import { HostPaths } from '../../../../src/shared/contract/paths.ts';
import { type CommandResult, runCommand } from '../../../../src/manager/machine/command.ts';
import type { HostEngine } from '../../../../src/manager/host-mode/host-engine.ts';
import { unitArguments, unitName } from '../../../../src/manager/host-mode/systemd.ts';
import { hostUser, userName } from '../../../../src/manager/host-mode/user.ts';
import { resolveSlots } from '../../../../src/manager/slots/resolve.ts';
import { StillClock } from '../../../support/clock.ts';
import { cleanDocker, hostRuns } from '../../../support/host-runs.ts';
import { config } from '../../../support/manager-config.ts';

// Files, copies and downloads are real; the programs of systemd and Docker are stand-ins.
let directory: string;
let calls: string[];
let answers: Record<string, Partial<CommandResult>>;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'host-mode-'));
  chmodSync(directory, 0o755);
  calls = [];
  answers = { systemctl: { output: absent } };
});
afterEach(() => rmSync(directory, { recursive: true }));

const command = (program: string, args: readonly string[], deadlineMs: number): Promise<CommandResult> => {
  calls.push([program, ...args].join(' '));
  const answer = answers[program];
  if (answer === undefined && ['cp', 'rm', 'tar'].includes(program))
    return runCommand(program, args, deadlineMs);
  return Promise.resolve({ code: 0, output: '', timedOut: false, stillRunning: () => false, ...answer });
};

/** Output of `systemctl show`; a missing unit, unless a test sets another. */
const absent = 'LoadState=not-found\nActiveState=inactive\nSubState=dead\n';
const ended = 'LoadState=loaded\nActiveState=active\nSubState=exited\n';
const failed = 'LoadState=loaded\nActiveState=failed\nSubState=failed\n';

const agents = (): string => join(directory, 'agents');
const root = (): string => join(agents(), 'bare');

const hostEngine = (): HostEngine => hostRuns(directory, command, cleanDocker, new StillClock());

async function created(run = 'r1'): Promise<{ engine: HostEngine; id: string }> {
  const program = join(directory, 'agent');
  mkdirSync(join(program, 'bin'), { recursive: true });
  writeFileSync(join(program, 'bin/Agent.Listener'), '');
  const engine = hostEngine();
  const id = await engine.create({
    run,
    slot: 'bare',
    agent: 'box-bare',
    labels: { 'azp-fleet.kind': 'agent', 'azp-fleet.slot': 'bare', unit: 'azp-fleet-agent-bare.service' },
    program,
    unit: 'azp-fleet-agent-bare.service',
    user: { name: 'azp-agent-bare', uid: 999, gid: 998 },
    systemdRun: (places) => ['--unit=x', places.root],
  });
  return { engine, id };
}

test("the manager's unit creates the agents' folder, listable by all, and may write to it", () => {
  const text = readFileSync('units/azp-fleet-manager.service', 'utf8');
  // A separate state directory would have the mode of the state, which agents cannot list.
  expect(text).toContain(`ExecStartPre=+/usr/bin/install -d -m 0755 ${HostPaths.agents}\n`);
  expect(text).toContain(`ReadWritePaths=-${HostPaths.agents}\n`);
  expect(HostPaths.agents.startsWith(`${HostPaths.state}/`)).toBe(false);
});

test("a run gets a copy of the agent in its slot's folder, only for its user, and is listed as created", async () => {
  const { engine, id } = await created();
  expect(existsSync(join(root(), 'bin/Agent.Listener'))).toBe(true);
  const modes = [join(directory, 'host', id), agents(), root(), join(root(), 'home')];
  expect(modes.map((path) => (statSync(path).mode & 0o777).toString(8))).toEqual([
    '700',
    '755',
    '700',
    '700',
  ]);
  expect(await engine.listOwn({ 'azp-fleet.slot': 'bare' })).toMatchObject([
    { id, name: 'box-bare', state: 'created' },
  ]);
  expect(await engine.listOwn({ 'azp-fleet.slot': 'other' })).toEqual([]);
  expect(calls).toContain(`chown -R 999:998 ${root()}`);
});

test("the home has the folders of the agent's cache", async () => {
  await created();
  for (const folder of ['.config', '.local/share'])
    expect(existsSync(join(root(), 'home', folder)), folder).toBe(true);
});

test('only its user can read the registration', async () => {
  const { engine, id } = await created();
  await engine.putArchive(
    id,
    '/azp',
    await tar([{ path: '.credentials', content: Buffer.from('{}'), mode: 0o600 }]),
  );
  const file = join(root(), '.credentials');
  expect([readFileSync(file, 'utf8'), statSync(file).mode & 0o777]).toEqual(['{}', 0o600]);
});

test('the next run of a slot has the same path, without files of the previous run', async () => {
  await created();
  mkdirSync(join(root(), '_work/1'), { recursive: true });
  await created('r2');
  expect(existsSync(join(root(), '_work'))).toBe(false);
  // Killed before the removal: its processes could write to the folder.
  expect(calls.lastIndexOf('systemctl stop azp-fleet-agent-bare.service')).toBeLessThan(
    calls.lastIndexOf(`rm -rf --one-file-system -- ${root()}`),
  );
});

test('a run whose creation failed is listed as not started, and can be removed', async () => {
  answers['cp'] = { code: 1, output: 'No space left on device' };
  await expect(created()).rejects.toThrow('cp failed on the host');
  const engine = hostEngine();
  const [run] = await engine.listOwn();
  expect(run?.state).toBe('created');
  await engine.remove(run?.id ?? '');
  expect(await engine.listOwn()).toEqual([]);
});

test('a run of a manager up to 0.1, in the run folder, is followed to its end and removed', async () => {
  const old = join(directory, 'host/host-old');
  mkdirSync(join(old, 'root/_work'), { recursive: true });
  writeFileSync(join(old, 'output.log'), 'Listening for Jobs\n');
  const kept = { id: 'host-old', agent: 'box-bare', uid: 999, gid: 998, createdAt: 1, startedAt: 2, pid: 0 };
  writeFileSync(join(old, 'run.json'), JSON.stringify({ ...kept, labels: { unit: 'x.service' } }));
  const engine = hostEngine();
  answers['systemctl'] = { output: `${ended}ExecMainStatus=0\nExecMainCode=1\n` };
  expect(await engine.listOwn()).toMatchObject([{ id: 'host-old', state: 'exited' }]);
  expect(await engine.logs('host-old', 2)).toBe('Listening for Jobs\n');
  expect(await engine.exit('host-old')).toMatchObject({ code: 0 });
  await engine.removeUnlessRunning('host-old');
  expect(existsSync(old)).toBe(false);
});

test('an ended agent is collected with output and exit code, and removed', async () => {
  const { engine, id } = await created();
  answers['systemctl'] = {
    output: `${failed}MainPID=0\nResult=exit-code\nExecMainStatus=1\nExecMainCode=1\n`,
  };
  await engine.start(id);
  expect(calls).toContain(`systemd-run --unit=x ${root()}`);
  writeFileSync(join(directory, 'host', id, 'output.log'), 'one\ntwo\nthree\n');
  expect(await engine.listOwn()).toMatchObject([{ state: 'exited' }]);
  expect(await engine.logs(id, 2)).toBe('two\nthree\n');
  const lines: string[] = [];
  for await (const line of engine.followLogs(id, new AbortController().signal)) lines.push(line);
  expect(lines).toEqual(['one', 'two', 'three']);
  expect(await engine.exit(id)).toMatchObject({ code: 1, oomKilled: false });
  await engine.remove(id);
  expect(await engine.listOwn()).toEqual([]);
  expect(existsSync(root())).toBe(false);
});

test('a stopped agent gets only the signal: its unit stays, and has the exit code', async () => {
  const { engine, id } = await created();
  answers['systemctl'] = { output: `${ended}MainPID=0\nExecMainStatus=0\nExecMainCode=1\n` };
  await engine.start(id);
  calls = [];
  await engine.stop(id, 120);
  expect(calls[0]).toBe('systemctl kill --kill-who=main --signal=SIGINT azp-fleet-agent-bare.service');
  expect(calls.filter((call) => call.startsWith('systemctl stop'))).toEqual([]);
  expect(await engine.exit(id)).toMatchObject({ code: 0 });
});

test.each([
  [
    'out of memory',
    'LoadState=loaded\nActiveState=failed\nResult=oom-kill\nExecMainStatus=9\nExecMainCode=2',
    137,
    true,
  ],
  [
    'lost in a reboot',
    'LoadState=not-found\nActiveState=inactive\nResult=success\nExecMainStatus=0',
    255,
    false,
  ],
])('%s', async (_, output, code, oomKilled) => {
  const { engine, id } = await created();
  answers['systemctl'] = { output };
  expect(await engine.exit(id)).toMatchObject({ code, oomKilled });
});

test('the unit: own user, no new privileges, limits, DNS, only its GPUs, no secret', () => {
  const slots = [
    {
      name: 'bare',
      gpus: [0],
      share: false,
      limits: { memory: '8g', cpus: 2 },
      capabilities: [],
      mode: 'host' as const,
    },
  ];
  const whole = config({ agents: { kind: 'slots', slots } });
  const [slot] = resolveSlots(whole, [{ busId: '1', uuid: 'GPU-1' }]);
  if (slot === undefined) throw new Error('no slot');
  const unit = {
    name: unitName('bare'),
    root: '/v/bare',
    log: '/l',
    user: 'azp-agent-bare',
    config: whole,
    slot: { ...slot, cpuShares: 2048 },
  };
  const args = unitArguments({ ...unit, dockerGid: undefined });
  for (const expected of [
    'User=azp-agent-bare',
    'NoNewPrivileges=yes',
    'CapabilityBoundingSet=',
    'InaccessiblePaths=-/run/dbus/system_bus_socket',
    'MemoryMax=8589934592',
    'CPUWeight=200',
    'WorkingDirectory=/v/bare',
    'HOME=/v/bare/home',
    'exec /v/bare/bin/Agent.Listener run --once',
    'CUDA_VISIBLE_DEVICES=GPU-1',
    // Only to the listener, which then ends its session and cancels its job.
    'KillMode=mixed',
    'KillSignal=SIGINT',
    'LANG=C.UTF-8',
    'LC_ALL=C.UTF-8',
  ]) {
    expect(args).toContain(expected);
  }
  // The path of the agent's folder must be the same for dockerd.
  expect(args.join(' ')).not.toMatch(/BindPaths|RootDirectory|TemporaryFileSystem|\/azp/);
  // Azure and Google serve DNS at the metadata addresses, which network-isolation.ts blocks for other ports.
  expect(args.join(' ')).not.toContain('IPAddressDeny');
  const open = unitArguments({
    ...unit,
    config: { ...whole, jobs: { sudo: true, docker: true } },
    dockerGid: 998,
  });
  expect(open).not.toContain('NoNewPrivileges=yes');
  expect(open.join(' ')).not.toContain('system_bus_socket');
  expect(open).toContain('SupplementaryGroups=998');
});

test('a missing user is created once, through systemd', async () => {
  answers['getent'] = { output: 'azp-agent-bare:x:999:998::/:/usr/sbin/nologin' };
  expect(await hostUser(command, 'bare')).toEqual({ name: 'azp-agent-bare', uid: 999, gid: 998 });
  expect(calls).toHaveLength(1);
  answers['getent'] = { code: 2 };
  await expect(hostUser(command, 'bare')).rejects.toThrow('cannot be created');
  expect(calls.some((call) => call.includes('useradd --system'))).toBe(true);
  // Ids that no image uses: all processes with one are the agent's.
  expect(calls.some((call) => call.includes('-K SYS_UID_MIN=58000 -K SYS_UID_MAX=58999'))).toBe(true);
  expect(userName('A very long name of a slot, with spaces')).toMatch(/^azp-agent-[a-z0-9_-]{1,22}$/);
});

test('an agent killed an hour after its last output ended at the time that systemd reports', async () => {
  const { engine, id } = await created();
  const log = join(directory, 'host', id, 'output.log');
  const state = `${failed}MainPID=0\nExecMainStatus=9\nExecMainCode=2\n`;
  answers['systemctl'] = { output: `${state}ExecMainExitTimestamp=Sat 2026-11-21 13:00:00 UTC\n` };
  await engine.start(id);
  writeFileSync(log, 'Listening for Jobs\n');
  const spoke = new Date('2026-11-21T12:00:00Z');
  utimesSync(log, spoke, spoke);
  expect(await engine.exit(id)).toMatchObject({ code: 137, finishedAt: '2026-11-21T13:00:00.000Z' });
  // systemd reports whole seconds: output within that second is from before the end.
  const late = new Date('2026-11-21T13:00:00.700Z');
  utimesSync(log, late, late);
  expect(await engine.exit(id)).toMatchObject({ finishedAt: '2026-11-21T13:00:00.700Z' });
  utimesSync(log, spoke, spoke);
  answers['systemctl'] = { output: 'LoadState=not-found\nActiveState=inactive\nExecMainExitTimestamp=\n' };
  expect(await engine.exit(id)).toMatchObject({ code: 255, finishedAt: '2026-11-21T12:00:00.000Z' });
});
