import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { placedByOthers, readTrusted } from '../../../../src/manager/machine/files.ts';
import { Datasets, mountPoints } from '../../../../src/manager/machine/datasets.ts';
import type { RunRecord } from '../../../../src/shared/contract/status.ts';
import { boundedLog, newestFirst, RunStore } from '../../../../src/manager/runs/run-store.ts';
import { readContext } from '../../../../src/manager/image/plan.ts';
import { pciGpus } from '../../../../src/manager/gpus/observe.ts';
import { runId } from '../../../../src/manager/docker/container.ts';
import { StateStore } from '../../../../src/manager/state.ts';
import { untar } from '../../../../src/shared/base/tar.ts';
import { fault } from '../../../support/fault.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'manager-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

const record = (run: string): RunRecord => ({
  schema: 1,
  run,
  slot: '0',
  agent: 'box-0',
  image: '',
  gpus: [],
  finishedAt: '',
  oomKilled: false,
  log: ['line'],
});

test('the last twenty runs of a slot are kept, newest first, readable by root only', async () => {
  const runStore = new RunStore(directory);
  for (let n = 0; n < 25; n += 1) await runStore.add(record(runId(1_800_000_000_000 + n)));
  const runs = await runStore.list('0');
  expect(runs).toHaveLength(20);
  expect(runs[0]?.run.slice(0, 9)).toBe((1_800_000_000_024).toString(36).padStart(9, '0'));
  const [file = ''] = readdirSync(join(directory, '0'));
  expect(statSync(join(directory, '0', file)).mode & 0o777).toBe(0o600);
});

test('runs stay in order after clock changes, restarts and an update of the manager', async () => {
  mkdirSync(join(directory, '0'));
  const old = runId(1_800_000_000_000);
  writeFileSync(join(directory, '0', `${old}.json`), JSON.stringify(record(old)));
  const day = 86_400_000;
  const ids = [5, 3, -4, 9, 1].map((days) => runId(1_800_000_000_000 + days * day));
  for (const id of ids) await new RunStore(directory).add(record(id));
  const runStore = new RunStore(directory);
  expect((await runStore.list('0')).map(({ run }) => run)).toEqual([...ids.toReversed(), old]);
  // The clock was set back: the newest run is not removed.
  for (let n = 0; n < 20; n += 1) await runStore.add(record(runId(n)));
  const kept = (await runStore.list('0')).map(({ run }) => run);
  expect(kept).toHaveLength(20);
  expect(kept.at(0)).toContain(runId(19).slice(0, 9));
  expect(kept).not.toContain(ids.at(-1));
});

test('runs of several slots sort by their end, not by the clock', async () => {
  const runStore = new RunStore(directory);
  await runStore.add({ ...record(runId(9000)), slot: '0' });
  await runStore.add({ ...record(runId(10)), slot: '1' });
  await runStore.add({ ...record(runId(500)), slot: '0' });
  const all = [...(await runStore.list('0')), ...(await runStore.list('1'))].sort(newestFirst);
  expect(all.map(({ sequence }) => sequence)).toEqual([3, 2, 1]);
});

test('a truncated run file does not hide the others', async () => {
  const runStore = new RunStore(directory);
  await runStore.add(record('a'));
  writeFileSync(join(directory, '0', 'b.json'), '{"run":');
  expect((await runStore.list('0')).map(({ run }) => run)).toEqual(['a']);
});

test('state survives, with members of another version kept; the owner is tied to the machine', async () => {
  const store = await StateStore.open(directory, 'machine-1');
  await store.update(() => ({ drain: { host: { reason: 'x', at: '' }, slots: {} } }));
  const path = join(directory, 'manager.json');
  const { readFileSync } = await import('node:fs');
  writeFileSync(path, JSON.stringify({ ...(JSON.parse(readFileSync(path, 'utf8')) as object), future: 1 }));
  const again = await StateStore.open(directory, 'machine-1');
  expect(again.value.drain.host?.reason).toBe('x');
  expect(again.owner).toBe(store.owner);
  await again.update(() => ({ adopt: ['0'] }));
  expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({ future: 1, adopt: ['0'] });
  expect((await StateStore.open(directory, 'machine-2')).owner).not.toBe(store.owner);
});

