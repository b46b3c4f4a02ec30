import fc from 'fast-check';
import { expect, test } from 'vitest';
import { emptyTranscript, read, readAll, type Transcript } from '../../../../src/manager/runs/transcript.ts';

const start = 'Scanning for tool capabilities.\nConnecting to the server.\n';
const listening = `${start}2026-11-21 02:00:00Z: Listening for Jobs\n`;
const running = `${listening}2026-11-21 02:00:01Z: Running job: build (a) b\n`;
const done = `${running}2026-11-21 02:00:09Z: Job build (a) b completed with result: SucceededWithIssues\n`;
const cut =
  '2026-11-21 02:05:00Z: Agent connect error: Connection refused (azure.example:443). Retrying until reconnected.\n';

const state = (phase: Transcript['phase'], more: Partial<Transcript> = {}) => ({
  phase,
  known: true,
  ...more,
});

test.each<readonly [string, string, Partial<Transcript>]>([
  ['no output', '', { phase: 'connecting', known: false }],
  ['it connects', start, state('connecting')],
  ['it listens', listening, state('listening')],
  ['it runs a job', running, state('running', { job: 'build (a) b', beganAt: '2026-11-21T02:00:01Z' })],
  [
    'the job is done',
    done,
    state('done', { job: 'build (a) b', result: 'succeededwithissues', endedAt: '2026-11-21T02:00:09Z' }),
  ],
  ['a new session while it listens, without a second "Listening"', listening + start, state('listening')],
  ['the same with a job', running + start, state('running')],
  [
    'it listens and has lost the server',
    listening + cut,
    state('listening', { remarks: [{ kind: 'network', words: 'Connection refused (azure.example:443)' }] }),
  ],
  [
    'it is connected again',
    `${listening}${cut}2026-11-21 02:06:00Z: Agent reconnected.\n`,
    state('listening', { remarks: [] }),
  ],
  [
    'a job whose name looks like a result',
    `${listening}2026-11-21 02:00:01Z: Running job: Job a completed with result: Failed\n`,
    state('running', { job: 'Job a completed with result: Failed' }),
  ],
  [
    'an unknown line with the timestamp of the agent has priority',
    'Hallo.\n2026-11-21 02:00:00Z: Auf Aufträge lauschen\n',
    {
      phase: 'connecting',
      known: false,
      unknownLine: { words: '2026-11-21 02:00:00Z: Auf Aufträge lauschen', stamped: true },
    },
  ],
  [
    'output of a job inside a line is no marker',
    'x: Running job: y\n',
    { phase: 'connecting', known: false },
  ],
])('%s', (_, text, expected) => {
  expect(readAll(text)).toMatchObject(expected);
});

const piece = fc.constantFrom(...`${done}${cut}Exiting...\nAn error occurred: x\n\u001B[2J`.split('\n'));
const line = fc.oneof(
  piece,
  fc.string({ unit: 'binary' }),
  fc.tuple(piece, fc.string()).map(([a, b]) => a + b),
);

test('any output can be read: phases only advance, and messages are limited and clean', () => {
  const order: readonly Transcript['phase'][] = ['connecting', 'listening', 'running', 'done'];
  fc.assert(
    fc.property(fc.array(line), (lines) => {
      let transcript = emptyTranscript;
      for (const each of lines) {
        const next = read(transcript, each);
        if (transcript.phase !== 'done')
          expect(order.indexOf(next.phase)).toBeGreaterThanOrEqual(order.indexOf(transcript.phase));
        transcript = next;
      }
      const words = [
        ...transcript.remarks,
        ...(transcript.unknownLine === undefined ? [] : [transcript.unknownLine]),
      ];
      for (const { words: said } of words) {
        expect(said.length).toBeLessThanOrEqual(300);
        expect(said).not.toMatch(/[\u0000-\u001F\u007F]/);
      }
      expect(new Set(transcript.remarks.map(({ kind }) => kind)).size).toBe(transcript.remarks.length);
    }),
  );
});
