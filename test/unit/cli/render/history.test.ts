import { expect, test } from 'vitest';
import type { HistoryAnswer, HistoryEvent } from '../../../../src/shared/contract/history.ts';
import { type HostHistory, historyText, spanOf } from '../../../../src/cli/render/history.ts';

const since = '2026-11-20T12:00:00.000Z';
const event = (minute: string, changes: Partial<HistoryEvent> = {}): HistoryEvent => ({
  at: `2026-11-21T09:${minute}:00.000Z`,
  kind: 'driver',
  what: 'driver 580 → 590',
  ...changes,
});
const of = (
  host: string,
  events: readonly HistoryEvent[],
  more: Partial<HistoryAnswer> = {},
): HostHistory => ({
  host,
  history: { schema: 1, events, omitted: 0, summary: { since, jobs: 0, failures: [], busy: [] }, ...more },
});

test('events of several hosts are merged by time', () => {
  const text = historyText([of('b', [event('02'), event('04')]), of('a', [event('01'), event('03')])], since);
  const hosts = text
    .split('\n')
    .slice(1, 5)
    .map((line) => line.split(/ {2,}/)[1]);
  expect(hosts).toEqual(['a', 'b', 'a', 'b']);
});

test('one host has no column for its name, and persons none where there are none', () => {
  expect(historyText([of('a', [event('01')])], since)).toBe(`time (UTC)        kind    what
2026-11-21 09:01  driver  driver 580 → 590

a since 2026-11-20 12:00: 0 jobs, 0 failures
`);
});

test('a run has its slot and how long its job took', () => {
  const run = { id: '1', failed: false, gpus: [], durationS: 5214 };
  expect(
    historyText([of('a', [event('01', { kind: 'run', what: 'train: succeeded', slot: '0', run })])], since),
  ).toContain('run   slot 0: train: succeeded, 87 min\n');
});

test('events that the manager left out are counted', () => {
  expect(historyText([of('a', [event('01')], { omitted: 7 })], since)).toMatch(
    /^a: 7 older events not shown; use a shorter --since\n/,
  );
});

test('the summary: jobs, failures by cause, hours of each GPU; nothing is wider than the screen', () => {
  const summary = {
    since,
    jobs: 41,
    failures: [
      { cause: 'run.out-of-memory', count: 2 },
      { cause: 'failed', count: 1 },
    ],
    busy: Array.from({ length: 8 }, (_, index) => ({
      gpu: `GPU-513536b${index}-7d19-9063-b049-1e69664bb298`,
      hours: 31.24,
    })),
  };
  const text = historyText(
    [of('a', [event('01', { what: 'word '.repeat(40).trim() })], { summary })],
    since,
    80,
  );
  expect(text).toContain('41 jobs, 3 failures (2 run.out-of-memory, 1');
  expect(text).toContain('busy: GPU-513536b0 31.2 h, GPU-513536b1 31.2 h');
  for (const line of text.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
});

test('no host that answers: nothing', () => {
  expect(historyText([], since)).toBe('');
});

test.each([
  [0.4, '0 s'],
  [119, '119 s'],
  [121, '2 min'],
  [5214, '87 min'],
  [7200, '2 h'],
  [11_100, '3 h 5 min'],
])('%d seconds are %s', (seconds, text) => {
  expect(spanOf(seconds)).toBe(text);
});
