// What the manager records, from a status and checks of the GPUs as it has them.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type LogLevel, silentLogger } from '../../../../src/shared/base/log.ts';
import type { ManagerStatus, RunRecord, SlotStatus } from '../../../../src/shared/contract/status.ts';
import { conclude } from '../../../../src/shared/health/checkup.ts';
import type { Finding } from '../../../../src/shared/health/verdict.ts';
import type { HostCheck } from '../../../../src/manager/gpus/observe.ts';
import { History, writeEveryMs } from '../../../../src/manager/history/history.ts';
import { Ring } from '../../../../src/manager/history/ring.ts';
import type { Hold } from '../../../../src/manager/model.ts';
import type { SlotReport } from '../../../../src/manager/webhook/messenger.ts';
import { StillClock } from '../../../support/clock.ts';
import { gpuFrom, type Values } from '../../../support/gpu-values.ts';
import { managerStatus } from '../../../support/manager-status.ts';
import { RingDisk } from '../../../support/ring-disk.ts';

let root: string;
let disk: RingDisk;
let clock: StillClock;
let history: History;
const logged: string[] = [];
const log = {
  ...silentLogger,
  log: (_: LogLevel, message: string) => void logged.push(message),
};

const boot = (id: string): void => {
  mkdirSync(join(root, 'proc/sys/kernel/random'), { recursive: true });
  writeFileSync(join(root, 'proc/sys/kernel/random/boot_id'), `${id}\n`);
};
const start = async (): Promise<void> => {
  history = await History.open({ ring: new Ring('ring', disk), clock, log }, { prefix: root });
};

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'history-'));
  disk = new RingDisk();
  clock = new StillClock();
  logged.length = 0;
  boot('boot-1');
  await start();
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const lost: Finding = {
  code: 'gpu.lost',
  severity: 'fail',
  gpu: 'GPU-513536b6-1',
  what: 'gone',
  next: 'reboot',
};

/** A check of one GPU now. */
function check(values: Values = {}, findings: readonly Finding[] = [], driverVersion = '580.95'): HostCheck {
  const gpu = gpuFrom({
    uuid: 'GPU-1',
    'utilization.gpu_util': '50 %',
    'fb_memory_usage.used': '1000 MiB',
    ...values,
  });
  return {
    pci: ['0000:01:00.0'],
    ignored: [],
    at: '',
    seenAt: clock.monotonic(),
    checkup: conclude(findings, { driverVersion, gpus: [gpu] }),
  };
}

const slot = (changes: Partial<SlotStatus> = {}): SlotStatus => ({
  slot: '0',
  agent: 'h1-0',
  pool: 'gpus',
  state: 'idle',
  gpus: ['GPU-1'],
  since: '',
  jobsRun: 0,
  ...changes,
});
const busy = (id: string) => slot({ state: 'busy', run: { id, startedAt: '', settings: '' } });
const held = (hold: Hold | undefined): SlotReport => ({
  slot: { name: '0', agent: 'h1-0', pool: 'gpus', gpus: [] },
  hold,
  isUnavailable: false,
  cause: {},
  wait: undefined,
});
const record = (changes: Partial<RunRecord> = {}): RunRecord => ({
  schema: 1,
  run: 'r1',
  slot: '0',
  agent: 'h1-0',
  image: '',
  gpus: ['GPU-1'],
  finishedAt: '',
  oomKilled: false,
  log: [],
  ...changes,
});
const observe = (parts: Partial<ManagerStatus> = {}, reports: readonly SlotReport[] = []): void =>
  history.observe(managerStatus(parts), reports);

const events = async (): Promise<readonly string[]> =>
  (await history.events(0, 1000)).events.map(({ kind, what, who }) =>
    [kind, what, who].filter(Boolean).join(' | '),
  );

