import { expect, test } from 'vitest';
import { stuckBecause } from '../../../../src/manager/runs/stuck.ts';
import { readAll } from '../../../../src/manager/runs/transcript.ts';
import { listening, start } from './console-table.ts';

const minute = 60_000;
const conflict = `${start}A session for this agent already exists.\n`;
const trouble = (words: string): string =>
  `${start}2026-11-21 02:00:01Z: Agent connect error: ${words}. Retrying until reconnected.\n`;
const german = 'Nach Toolfunktionen wird gesucht.\n2026-11-21 02:00:00Z: Auf Aufträge lauschen\n';

test.each([
  ['nothing is known of it', undefined, 60 * minute, undefined],
  ['it begins', start, 4 * minute, undefined],
  ['it listens', listening, 60 * minute, undefined],
  ['it runs a job', `${listening}2026-11-21 02:00:01Z: Running job: x\n`, 600 * minute, undefined],
  ['a conflict, at once', conflict, 0, 'agent.session-conflict'],
  ['it may still find the server', trouble('Connection refused (a:443)'), 4 * minute, undefined],
  ['the network', trouble('Connection refused (a:443)'), 5 * minute, 'agent.cannot-connect'],
  ['the login', trouble('The client is not registered'), 5 * minute, 'agent.login-refused'],
  ['the clock', trouble('Current server time is 11/21/2026'), 5 * minute, 'agent.clock-skew'],
  ['something else', trouble('Frobnicated'), 5 * minute, 'agent.failed'],
  ['another language is given time, too', german, 4 * minute, undefined],
  ['another language', german, 5 * minute, 'agent.unreadable'],
  ['another program', 'Hello!\n', 5 * minute, 'agent.unreadable'],
  ['it says nothing more', start, 5 * minute, 'agent.silent'],
  ['it says nothing at all', '', 5 * minute, 'agent.silent'],
])('%s', (_, console, connectingMs, code) => {
  const transcript = console === undefined ? undefined : readAll(console);
  expect(stuckBecause(transcript, { connectingMs, doneMs: 0 })?.code).toBe(code);
});

test.each([
  ['a minute after its job', 1, undefined],
  ['just before its time is over', 4.9, undefined],
  ['five minutes after its job', 5, 'run.does-not-end'],
])('an agent that has not ended %s', (_, minutes, code) => {
  const ended = `${listening}2026-11-21 02:00:01Z: Running job: x
2026-11-21 02:00:02Z: Job x completed with result: Succeeded
`;
  const stuck = stuckBecause(readAll(ended), { connectingMs: 60 * minute, doneMs: minutes * minute });
  expect(stuck?.code).toBe(code);
});
