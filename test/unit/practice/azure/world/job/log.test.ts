import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  appendFeed,
  appendLog,
  readableLog,
  scriptLog,
} from '../../../../../../practice/azure/world/job/log.ts';
import { upgraded } from '../../../../../../practice/azure/world/saved-state.ts';
import type { FakeLog } from '../../../../../../practice/azure/world/state.ts';

const stamp = '2026-11-21T20:58:20.5855947Z ';
const request = () => ({ ...upgraded({ requestId: 1, jobName: 'j', jobId: 'job-id' }), stepId: 'step-id' });

function log(path: string): FakeLog {
  return { id: 1, path, lineCount: 0, text: '' };
}

test('lines of the console stand there once and in order, however often they are sent again', () => {
  const lines = Array.from({ length: 30 }, (_, index) => `line ${index}`);
  const resend = fc.array(fc.tuple(fc.nat(29), fc.integer({ min: 1, max: 8 })), { maxLength: 30 });
  fc.assert(
    fc.property(resend, (pieces) => {
      const job = request();
      let sent = 0;
      for (const [from, count] of pieces) {
        // What comes next, or again something that came before.
        const start = Math.min(from, sent);
        const piece = lines.slice(start, start + count);
        appendFeed(job, 'step-id', piece, start + 1);
        sent = Math.max(sent, start + piece.length);
      }
      expect(readableLog(job)).toBe(
        lines
          .slice(0, sent)
          .map((line) => `${line}\n`)
          .join(''),
      );
    }),
  );
});

test.each<[string, string[], string[]]>([
  ['a step without a header', ['##[section]Starting: S', 'a', '##[section]Finishing: S'], ['a']],
  [
    'what a script writes like the agent',
    ['##[section]Starting: S', '##[section]Finishing: x', 'b', '##[section]Finishing: S'],
    ['##[section]Finishing: x', 'b'],
  ],
  [
    'a script that draws rules',
    [
      '##[section]Starting: S',
      '='.repeat(78),
      'Task : S',
      '='.repeat(78),
      '='.repeat(78),
      'c',
      '='.repeat(78),
      '##[section]Finishing: S',
    ],
    ['='.repeat(78), 'c', '='.repeat(78)],
  ],
  ['a step that is cut off', ['##[section]Starting: S', 'd'], ['d']],
  ['what looks like a time in the middle', ['##[section]Starting: S', `at ${stamp}`], [`at ${stamp}`]],
])('the script alone: %s', (_, written, left) => {
  const job = request();
  const own = log('logs\\step-id');
  job.logs.push(own);
  appendLog(job, own, `\uFEFF${written.map((line) => `${stamp}${line}\n`).join('')}`);
  expect(own.lineCount).toBe(written.length);
  expect(scriptLog(job)).toBe(left.map((line) => `${line}\n`).join(''));
});

test('a log that goes on for ever is kept to its last 64 Ki characters', () => {
  const job = request();
  const own = log('logs\\job-id');
  job.logs.push(own);
  for (let piece = 0; piece < 20; piece += 1) appendLog(job, own, `${'x'.repeat(10_000)}\n`);
  appendFeed(job, 'step-id', Array(200).fill('y'.repeat(1000)) as string[], 1);
  expect(own).toMatchObject({ lineCount: 20 });
  expect(own.text.length).toBe(64 * 1024);
  expect(JSON.stringify(job.feed).length).toBeLessThan(80 * 1024);
});

test.each([1e308, Infinity, -1e308, 2.5])(
  'a step whose lines begin at %d goes on after them',
  (startLine) => {
    const job = request();
    appendFeed(job, 'step-id', ['far'], startLine);
    expect(Number.isSafeInteger(job.feed.seen['step-id'])).toBe(true);
    appendFeed(job, 'step-id', ['next'], undefined);
    expect(readableLog(job)).toContain('next\n');
  },
);
