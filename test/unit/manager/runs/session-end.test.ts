import { expect, test } from 'vitest';
import { sessionLeftSince } from '../../../../src/manager/runs/session-end.ts';
import { readAll } from '../../../../src/manager/runs/transcript.ts';
import { listening, start } from './console-table.ts';

const startedAt = 'its start';
const finishedAt = 'its end';
const conflict = `${start}A session for this agent already exists.\n`;
const cut = `${listening}An error occurred: Connection refused (a:443)\n`;

test.each([
  ['SIGINT, or one job done', 0, listening, undefined],
  ['SIGKILL', 137, listening, finishedAt],
  ['SIGTERM: v5 leaves it, v4 does not, and the server knows', 143, listening, finishedAt],
  ['the machine went down', 255, listening, finishedAt],
  ['an error while the server is there', 2, `${listening}An error occurred: x\n`, undefined],
  ['an error because the server is away', 2, cut, finishedAt],
  ['an update', 4, listening, undefined],
  ['killed before it had one', 137, start, undefined],
  ['ICU is missing', 134, 'Process terminated. x\n', undefined],
  ["somebody else's stood in its way", 0, conflict, startedAt],
  ['the same, given up by the agent', 1, conflict, startedAt],
])('%s', (_, code, console, since) => {
  expect(sessionLeftSince({ code, startedAt, finishedAt }, readAll(console))).toBe(since);
});