test('concurrent changes are all written to disk', async () => {
  const store = await StateStore.open(directory, 'machine-1');
  const much = Object.fromEntries(Array.from({ length: 100_000 }, (_, at) => [`slot-${at}`, at]));
  await Promise.all([
    store.update(() => ({ jobsRun: much })),
    store.update(() => ({ jobsRun: {} })),
    store.update(() => ({ drain: { slots: { '1': { reason: 'fan', at: '' } } } })),
  ]);
  const { drain, jobsRun } = (await StateStore.open(directory, 'machine-1')).value;
  expect(drain.slots['1']?.reason).toBe('fan');
  expect(jobsRun).toEqual({});
});

test('a dataset must be a mounted folder with files', async () => {
  const dataset = { name: 'D', host: join(directory, 'd'), container: '/d', requireMount: false };
  const problem = async (changes = {}) =>
    (await new Datasets([{ ...dataset, ...changes }], async () => undefined).problem())?.what;
  expect(await problem()).toContain('not a readable folder');
  mkdirSync(dataset.host);
  expect(await problem()).toContain('is empty');
  writeFileSync(join(dataset.host, 'x'), '');
  expect(await problem()).toBeUndefined();
  expect(await problem({ requireMount: true })).toContain('is not mounted');
  expect(await problem({ host: join(dataset.host, 'x') })).toContain('not a readable folder');
});

fault('dataset-hangs', 'while a read hangs, no second one is started', async () => {
  const reads: ((content: 'filled' | 'empty') => void)[] = [];
  const dataset = { name: 'D', host: '/nfs', container: '/d', requireMount: false };
  const datasets = new Datasets(
    [dataset],
    async () => undefined,
    () => new Promise((resolve) => reads.push(resolve)),
  );
  const first = datasets.problem();
  const second = datasets.problem();
  await expect.poll(() => reads.length).toBe(1);
  reads[0]?.('empty');
  expect((await first)?.what).toContain('is empty');
  expect((await second)?.what).toContain('is empty');
  const third = datasets.problem();
  await expect.poll(() => reads.length).toBe(2);
  reads[1]?.('filled');
  expect(await third).toBeUndefined();
});

test('escapes in mount points are decoded', () => {
  const line = '36 35 98:0 / /mnt/my\\040data rw,noatime shared:1 - nfs server:/x rw';
  expect([...mountPoints(line)]).toEqual(['/mnt/my data']);
});

test('GPUs are NVIDIA VGA and 3D controllers, without ignored ones', async () => {
  const device = (address: string, vendor: string, kind: string, id = '0x2335'): void => {
    const path = join(directory, 'sys/bus/pci/devices', address);
    mkdirSync(path, { recursive: true });
    writeFileSync(join(path, 'vendor'), `${vendor}\n`);
    writeFileSync(join(path, 'class'), `${kind}\n`);
    writeFileSync(join(path, 'device'), `${id}\n`);
  };
  device('0000:83:00.0', '0x10de', '0x030200');
  device('0000:03:00.0', '0x10de', '0x030000', '0x128B');
  device('0000:03:00.1', '0x10de', '0x040300');
  device('0000:00:02.0', '0x8086', '0x030000');
  expect(await pciGpus({ prefix: directory })).toEqual({
    served: ['0000:03:00.0', '0000:83:00.0'],
    ignored: [],
  });
  for (const screen of ['10de:128b', '03:00.0'])
    expect(await pciGpus({ prefix: directory }, [screen])).toEqual({
      served: ['0000:83:00.0'],
      ignored: ['0000:03:00.0'],
    });
  expect(await pciGpus({ prefix: join(directory, 'nowhere') })).toEqual({ served: [], ignored: [] });
});

test('the build context has all files of the folder', async () => {
  writeFileSync(join(directory, 'Dockerfile'), 'FROM scratch\n');
  mkdirSync(join(directory, 'bin'));
  writeFileSync(join(directory, 'bin', 'start.sh'), '#!/bin/sh\n', { mode: 0o755 });
  const files = await untar(await readContext(directory));
  expect([...files.keys()]).toEqual(['Dockerfile', 'bin/start.sh']);
});

