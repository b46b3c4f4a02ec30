import { expect, test } from 'vitest';
import { judge } from '../../../../src/manager/runs/outcome.ts';
import { readAll } from '../../../../src/manager/runs/transcript.ts';
import { consoleTable, listening, start } from './console-table.ts';

test.each(consoleTable)('$situation', ({ console, exit, ranJob, result, code, words }) => {
  const judged = judge(exit, readAll(console), undefined);
  expect(judged.ranJob).toBe(ranJob);
  expect(judged.result).toBe(result);
  expect(judged.cause?.code).toBe(code);
  expect(judged.cause?.what ?? '').toContain(words);
  expect(judged.cause?.next ?? 'wait').toMatch(/^[a-z]/);
});

const end = (code: number) => ({ code, oomKilled: false, startedAt: '', finishedAt: '' });

test('an agent that we stopped ourselves has not failed', () => {
  expect(judge(end(0), readAll(listening), {})).toEqual({ ranJob: false });
});

test('an agent that we stopped because something was wrong says what', () => {
  const cause = { code: 'bug', what: 'x', next: 'x' } as const;
  expect(judge(end(0), readAll(start), { cause })).toEqual({ ranJob: false, cause });
});

test('a line that is not known says nothing of the language of an agent that listened', () => {
  const strange = '2026-11-21 02:01:00Z: The moon is full\n';
  expect(judge(end(1), readAll(`${listening}${strange}`), undefined).cause).toMatchObject({
    code: 'run.failed',
    what: expect.stringContaining('The moon is full') as string,
  });
  expect(judge(end(1), readAll(`${start}${strange}`), undefined).cause?.code).toBe('agent.unreadable');
});

test('a remark that was overcome explains nothing later', () => {
  const text = `${start}A session for this agent already exists.\n${listening}`;
  expect(judge(end(1), readAll(text), undefined).cause?.code).toBe('run.failed');
});
