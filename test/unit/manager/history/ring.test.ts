// The history file: whole after a kill at any time, bounded, thinned by age.
import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readerBounds } from '../../../../src/shared/base/reader-bounds.ts';
import type { Entry, EventEntry, KeptEntry, SampleEntry } from '../../../../src/manager/history/entries.ts';
import { Ring } from '../../../../src/manager/history/ring.ts';
import { RingDisk } from '../../../support/ring-disk.ts';

const now = Date.parse('2026-11-28T12:00:00Z') / 1000;
const [minute, hour, day] = [60, 3600, 24 * 3600];

const eventAt = (at: number, what = 'driver 580 → 590'): EventEntry => ({
  kind: 'event',
  at,
  event: { kind: 'driver', what },
});
const keptAt = (at: number, key: string, value: string | number): KeptEntry => ({
  kind: 'kept',
  at,
  key,
  value,
});
const sampleAt = (at: number, utilizationPercent = 50, gpu = 'GPU-1'): SampleEntry => ({
  kind: 'sample',
  at,
  spanS: minute,
  gpus: new Map([[gpu, { utilizationPercent, memoryMiB: 1000 }]]),
});

async function entriesOf(ring: Ring): Promise<Entry[]> {
  const all: Entry[] = [];
  for await (const entry of ring.entries()) all.push(entry);
  return all;
}
const whatOf = (entries: readonly Entry[]): string[] =>
  entries.flatMap((entry) => (entry.kind === 'event' ? [entry.event.what] : []));

describe('a manager that is killed', () => {
  const first = [eventAt(now - 2 * minute, 'one'), keptAt(now, 'width a', 16)];
  const second = [eventAt(now - minute, 'two ✔'), sampleAt(now)];

  /** Writes two groups, thins the file, and writes a third, with a kill after some steps; then writes a fourth. */
  async function killedAfter(steps: number): Promise<{ readonly disk: RingDisk; readonly done: number }> {
    const disk = new RingDisk();
    disk.left = steps;
    const ring = new Ring('ring', disk, { bytes: 4096 });
    let done = 0;
    try {
      await ring.append(first, now);
      done = 1;
      await ring.append(second, now);
      done = 2;
      await ring.compact(now);
      await ring.append([eventAt(now, 'three')], now);
      done = 3;
    } catch {
      // Killed.
    }
    disk.left = Number.POSITIVE_INFINITY;
    return { disk, done };
  }

  test('at any byte of any write leaves all that was written before, and a new one continues', async () => {
    const { disk: whole } = await killedAfter(Number.POSITIVE_INFINITY);
    expect(whole.steps).toBeGreaterThan(300);
    for (let steps = 0; steps <= whole.steps; steps += 1) {
      const { disk, done } = await killedAfter(steps);
      const next = new Ring('ring', disk, { bytes: 4096 });
      await next.append([eventAt(now, 'four')], now);
      const entries = await entriesOf(next);
      const said = whatOf(entries);
      expect(said.at(-1), `after ${steps} steps`).toBe('four');
      const expected = ['one', 'two ✔', 'three'].slice(0, done);
      expect(said.slice(0, done), `after ${steps} steps`).toEqual(expected);
      // Nothing but what was written: a part of a line is none.
      expect(['one', 'two ✔', 'three', 'four']).toEqual(expect.arrayContaining(said));
      if (done > 0) expect(entries).toContainEqual(keptAt(now, 'width a', 16));
      await next.compact(now);
      expect(whatOf(await entriesOf(next)), `after ${steps} steps`).toEqual(said);
      expect([...disk.files.keys()]).toEqual(['ring']);
    }
  });
});

test('any cut and any bytes in between leave the whole lines', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.nat(200), { minLength: 1, maxLength: 8 }),
      fc.uint8Array({ maxLength: 60 }),
      async (cuts, noise) => {
        const disk = new RingDisk();
        const ring = new Ring('ring', disk);
        for (const [index, cut] of cuts.entries()) {
          await ring.append([eventAt(now, `whole ${index}`)], now);
          const torn = Buffer.from(`\n${JSON.stringify({ t: now, e: { kind: 'driver', what: 'torn' } })}`);
          const file = disk.files.get('ring') ?? Buffer.alloc(0);
          disk.files.set(
            'ring',
            Buffer.concat([file, torn.subarray(0, cut % torn.length), Buffer.from(noise)]),
          );
        }
        const said = whatOf(await entriesOf(ring));
        expect(said.filter((what) => what.startsWith('whole'))).toEqual(
          cuts.map((_, index) => `whole ${index}`),
        );
      },
    ),
  );
});