test('state with unknown or outdated keys is read without them', async () => {
  const path = join(directory, 'manager.json');
  writeFileSync(
    path,
    JSON.stringify({
      installation: 'x',
      gpuOrder: [],
      adopt: 'all',
      drain: { host: { reason: 'r', at: '' } },
    }),
  );
  const { value } = await StateStore.open(directory, 'machine-1');
  expect(value).toMatchObject({
    installation: 'x',
    adopt: [],
    jobsRun: {},
    drain: { host: { reason: 'r' }, slots: {} },
  });
  expect(value.gpuOrder).toBeUndefined();
});

test('the size of a run record is limited', async () => {
  const runStore = new RunStore(directory);
  const long = `start ${'ü'.repeat(1_000_000)}`;
  await runStore.add({
    ...record('a'),
    log: ['first', long, ...Array<string>(300).fill('x'.repeat(3000)), long, 'last'],
  });
  const [file = ''] = readdirSync(join(directory, '0'));
  expect(statSync(join(directory, '0', file)).size).toBeLessThan(100_000);
  const [run] = await runStore.list('0');
  expect(run?.log.at(-1)).toBe('last');
  expect(run?.log.at(-2)).toMatch(/^start ü+ … \(2000006 bytes\)$/);
  expect(run?.log.length).toBeGreaterThan(10);
});

test('control sequences are removed from the output of a job', async () => {
  const runStore = new RunStore(directory);
  const log = ['\u001b[31mred\u001b[0m\u001b]0;title\u0007', '10 %\r20 %', 'a\tb', '\u202ex\u009b'];
  await runStore.add({ ...record('a'), job: 'build\u001b[2K\n1 host: healthy', log });
  const [run] = await runStore.list('0');
  expect(run?.log).toEqual(['red', '10 % 20 %', 'a       b', 'x']);
  expect(run?.job).toBe('build 1 host: healthy');
});

test('the last two hundred short lines are kept unchanged', async () => {
  const lines = Array.from({ length: 250 }, (_, index) => `line ${index}`);
  expect(boundedLog(lines)).toEqual(lines.slice(50));
});

test('runs of a slot that is no longer configured are removed after seven days', async () => {
  const runStore = new RunStore(directory);
  for (const slot of ['0', 'old', 'recent']) await runStore.add({ ...record('a'), slot });
  const day = 24 * 3_600_000;
  utimesSync(join(directory, 'old'), new Date(Date.now() - 8 * day), new Date(Date.now() - 8 * day));
  utimesSync(join(directory, '0'), new Date(0), new Date(0));
  expect(await runStore.forget(['0'], Date.now() - 7 * day)).toEqual(['old']);
  expect((await runStore.slots()).toSorted()).toEqual(['0', 'recent']);
});

describe('a file of a program that runs as another user', () => {
  const folder = { uid: 990, gid: 991, mode: 0o40770 };
  test.each([
    ["root's", { uid: 0, gid: 0 }, folder, undefined],
    ["that of its folder's owner", { uid: 990, gid: 100 }, folder, undefined],
    ["that of its folder's group", { uid: 992, gid: 991 }, folder, undefined],
    [
      "another user's",
      { uid: 1000, gid: 1000 },
      folder,
      'it belongs to uid 1000, which is neither root nor the owner of its folder',
    ],
    [
      'in a folder like /tmp',
      { uid: 0, gid: 0 },
      { ...folder, mode: 0o41777 },
      'all users can write in its folder',
    ],
  ])('%s', (_, file, place, expected) => {
    expect(placedByOthers(file, place)).toBe(expected);
  });

  test('is read up to a limit; a link, a pipe and a folder are not', async () => {
    const at = (name: string): string => join(directory, name);
    writeFileSync(at('key'), 'secret');
    expect((await readTrusted(at('key'), 100)).toString()).toBe('secret');
    expect((await readTrusted(at('key'), 3)).toString()).toBe('sec');
    symlinkSync(at('key'), at('link'));
    await expect(readTrusted(at('link'), 100)).rejects.toThrow('ELOOP');
    execFileSync('mkfifo', [at('pipe')]);
    for (const name of ['pipe', '.'])
      await expect(readTrusted(at(name), 100)).rejects.toThrow('regular file');
    chmodSync(directory, 0o777);
    await expect(readTrusted(at('key'), 100)).rejects.toThrow('all users can write');
  });
});