describe('a change', () => {
  test('of verdict, driver, image, configuration and manager is an event, the first value is none', async () => {
    const image = { state: 'ready', reference: 'agent:1', digest: 'sha256:aaaaaaaaaaaaaaaa' } as const;
    history.checked(check());
    observe({ configHash: 'aaa', image });
    expect(await events()).toEqual([]);
    history.checked(check({}, [lost], '590.10'));
    observe({ configHash: 'bbb', version: '0.3.0', image: { ...image, digest: 'sha256:bbbbbbbbbbbbbbbb' } });
    history.checked(check({}, [], '590.10'));
    expect(await events()).toEqual([
      'verdict | healthy → failed: gpu.lost on GPU-513536b6',
      'driver | driver 580.95 → 590.10',
      'config | configuration aaa → bbb',
      'manager | manager 0.2.0 → 0.3.0',
      'image | agent:1: aaaaaaaaaaaa → bbbbbbbbbbbb',
      'verdict | failed → healthy',
    ]);
  });

  test('that a restart of the manager falls into is an event, once', async () => {
    history.checked(check());
    observe({ configHash: 'aaa' });
    await history.write();
    await start();
    history.checked(check({}, [lost]));
    observe({ configHash: 'bbb' });
    await history.write();
    await start();
    history.checked(check({}, [lost]));
    observe({ configHash: 'bbb' });
    expect(await events()).toEqual([
      'verdict | healthy → failed: gpu.lost on GPU-513536b6',
      'config | configuration aaa → bbb',
    ]);
  });

  test('is known even when the time of the last one is past', async () => {
    history.checked(check());
    await history.write();
    clock.pass(30 * 24 * 3_600_000);
    await history.write();
    await start();
    history.checked(check({}, [], '590.10'));
    expect(await events()).toEqual(['driver | driver 580.95 → 590.10']);
  });
});

test('a reboot of the host', async () => {
  await history.write();
  await start();
  expect(await events()).toEqual([]);
  boot('boot-2');
  await start();
  expect(await events()).toEqual(['reboot | the host started again']);
});

test('a quarantine begins and ends; a drain or a restart in between hides neither', async () => {
  const cause = { code: 'gpu.lost', what: 'gone', next: 'reboot' } as const;
  const quarantined: Hold = { kind: 'close', state: 'quarantined', cause };
  observe({}, [held(undefined)]);
  observe({}, [held(quarantined)]);
  await history.write();
  await start();
  observe({}, [held({ kind: 'pause', state: 'waiting', cause: { ...cause, code: 'health.unknown' } })]);
  observe({}, [held({ kind: 'close', state: 'drained', cause })]);
  observe({}, [held(quarantined)]);
  observe({}, [held(undefined)]);
  expect(await events()).toEqual([
    'quarantine | slot 0 quarantined: gpu.lost',
    'quarantine | slot 0 is open again (gpu.lost)',
  ]);
});

describe('a run', () => {
  test('with a job, and one that failed without', async () => {
    history.runEnded(record({ job: 'train', result: 'succeeded', durationS: 60 }));
    history.runEnded(
      record({ run: 'r2', cause: { code: 'agent.cannot-connect', what: 'no network', next: '' } }),
    );
    // Nothing happened: an idle agent was replaced.
    history.runEnded(record({ run: 'r3' }));
    expect(await events()).toEqual(['run | train: succeeded', 'run | no network']);
    const { summary } = await history.events(0, 100);
    expect(summary).toMatchObject({ jobs: 1, failures: [{ cause: 'agent.cannot-connect', count: 1 }] });
  });

  test('has its GPU use, from the checks while it had its job', async () => {
    history.checked(check());
    observe({ slots: [busy('r1')] });
    for (let count = 0; count < 3; count += 1) {
      clock.pass(20_000);
      history.checked(check({ 'fb_memory_usage.used': `${1000 * count} MiB` }));
    }
    expect(history.useOf('r1')).toMatchObject({ samples: 3, sampledS: 60, gpuS: 60, peakMemoryMiB: 2000 });
    expect(history.useOf('other')).toBeUndefined();
    // Its container has exited, and is not collected yet.
    observe({ slots: [{ ...busy('r1'), state: 'stopping' }] });
    expect(history.useOf('r1')).toMatchObject({ samples: 3 });
    observe({ slots: [slot()] });
    expect(history.useOf('r1')).toBeUndefined();
  });

  test('keeps its GPU use when the manager is started again during its job', async () => {
    const running = (): SlotStatus => ({ ...busy('r1'), jobSince: new Date(since).toISOString() });
    clock.pass(3_600_000);
    const since = clock.wall();
    const minutes = async (count: number, values: Values): Promise<void> => {
      for (let check20 = 0; check20 < 3 * count; check20 += 1) {
        clock.pass(20_000);
        observe({ slots: [running()] });
        history.checked(check(values));
        if (check20 % 3 === 2) await history.write();
      }
    };
    await minutes(10, { 'fb_memory_usage.used': '4000 MiB' });
    await start();
    await minutes(10, { 'utilization.gpu_util': '0 %' });
    await history.write();
    expect(history.useOf('r1')).toEqual({
      samples: 60,
      sampledS: 1200,
      gpuS: 600,
      peakMemoryMiB: 4000,
      meanUtilizationPercent: 25,
    });
  });

  test('counts no check twice, and none for longer than a minute', async () => {
    observe({ slots: [busy('r1')] });
    const first = check();
    history.checked(first);
    history.checked(first);
    clock.pass(600_000);
    history.checked(check());
    expect(history.useOf('r1')).toEqual({ samples: 2, sampledS: 80 });
  });
});