describe('with time', () => {
  let disk: RingDisk;
  let ring: Ring;
  beforeEach(() => {
    disk = new RingDisk();
    ring = new Ring('ring', disk);
  });

  test('samples are kept each minute for a day, then each 15 minutes, and nothing for more than 14 days', async () => {
    const start = now - 20 * day;
    for (let at = start; at <= now; at += hour)
      await ring.append(
        Array.from({ length: 60 }, (_, index) => sampleAt(at + index * minute, index)),
        at,
      );
    await ring.append([eventAt(start, 'old'), eventAt(now - 13 * day, 'kept')], now);
    const last = now + 59 * minute;
    await ring.compact(last);
    const entries = await entriesOf(ring);
    const samples = entries.filter((entry) => entry.kind === 'sample');
    expect(Math.min(...samples.map(({ at }) => at))).toBeGreaterThanOrEqual(last - 14 * day);
    const fine = samples.filter(({ at }) => at >= last - day);
    expect(fine).toHaveLength(day / minute + 1);
    const coarse = samples.filter(({ at }) => at < last - day);
    expect(coarse.length).toBeGreaterThanOrEqual(13 * 24 * 4);
    expect(coarse.length).toBeLessThanOrEqual(13 * 24 * 4 + 1);
    expect(coarse[10]).toMatchObject({ spanS: 15 * minute });
    expect(whatOf(entries)).toEqual(['kept']);
    // Thinning again changes nothing.
    const before = disk.files.get('ring');
    await ring.compact(last);
    expect(disk.files.get('ring')).toEqual(before);
  });

  test('an event between the samples of 15 minutes does not part them', async () => {
    const at = Math.floor((now - 2 * day) / 900) * 900;
    await ring.append([sampleAt(at + 60, 10), eventAt(at + 90), sampleAt(at + 120, 30)], now);
    await ring.compact(now);
    const samples = (await entriesOf(ring)).filter((entry) => entry.kind === 'sample');
    expect(samples).toEqual([
      expect.objectContaining({
        spanS: 120,
        gpus: new Map([['GPU-1', { utilizationPercent: 20, memoryMiB: 1000 }]]),
      }),
    ]);
  });

  test('a kept fact stays for ever, in its last value, until it is removed', async () => {
    await ring.append([keptAt(now - 400 * day, 'width a', 16), keptAt(now - 400 * day, 'gone', 'x')], now);
    await ring.append([keptAt(now - 399 * day, 'width a', 8), keptAt(now - 399 * day, 'gone', '')], now);
    await ring.compact(now);
    expect(await entriesOf(ring)).toEqual([keptAt(now - 399 * day, 'width a', 8)]);
  });

  test('lines of a newer version stay as they are', async () => {
    const line = JSON.stringify({ t: now, z: { new: true } });
    disk.files.set('ring', Buffer.from(`${line}\n`));
    await ring.append([eventAt(now)], now);
    await ring.compact(now);
    expect(disk.files.get('ring')?.toString()).toContain(`${line}\n`);
  });
});

test('a full file loses its oldest lines, never a kept fact, and stays within its size', async () => {
  const disk = new RingDisk();
  const ring = new Ring('ring', disk, { bytes: 20_000 });
  await ring.append([keptAt(now, 'width a', 16)], now);
  for (let index = 0; index < 1000; index += 1) {
    await ring.append([eventAt(now + index, `event ${index}`)], now + index);
    expect(disk.files.get('ring')?.length ?? 0).toBeLessThanOrEqual(20_000);
  }
  const entries = await entriesOf(ring);
  const said = whatOf(entries);
  expect(said.length).toBeGreaterThan(150);
  expect(said).toEqual(
    Array.from({ length: said.length }, (_, index) => `event ${1000 - said.length + index}`),
  );
  expect(entries).toContainEqual(keptAt(now, 'width a', 16));
});

test('a file stays within its size with groups of very long lines, of which the newest are kept', async () => {
  const disk = new RingDisk();
  const ring = new Ring('ring', disk, { bytes: 20_000 });
  await ring.append([keptAt(now, 'width a', 16)], now);
  for (let group = 0; group < 20; group += 1) {
    const all = Array.from({ length: 40 }, (_, index) =>
      eventAt(now, `${group} ${index} ${'x'.repeat(200)}`),
    );
    await ring.append(all, now);
    expect(disk.files.get('ring')?.length ?? 0).toBeLessThanOrEqual(20_000);
    expect(whatOf(await entriesOf(ring)).at(-1)).toMatch(`${group} 39 x`);
  }
  expect(await entriesOf(ring)).toContainEqual(keptAt(now, 'width a', 16));
});

describe('on the disk', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'ring-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  test('a file is for root only, and has what was written, also after thinning', async () => {
    const path = join(folder, 'state', 'history.jsonl');
    const ring = new Ring(path);
    expect(await entriesOf(ring)).toEqual([]);
    await ring.append([eventAt(now, 'one')], now);
    await ring.append([eventAt(now, 'two')], now);
    await ring.compact(now);
    expect(whatOf(await entriesOf(ring))).toEqual(['one', 'two']);
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  test('lines of more than the bound, and other programs’ bytes, are skipped', async () => {
    const path = join(folder, 'history.jsonl');
    const ring = new Ring(path);
    await ring.append([eventAt(now, 'one')], now);
    const { bytes } = readerBounds.historyLine;
    appendFileSync(path, `{"t":1,"x":"${'y'.repeat(10 * bytes)}"}\n\0\0\0\0\n[1]\n{"t":"no"}\nnull\n`);
    await ring.append([eventAt(now, 'two')], now);
    expect(whatOf(await entriesOf(ring))).toEqual(['one', 'two']);
    await ring.compact(now);
    expect(readFileSync(path).length).toBeLessThan(bytes);
  });

  test('reading while it is replaced reads one of both, not a mixture', async () => {
    const ring = new Ring(join(folder, 'history.jsonl'));
    const all = Array.from({ length: 3000 }, (_, index) => eventAt(now, `event ${index}`));
    await ring.append(all, now);
    const [read] = await Promise.all([entriesOf(ring), ring.compact(now + 13 * day)]);
    expect(read).toHaveLength(3000);
  });
});
