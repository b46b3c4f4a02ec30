import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { HostEngine } from '../../../../src/manager/host-mode/host-engine.ts';
import { livenessOf } from '../../../../src/manager/host-mode/systemd.ts';
import { runCommand, type RunCommand } from '../../../../src/manager/machine/command.ts';
import { StillClock } from '../../../support/clock.ts';
import { FakeSystemd } from '../../../support/fake-systemd.ts';
import { cleanDocker, hostRuns } from '../../../support/host-runs.ts';
import { fault } from '../../../support/fault.ts';

// A new engine stands for a restarted manager: only files and systemd have the state of the previous one.
const unit = 'azp-fleet-agent-bare.service';
let directory: string;
let systemd: FakeSystemd;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'liveness-'));
  chmodSync(directory, 0o755);
  mkdirSync(join(directory, 'agent/bin'), { recursive: true });
  systemd = new FakeSystemd();
});
afterEach(() => rmSync(directory, { recursive: true }));

const command: RunCommand = async (program, args, deadlineMs) =>
  systemd.command(program, args, deadlineMs) ??
  (['cp', 'rm'].includes(program)
    ? runCommand(program, args, deadlineMs)
    : { code: 0, output: '', timedOut: false, stillRunning: () => false });

const manager = (): HostEngine => hostRuns(directory, command, cleanDocker, new StillClock());

const create = (engine: HostEngine, run = 'r1'): Promise<string> =>
  engine.create({
    run,
    slot: 'bare',
    agent: 'box-bare',
    labels: { 'azp-fleet.kind': 'agent', 'azp-fleet.slot': 'bare', unit },
    program: join(directory, 'agent'),
    unit,
    user: { name: 'azp-agent-bare', uid: 999, gid: 998 },
    systemdRun: ({ log }) => [`--unit=${unit}`, '-p', `StandardOutput=append:${log}`],
  });

const states = async (engine: HostEngine) => (await engine.listOwn()).map(({ state }) => state);

const stops = (): readonly string[] => systemd.calls.filter((call) => call === `systemctl stop ${unit}`);

async function started(): Promise<string> {
  const id = await create(manager());
  await manager().start(id);
  systemd.calls.length = 0;
  return id;
}

test('a start is on the disk before systemd begins: the next manager does not start the run again', async () => {
  const id = await create(manager());
  const notes: unknown[] = [];
  const noting: RunCommand = (program, args, deadlineMs) => {
    if (program === 'systemd-run')
      notes.push(JSON.parse(readFileSync(join(directory, 'host', id, 'run.json'), 'utf8')));
    return command(program, args, deadlineMs);
  };
  await hostRuns(directory, noting, cleanDocker, new StillClock()).start(id);
  expect(notes).toEqual([expect.objectContaining({ startingAt: expect.any(Number) as number })]);
});

test.each(['null', '{}', '[1]', '{"id":"host-r2","agent":"a","uid":1,"gid":1,"createdAt":"x","labels":{}}'])(
  'a damaged note of a run (%s) does not hide the other runs',
  async (text) => {
    await started();
    mkdirSync(join(directory, 'host/host-r2'));
    writeFileSync(join(directory, 'host/host-r2/run.json'), text);
    expect((await manager().listOwn()).map(({ id }) => id)).toEqual(['host-r1']);
  },
);

test.each([
  ['active', 'running', 'running'],
  ['active', 'exited', 'ended'],
  ['activating', 'start', 'running'],
  ['reloading', 'reload', 'running'],
  // Its main process may have exited; others run.
  ['deactivating', 'stop-sigterm', 'running'],
  ['deactivating', 'final-sigkill', 'running'],
  ['maintenance', 'cleaning', 'running'],
  ['failed', 'failed', 'ended'],
  ['inactive', 'dead', 'absent'],
  ['a state of later versions', '', 'running'],
])('a unit that is %s (%s) is %s', (ActiveState, SubState, liveness) => {
  expect(livenessOf({ ActiveState, SubState })).toBe(liveness);
});

test('without an answer of systemd the state is unknown', () =>
  expect(livenessOf(undefined)).toBe('unknown'));

