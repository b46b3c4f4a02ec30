import { expect, test } from 'vitest';
import { judge } from '../../../../src/manager/runs/outcome.ts';
import { readAll } from '../../../../src/manager/runs/transcript.ts';

const start = 'Scanning for tool capabilities.\nConnecting to the server.\n';
const listening = `${start}2026-11-21 02:00:00Z: Listening for Jobs\n`;
const running = `${listening}2026-11-21 02:00:01Z: Running job: build (a) b\n`;
const done = `${running}2026-11-21 02:00:09Z: Job build (a) b completed with result: Failed\n`;
const end = (code: number, oomKilled = false) => ({ code, oomKilled, startedAt: '', finishedAt: '' });

test.each([
  ['', 'connecting', undefined],
  [start, 'connecting', undefined],
  [listening, 'listening', undefined],
  [running, 'running', 'build (a) b'],
  [done, 'done', 'build (a) b'],
])('the output %j means %s', (text, phase, job) => {
  expect(readAll(text)).toMatchObject({ phase, ...(job === undefined ? {} : { job }) });
});

test.each([
  ['a job done, whatever its result', end(0), done, { ranJob: true, result: 'failed' }, undefined],
  ['exit 0 is not a job', end(0), listening, { ranJob: false }, 'run.no-job'],
  ['cut in the middle of a job', end(137), running, { ranJob: true }, 'run.cut'],
  ['out of memory', end(137, true), running, { ranJob: true }, 'run.out-of-memory'],
  [
    'out of memory, and the agent lived to report it',
    end(0, true),
    done,
    { ranJob: true },
    'run.out-of-memory',
  ],
  [
    'a job that got over it',
    end(0, true),
    done.replace('Failed', 'Succeeded'),
    { ranJob: true, result: 'succeeded' },
    undefined,
  ],
  ['exit 3: the server wants a newer agent', end(3), listening, { ranJob: false }, 'image.outdated'],
  ['exit 4 likewise', end(4), start, { ranJob: false }, 'image.outdated'],
  [
    'a session is left over',
    end(1),
    `${start}A session for this agent already exists.\n`,
    { ranJob: false },
    'agent.session-conflict',
  ],
  [
    'deleted in the browser',
    end(1),
    `${start}The agent no longer exists on the server\n`,
    { ranJob: false },
    'agent.deleted',
  ],
  [
    'no network',
    end(1),
    `${start}Agent connect error: x. Retrying until reconnected.\n`,
    { ranJob: false },
    'agent.cannot-connect',
  ],
  [
    'no registration',
    end(78),
    'azp-fleet: .agent is missing: not configured\n',
    { ranJob: false },
    'agent.not-configured',
  ],
  ['anything else', end(127), 'sh: not found\n', { ranJob: false }, 'run.failed'],
] as const)('%s', (_, exit, text, outcome, code) => {
  const judged = judge(exit, readAll(text), false);
  expect(judged).toMatchObject(outcome);
  expect(judged.cause?.code).toBe(code);
});

test('an agent that we stopped ourselves has not failed', () => {
  expect(judge(end(0), readAll(listening), true)).toEqual({ ranJob: false });
});

test('a remark that was overcome explains nothing later', () => {
  const text = `${start}A session for this agent already exists.\n${listening}`;
  expect(judge(end(1), readAll(text), false).cause?.code).toBe('run.failed');
});
