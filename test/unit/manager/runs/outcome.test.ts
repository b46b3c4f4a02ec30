import { expect, test } from 'vitest';
import { judge, stuckBecause, sessionLeftSince, spansOf } from '../../../../src/manager/runs/outcome.ts';
import { isFailed } from '../../../../src/manager/runs/run-store.ts';
import { SlotMemory } from '../../../../src/manager/slots/memory.ts';
import { StillClock } from '../../../support/clock.ts';
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

test.each([
  ['Succeeded', 'info'],
  ['SucceededWithIssues', 'info'],
  ['Canceled', 'info'],
  ['Failed', undefined],
])(
  'memory that ran out in a job with the result %s is no fault of a job that did not fail',
  (result, severity) => {
    const job = `${listening}2026-11-21 02:00:01Z: Running job: x\n`;
    const console = `${job}2026-11-21 02:00:09Z: Job x completed with result: ${result}\n`;
    const outcome = judge({ ...end(0), oomKilled: true }, readAll(console), undefined);
    expect(outcome).toMatchObject({ result: result.toLowerCase(), cause: { code: 'run.out-of-memory' } });
    expect(outcome.cause?.severity).toBe(severity);
    const isFault = severity === undefined;
    expect(isFailed(outcome)).toBe(isFault);
    const memory = new SlotMemory(new StillClock());
    memory.ended(outcome);
    expect(memory.cause?.code).toBe(isFault ? 'run.out-of-memory' : undefined);
  },
);

test('an agent that the manager stopped has not failed', () => {
  expect(judge(end(0), readAll(listening), {})).toEqual({ ranJob: false });
});

test('an agent that the manager stopped for a fault reports the fault', () => {
  const cause = { code: 'bug', what: 'x', next: 'x' } as const;
  expect(judge(end(0), readAll(start), { cause })).toEqual({ ranJob: false, cause });
});

test('an unknown line after the agent listened does not mean another language', () => {
  const unknown = '2026-11-21 02:01:00Z: The moon is full\n';
  expect(judge(end(1), readAll(`${listening}${unknown}`), undefined).cause).toMatchObject({
    code: 'run.failed',
    what: expect.stringContaining('The moon is full') as string,
  });
  expect(judge(end(1), readAll(`${start}${unknown}`), undefined).cause?.code).toBe('agent.unreadable');
});

test('a remark before a new connection is not the cause of a later failure', () => {
  const text = `${start}A session for this agent already exists.\n${listening}`;
  expect(judge(end(1), readAll(text), undefined).cause?.code).toBe('run.failed');
});

const minute = 60_000;
const conflict = `${start}A session for this agent already exists.\n`;
const connectError = (words: string): string =>
  `${start}2026-11-21 02:00:01Z: Agent connect error: ${words}. Retrying until reconnected.\n`;
const german = 'Nach Toolfunktionen wird gesucht.\n2026-11-21 02:00:00Z: Auf Aufträge lauschen\n';

test.each([
  ['unread output', undefined, 60 * minute, undefined],
  ['it begins', start, 4 * minute, undefined],
  ['it listens', listening, 60 * minute, undefined],
  ['it runs a job', `${listening}2026-11-21 02:00:01Z: Running job: x\n`, 600 * minute, undefined],
  ['a conflict, at once', conflict, 0, 'agent.session-conflict'],
  ['the network, before the limit', connectError('Connection refused (a:443)'), 4 * minute, undefined],
  ['the network', connectError('Connection refused (a:443)'), 5 * minute, 'agent.cannot-connect'],
  ['the login', connectError('The client is not registered'), 5 * minute, 'agent.login-refused'],
  ['the clock', connectError('Current server time is 11/21/2026'), 5 * minute, 'agent.clock-skew'],
  ['an unknown error', connectError('Frobnicated'), 5 * minute, 'agent.failed'],
  ['another language, before the limit', german, 4 * minute, undefined],
  ['another language', german, 5 * minute, 'agent.unreadable'],
  ['another program', 'Hello!\n', 5 * minute, 'agent.unreadable'],
  ['no further output', start, 5 * minute, 'agent.silent'],
  ['no output', '', 5 * minute, 'agent.silent'],
])('an agent that does not start to listen: %s', (_, console, connectingMs, code) => {
  const transcript = console === undefined ? undefined : readAll(console);
  expect(stuckBecause(transcript, { connectingMs, doneMs: 0 })?.code).toBe(code);
});

test.each([
  ['a minute after its job', 1, undefined],
  ['just before the limit', 4.9, undefined],
  ['five minutes after its job', 5, 'run.does-not-end'],
])('an agent that has not ended %s', (_, minutes, code) => {
  const ended = `${listening}2026-11-21 02:00:01Z: Running job: x
2026-11-21 02:00:02Z: Job x completed with result: Succeeded
`;
  const stuck = stuckBecause(readAll(ended), { connectingMs: 60 * minute, doneMs: minutes * minute });
  expect(stuck?.code).toBe(code);
});

const startedAt = 'its start';
const finishedAt = 'its end';
const cut = `${listening}An error occurred: Connection refused (a:443)\n`;

test.each([
  ['SIGINT, or one job done', 0, listening, undefined],
  ['SIGKILL', 137, listening, finishedAt],
  ['SIGTERM: v5 leaves it; v4 does not, as the server shows', 143, listening, finishedAt],
  ['the machine went down', 255, listening, finishedAt],
  ['an error while the server is reachable', 2, `${listening}An error occurred: x\n`, undefined],
  ['an error because the server is unreachable', 2, cut, finishedAt],
  ['an update', 4, listening, undefined],
  ['killed before it had a session', 137, start, undefined],
  ['ICU is missing', 134, 'Process terminated. x\n', undefined],
  ["a conflict with another agent's session", 0, conflict, startedAt],
  ['the same conflict, given up by the agent', 1, conflict, startedAt],
])('the session that a run leaves open: %s', (_, code, console, since) => {
  expect(sessionLeftSince({ code, startedAt, finishedAt }, readAll(console))).toBe(since);
});

const life = { startedAt: '2026-11-21T02:00:00.5Z', finishedAt: '2026-11-21T02:01:00.5Z' };

test.each([
  [
    'a job of 10 s after 49 s of waiting',
    life,
    { beganAt: '2026-11-21T02:00:49Z', endedAt: '2026-11-21T02:00:59Z' },
    { waitedS: 48.5, durationS: 10 },
  ],
  ['without a job', life, {}, { waitedS: 60 }],
  ['an interrupted job', life, { beganAt: '2026-11-21T02:00:40Z' }, { waitedS: 39.5, durationS: 20.5 }],
  [
    'timestamps in whole seconds: no span is negative',
    life,
    { beganAt: '2026-11-21T02:00:00Z', endedAt: '2026-11-21T02:00:00Z' },
    { waitedS: 0, durationS: 0 },
  ],
  ['never started', { startedAt: '0001-01-01T00:00:00Z', finishedAt: '0001-01-01T00:00:00Z' }, {}, {}],
  ['not a time', { startedAt: '', finishedAt: '' }, { beganAt: 'x' }, {}],
])('how long a run waited and worked: %s', (_, exit, stamps, spans) => {
  expect(spansOf(exit, stamps)).toEqual(spans);
});
