import { expect, test } from 'vitest';
import { readSeries } from '../../../../src/shared/contract/history.ts';
import type { Entry, SampleEntry } from '../../../../src/manager/history/entries.ts';
import { EventCollector, SeriesCollector } from '../../../../src/manager/history/summary.ts';

const now = Date.parse('2026-11-28T12:00:00Z') / 1000;
const [hour, day] = [3600, 24 * 3600];

const run = (id: string, at: number, changes: object = {}): Entry => ({
  kind: 'event',
  at,
  event: {
    kind: 'run',
    what: 'train: succeeded',
    slot: '0',
    run: {
      id,
      job: 'train',
      result: 'succeeded',
      failed: false,
      gpus: ['GPU-1'],
      durationS: hour,
      ...changes,
    },
  },
});

function collected(entries: readonly Entry[], { since = now - day, limit = 100 } = {}) {
  const collector = new EventCollector({ since, limit, now });
  for (const entry of entries) collector.add(entry);
  return collector.end();
}

test('the week: jobs, failures by cause, hours busy of each GPU', () => {
  const { summary } = collected([
    run('old', now - 8 * day),
    run('1', now - 6 * day),
    run('2', now - 5 * day, { result: 'failed', failed: true, cause: 'run.out-of-memory' }),
    run('3', now - 4 * day, { result: 'failed', failed: true, gpus: ['GPU-1', 'GPU-2'] }),
    run('4', now - 3 * day, { result: 'failed', failed: true, cause: 'run.out-of-memory' }),
    // Without a job.
    {
      kind: 'event',
      at: now,
      event: { kind: 'run', what: 'x', run: { id: '5', failed: true, cause: 'run.failed', gpus: [] } },
    },
  ]);
  expect(summary).toEqual({
    since: '2026-11-21T12:00:00.000Z',
    jobs: 4,
    failures: [
      { cause: 'run.out-of-memory', count: 2 },
      { cause: 'failed', count: 1 },
      { cause: 'run.failed', count: 1 },
    ],
    busy: [
      { gpu: 'GPU-1', hours: 4 },
      { gpu: 'GPU-2', hours: 1 },
    ],
  });
});

test('jobs that share a GPU count once for its hours; the part before the week does not', () => {
  const { summary } = collected([
    run('1', now - 7 * day + hour / 2),
    run('2', now - day),
    run('3', now - day + hour / 2),
  ]);
  expect(summary.busy).toEqual([{ gpu: 'GPU-1', hours: 0.5 + 1.5 }]);
});

test('a run that was recorded twice counts once', () => {
  const { events, summary } = collected([run('1', now - hour), run('1', now - hour)]);
  expect(events).toHaveLength(1);
  expect(summary.jobs).toBe(1);
});

test('the summary of a new host begins with its history', () => {
  expect(collected([run('1', now - day)]).summary.since).toBe('2026-11-27T12:00:00.000Z');
  expect(collected([]).summary.since).toBe('2026-11-28T12:00:00.000Z');
});

test('events: only those of the time, the newest where there are too many', () => {
  const all = Array.from({ length: 50 }, (_, index) => run(`r${index}`, now - 2 * day + index * hour));
  const { events, omitted } = collected(all, { limit: 10 });
  expect(events.map((event) => event.run?.id)).toEqual(
    Array.from({ length: 10 }, (_, index) => `r${40 + index}`),
  );
  expect(omitted).toBe(16);
});

test('events with very long texts: the newest, in at most 2 MiB', () => {
  const long = 'é'.repeat(2000);
  const all = Array.from({ length: 1000 }, (_, index) => run(`r${index}`, now - 1000 + index, { job: long }));
  const answer = collected(all, { limit: 1000 });
  expect(Buffer.byteLength(JSON.stringify(answer.events))).toBeLessThan(2.1 * 1024 ** 2);
  expect(answer.events.at(-1)?.run?.id).toBe('r999');
  expect(answer.events.length + answer.omitted).toBe(1000);
  expect(answer.events.length).toBeGreaterThan(400);
});

const sample = (at: number, gpus: SampleEntry['gpus']): SampleEntry => ({
  kind: 'sample',
  at,
  spanS: 60,
  gpus,
});

function series(samples: readonly Entry[], hours = 24) {
  const collector = new SeriesCollector({ now, hours });
  for (const each of samples) collector.add(each);
  return collector.end();
}

test('series: 96 points of a GPU, means and peaks, and null where nothing is known', () => {
  const answer = series([
    sample(now - 25 * hour, new Map([['GPU-1', { utilizationPercent: 1 }]])),
    sample(
      now - 60,
      new Map([['GPU-1', { utilizationPercent: 20, memoryMiB: 50, temperatureC: 40, powerW: 100 }]]),
    ),
    sample(now, new Map([['GPU-1', { utilizationPercent: 40, memoryMiB: 10, temperatureC: 60 }]])),
  ]);
  const [gpu] = answer.gpus;
  expect(answer).toMatchObject({ schema: 1, from: '2026-11-27T12:00:00.000Z', stepS: 900, omitted: 0 });
  expect(gpu?.utilizationPercent).toHaveLength(96);
  expect(gpu?.utilizationPercent.slice(-2)).toEqual([null, 30]);
  expect(gpu?.memoryUsedMiB.at(-1)).toBe(50);
  expect(gpu?.temperatureC.at(-1)).toBe(60);
  expect(gpu?.powerW.at(-1)).toBe(100);
  expect(readSeries(JSON.parse(JSON.stringify(answer)))).toEqual(answer);
});

test('series of many GPUs take at most 64 KiB', () => {
  const gpus = new Map(
    Array.from({ length: 64 }, (_, index) => [
      `GPU-${String(index).padStart(8, '0')}-0000-0000-0000-000000000000`,
      { utilizationPercent: 100, memoryMiB: 183_359, temperatureC: 100, powerW: 1000 },
    ]),
  );
  const answer = series(Array.from({ length: 1440 }, (_, index) => sample(now - index * 60, gpus)));
  expect(Buffer.byteLength(JSON.stringify(answer))).toBeLessThanOrEqual(64 * 1024);
  expect(answer.gpus.length).toBeGreaterThanOrEqual(16);
  expect(answer.gpus.length + answer.omitted).toBe(64);
});
