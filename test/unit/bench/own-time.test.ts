import { expect, test } from 'vitest';

import { saidBy } from '../../../bench/manager/listener.ts';
import { jobsOf, type Recorded, refills, type Run, runs } from '../../../bench/manager/own-time.ts';

const begin = (t: number, n: number, what: string): Recorded => ({ t, kind: 'begin', n, what });
const end = (t: number, n: number): Recorded => ({ t, kind: 'end', n });

test('own time is what no call covers; calls that overlap count once, streams not at all', () => {
  const lines: readonly Recorded[] = [
    begin(0, 1, 'GET /containers/aa/logs?follow=true&stdout=true'),
    { t: 100, kind: 'die', id: 'aa' },
    begin(110, 2, 'GET /containers/aa/json'),
    begin(115, 3, 'GET /containers/aa/logs?stdout=true'),
    end(120, 2),
    end(130, 3),
    begin(150, 4, 'POST /containers/create?name=a-0'),
    end(180, 4),
    begin(185, 5, 'POST /containers/bb/start'),
    end(500, 5),
  ];
  expect(refills(lines)).toEqual([{ wholeMs: 85, ownMs: 35, serverMs: 0, engineMs: 50 }]);
});

test('while Docker takes the dead container down, its output being followed to the end, the time is Docker’s', () => {
  const lines: readonly Recorded[] = [
    begin(0, 1, 'GET /containers/bb/logs?follow=true&stdout=true'),
    { t: 100, kind: 'die', id: 'aa' },
    begin(110, 2, 'GET /containers/aa/logs?stdout=true&follow=true'),
    end(190, 2),
    begin(200, 3, 'POST /containers/cc/start'),
  ];
  expect(refills(lines)).toEqual([{ wholeMs: 100, ownMs: 20, serverMs: 0, engineMs: 80 }]);
});

test('a container that is not followed by another is no refill', () => {
  expect(refills([{ t: 1, kind: 'die', id: 'aa' }])).toEqual([]);
});

test('calls to the server and to the engine are told apart, also while they overlap', () => {
  const lines: readonly Recorded[] = [
    { t: 100, kind: 'die', id: 'aa' },
    begin(110, 1, 'PUT /lab/_apis/distributedtask/pools/1/agents/7?api-version=7.1'),
    begin(120, 2, 'GET /containers/aa/json'),
    end(130, 2),
    end(160, 1),
    begin(170, 3, 'POST /containers/bb/start'),
  ];
  expect(refills(lines)).toEqual([{ wholeMs: 70, ownMs: 20, serverMs: 50, engineMs: 10 }]);
});

test('the parts of a run: start, agent, job, end; what was not seen is absent', () => {
  const lines: readonly Recorded[] = [
    begin(0, 1, 'POST /containers/aa/start'),
    end(300, 1),
    { t: 1300, kind: 'listening', id: 'aa' },
    { t: 5000, kind: 'running', id: 'aa' },
    { t: 7000, kind: 'completed', id: 'aa' },
    { t: 7100, kind: 'die', id: 'aa' },
    begin(7400, 2, 'POST /containers/bb/start'),
  ];
  expect(runs(lines)).toEqual([
    { startMs: 300, agentStartMs: 1000, jobMs: 2000, agentEndMs: 100 },
    { startMs: undefined, agentStartMs: undefined, jobMs: undefined, agentEndMs: undefined },
  ]);
});

test('jobs of 1 s and of 30 s are told apart by their time', () => {
  const none = { startMs: undefined, agentStartMs: undefined, agentEndMs: undefined };
  const all = [1000, 1200, 14_000, 30_000, 31_000, undefined].map((jobMs): Run => ({ ...none, jobMs }));
  expect(jobsOf(all, 1000)).toEqual([0, 200, 13_000]);
  expect(jobsOf(all, 30_000)).toEqual([0, 1000]);
});

test.each([
  ['2026-11-21 20:58:20Z: Listening for Jobs', 'listening'],
  ['2026-11-21 20:58:21Z: Running job: Job', 'running'],
  ['2026-11-21 20:58:22Z: Job Job completed with result: Succeeded', 'completed'],
  ['Scanning for tool capabilities.', undefined],
])('%s is what a listener reports: %s', (line, kind) => {
  expect(saidBy(line)).toBe(kind);
});
