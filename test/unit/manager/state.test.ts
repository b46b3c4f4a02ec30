import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { StateStore } from '../../../src/manager/state.ts';
import { fault } from '../../support/fault.ts';

let directory: string;
let path: string;
beforeEach(() => {
  directory = join(mkdtempSync(join(tmpdir(), 'state-')), 'state');
  path = join(directory, 'manager.json');
});
afterEach(() => rmSync(join(directory, '..'), { recursive: true }));

const open = () => StateStore.open(directory, 'machine-1');
const drained = { host: { reason: 'bad fan', at: '' }, slots: {} };

fault('state-torn', 'a torn file causes no new identity, and no drain is lost', async () => {
  for (const torn of ['', '{"schema":1,"installat', 'null', '[]', '{}', '{"installation":7}']) {
    const store = await open();
    await store.update(() => ({ drain: drained }));
    await store.update(() => ({ jobsRun: { '0': 1 } }));
    writeFileSync(path, torn);
    const again = await open();
    expect(again.owner, torn).toBe(store.owner);
    expect(again.value.drain.host?.reason, torn).toBe('bad fan');
    expect(again.damage, torn).toBeDefined();
    expect(readFileSync(`${path}.damaged`, 'utf8')).toBe(torn);
    // The file is repaired: the next start reports no damage.
    expect((await open()).damage, torn).toBeUndefined();
    rmSync(directory, { recursive: true });
  }
});

test('values of another type are left out, and the rest of the file counts', async () => {
  const { owner } = await open();
  const { installation } = JSON.parse(readFileSync(path, 'utf8')) as { installation: string };
  const rest = { drain: drained, jobsRun: { '0': 3, '1': 'x' }, later: [null] };
  const damaged = {
    archives: [null],
    image: { proven: 5, rejected: 'i2' },
    slotImages: { '0': null, '1': { proven: 'i1' } },
    pulled: [null, { id: 'i1', at: 7 }],
    names: { '1': null, '2': ['box-0'] },
    gpuOrder: { boot: 'b', addresses: [null] },
    xids: { boot: 'b', events: [null] },
    gpuMemory: { boot: 'b', mib: null },
    renewing: { '0': null },
  };
  writeFileSync(path, JSON.stringify({ schema: 1, installation, ...rest, ...damaged }));
  const again = await open();
  expect(again.owner).toBe(owner);
  expect(again.value).toMatchObject({
    drain: drained,
    later: [null],
    slotImages: { '1': { proven: 'i1' } },
    pulled: [{ id: 'i1', at: 7 }],
    names: { '2': ['box-0'] },
    gpuOrder: undefined,
    xids: undefined,
    gpuMemory: undefined,
  });
  const { image, archives, renewing, jobsRun } = again.value;
  expect({ image, archives, renewing, jobsRun }).toEqual({
    image: { rejected: 'i2' },
    archives: {},
    renewing: {},
    jobsRun: { '0': 3 },
  });
});

fault('state-deleted', 'a deleted file causes no new identity, and no drain is lost', async () => {
  const store = await open();
  await store.update(() => ({ drain: drained }));
  await store.update(() => ({ jobsRun: { '0': 1 } }));
  rmSync(path);
  const again = await open();
  expect(again.owner).toBe(store.owner);
  expect(again.value.drain.host?.reason).toBe('bad fan');
  expect(again.damage).toBe('the file is missing');
  // Written again, with a previous version: the next start reports no damage, and survives the same deletion.
  expect((await open()).damage).toBeUndefined();
  rmSync(path);
  expect((await open()).owner).toBe(store.owner);
});

test('a drain is in both versions: the file may be deleted right after it', async () => {
  const store = await open();
  await store.update(() => ({ drain: drained }));
  rmSync(path);
  expect((await open()).value.drain).toEqual(drained);
});

test('a start from the previous version goes on while the file cannot be written, and loses neither', async () => {
  const store = await open();
  await store.update(() => ({ drain: drained }));
  writeFileSync(path, 'torn');
  // As on a full disk.
  mkdirSync(`${path}.damaged`);
  const again = await open();
  expect(again.owner).toBe(store.owner);
  expect(again.value.drain.host?.reason).toBe('bad fan');
  expect(again.problem).toMatchObject({ code: 'state.not-written' });
  rmSync(`${path}.damaged`, { recursive: true });
  await again.flush();
  expect(again.problem).toBeUndefined();
  // A cut within this write must find a whole version.
  expect(readFileSync(`${path}.damaged`, 'utf8')).toBe('torn');
  expect(JSON.parse(readFileSync(`${path}.previous`, 'utf8'))).toMatchObject({ drain: drained });
  expect((await open()).damage).toBeUndefined();
});

fault('state-both-torn', 'a deleted file with a torn previous one starts no new installation', async () => {
  const store = await open();
  await store.update(() => ({ jobsRun: {} }));
  rmSync(path);
  writeFileSync(`${path}.previous`, '');
  await expect(open()).rejects.toMatchObject({ problem: { code: 'file.damaged' } });
});

test('without a file each start is a new installation', async () => {
  const first = await open();
  rmSync(directory, { recursive: true });
  expect((await open()).owner).not.toBe(first.owner);
});

fault('state-both-torn', 'with both files torn it does not start, and reports the next action', async () => {
  const store = await open();
  await store.update(() => ({ jobsRun: {} }));
  writeFileSync(path, '');
  writeFileSync(`${path}.previous`, '');
  await expect(open()).rejects.toMatchObject({ problem: { code: 'file.damaged' } });
});

fault('state-not-written', 'a failed write is kept in memory, reported and repeated', async () => {
  const store = await open();
  rmSync(directory, { recursive: true });
  // A mode does not stop root, who may run this test.
  writeFileSync(directory, 'a file where the folder was');
  await expect(store.update(() => ({ drain: drained }))).rejects.toMatchObject({
    problem: { code: 'state.not-written' },
  });
  await store.note(() => ({ jobsRun: { '0': 7 } }));
  expect(store.value).toMatchObject({ drain: drained, jobsRun: { '0': 7 } });
  expect(store.problem).toMatchObject({
    code: 'state.not-written',
    what: expect.stringContaining(path) as string,
  });
  await store.flush();
  expect(store.problem).toBeDefined();
  rmSync(directory);
  mkdirSync(directory);
  await store.flush();
  expect(store.problem).toBeUndefined();
  expect((await open()).value).toMatchObject({ drain: drained, jobsRun: { '0': 7 } });
});