describe('writing', () => {
  test('takes one append a minute, whatever happens in it', async () => {
    for (let count = 0; count < 3; count += 1) {
      history.checked(check({}, count === 1 ? [lost] : []));
      history.runEnded(record({ run: `r${count}`, job: 'train', result: 'succeeded' }));
      clock.pass(20_000);
    }
    await history.write();
    expect(disk.appends).toBe(1);
    const { gpus } = await history.series(1);
    expect(gpus).toEqual([expect.objectContaining({ gpu: 'GPU-1' })]);
    await history.write();
    expect(disk.appends).toBe(1);
  });

  test('is tried again with all that waits, and reported meanwhile', async () => {
    history.runEnded(record({ job: 'train', result: 'succeeded' }));
    disk.left = 3;
    await history.write();
    await history.write();
    expect(logged).toEqual(['the history cannot be written']);
    expect(history.findings).toEqual([
      expect.objectContaining({ code: 'history.not-written', severity: 'info' }),
    ]);
    disk.left = Number.POSITIVE_INFINITY;
    await history.write();
    expect(history.findings).toEqual([]);
    await start();
    expect(await events()).toEqual(['run | train: succeeded']);
  });

  test('drops the oldest of too many events, and says how many', async () => {
    for (let count = 0; count < 500; count += 1) history.note({ kind: 'drain', what: `drain ${count}` });
    await history.write();
    const said = await events();
    expect(said[0]).toMatch(/^lost \| 300 entries were not recorded/);
    expect(said).toHaveLength(201);
    expect(said.at(-1)).toBe('drain | drain 499');
  });

  test('to a full disk drops events, reports them once, and no fact', async () => {
    const card = { busId: '0000:01:00.0', uuid: 'GPU-1' };
    history.widest(card, 16);
    disk.left = 0;
    for (let minute = 0; minute < 10; minute += 1) {
      for (let count = 0; count < 100; count += 1)
        history.note({ kind: 'drain', what: `${minute} ${count}` });
      await history.write();
    }
    disk.left = Number.POSITIVE_INFINITY;
    await history.write();
    await history.write();
    const said = await events();
    expect(said.filter((each) => each.startsWith('lost'))).toEqual([
      'lost | 800 entries were not recorded: too many at once, or the disk was full',
    ]);
    expect(said.at(-1)).toBe('drain | 9 99');
    await start();
    expect(history.widest(card, 8)).toBe(16);
  });

  test('a day of samples takes less than a MiB on a host with eight GPUs', async () => {
    const values = { 'gpu_power_readings.average_power_draw': '412.35 W', 'temperature.gpu_temp': '68 C' };
    const uuids = Array.from({ length: 8 }, (_, index) => `GPU-513536b6-7d19-9063-b049-1e69664bb29${index}`);
    for (let minute = 0; minute < 24 * 60; minute += 1) {
      const one = check();
      const gpus = uuids.map((uuid) => gpuFrom({ uuid, 'fb_memory_usage.used': '143771 MiB', ...values }));
      history.checked({ ...one, checkup: conclude([], { driverVersion: '580.95', gpus }) });
      clock.pass(writeEveryMs);
      await history.write();
    }
    expect(disk.files.get('ring')?.length).toBeLessThan(1024 ** 2);
    expect((await history.series(24)).gpus).toHaveLength(8);
  });
});

test('what waits for the next write is in the answers', async () => {
  history.note({ kind: 'drain', what: 'host drained: fan', who: 'ann@laptop' });
  expect(await events()).toEqual(['drain | host drained: fan | ann@laptop']);
});