describe('a manager that is killed while it starts an agent', () => {
  test('before systemd has the unit: nothing runs, and the run is removed', async () => {
    const engine = manager();
    const id = await create(engine);
    const run = join(directory, 'host', id, 'run.json');
    const kept = JSON.parse(readFileSync(run, 'utf8')) as object;
    writeFileSync(run, JSON.stringify({ ...kept, startingAt: 1 }));
    expect(await states(manager())).toEqual(['created']);
    await manager().removeUnlessRunning(id);
    expect(await states(manager())).toEqual([]);
  });

  fault(
    'unit-not-noted',
    'after systemd has started the unit: the run is followed and not removed',
    async () => {
      const id = await create(manager());
      systemd.onStarted = () => systemd.deaf.add('show');
      await manager().start(id);
      systemd.deaf.clear();
      expect(JSON.parse(readFileSync(join(directory, 'host', id, 'run.json'), 'utf8'))).not.toHaveProperty(
        'startedAt',
      );
      expect(await states(manager())).toEqual(['running']);
      await manager().removeUnlessRunning(id);
      await expect(manager().remove(id)).rejects.toMatchObject({ problem: { code: 'host-mode.unit-runs' } });
      expect([await states(manager()), stops()]).toEqual([['running'], [expect.any(String)]]);
      systemd.end(unit, 0);
      expect(await states(manager())).toEqual(['exited']);
      expect(await manager().exit(id)).toMatchObject({ code: 0 });
    },
  );
});

describe('while systemd does not answer', () => {
  fault('systemd-silent', 'an agent counts as running: it is neither collected nor removed', async () => {
    const id = await started();
    systemd.deaf.add('show');
    expect(await states(manager())).toEqual(['running']);
    await manager().removeUnlessRunning(id);
    await expect(manager().remove(id)).rejects.toMatchObject({ problem: { code: 'host-mode.failed' } });
    await expect(manager().exit(id)).rejects.toMatchObject({ problem: { code: 'host-mode.failed' } });
    expect(stops()).toEqual([]);
    systemd.deaf.clear();
    expect(await states(manager())).toEqual(['running']);
  });

  test('its slot starts no other run', async () => {
    systemd.deaf.add('show');
    await expect(create(manager())).rejects.toMatchObject({ problem: { code: 'host-mode.failed' } });
    expect(existsSync(join(directory, 'host'))).toBe(false);
  });

  test('its output is still followed', async () => {
    const id = await started();
    systemd.deaf.add('show');
    const stop = new AbortController();
    const log = join(directory, 'host', id, 'output.log');
    writeFileSync(log, 'one\n');
    const lines: string[] = [];
    for await (const line of manager().followLogs(id, stop.signal)) {
      lines.push(line);
      if (lines.length === 1) {
        writeFileSync(log, 'one\ntwo\n');
        systemd.deaf.clear();
        systemd.end(unit, 0);
      }
    }
    expect(lines).toEqual(['one', 'two']);
  });
});

test('a running agent without a saved run keeps running, and the error has the command that stops it', async () => {
  systemd.start(unit);
  await expect(create(manager())).rejects.toMatchObject({
    problem: {
      code: 'host-mode.unit-runs',
      next: expect.stringContaining(`systemctl stop ${unit}`) as string,
    },
  });
  expect(stops()).toEqual([]);
});

test("the exit of another run of the unit is not this run's", async () => {
  const id = await started();
  systemd.units.delete(unit);
  systemd.start(unit);
  systemd.end(unit, 0);
  expect(await manager().exit(id)).toMatchObject({ code: 255 });
});

test('a run started by hand under the name is not stopped', async () => {
  const id = await started();
  systemd.units.delete(unit);
  systemd.start(unit);
  expect(await states(manager())).toEqual(['running']);
  await expect(manager().remove(id)).rejects.toMatchObject({ problem: { code: 'host-mode.unit-runs' } });
});

test('unreadable folders do not count as empty', async () => {
  await started();
  const engine = hostRuns(join(directory, 'agent/bin/file'), command, cleanDocker, new StillClock());
  writeFileSync(join(directory, 'agent/bin/file'), '');
  await expect(engine.listOwn()).rejects.toThrow('ENOTDIR');
});

test.each([
  ['still runs', 'running'],
  ['has ended since', 'exited'],
])('an agent without a noted start that %s is not discarded', async (_, state) => {
  const id = await create(manager());
  // systemd creates the log when it starts the unit.
  writeFileSync(join(directory, 'host', id, 'output.log'), 'Listening for Jobs\n');
  systemd.start(unit);
  if (state === 'exited') systemd.end(unit, 0);
  expect(await states(manager())).toEqual([state]);
  await manager().removeUnlessRunning(id);
  expect(await states(manager())).toEqual(state === 'running' ? ['running'] : []);
});
