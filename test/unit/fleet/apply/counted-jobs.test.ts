// remove asks Azure DevOps first: an agent with a counted job could not be deleted once its manager is gone.
import { expect, test } from 'vitest';

import { refuseCountedJobs } from '../../../../src/fleet/apply/counted-jobs.ts';
import type { CountedJob } from '../../../../src/shared/azure/pools/agents.ts';
import type { Answered } from '../../../../src/shared/base/reading.ts';
import type { SlotStatus } from '../../../../src/shared/contract/status.ts';
import { StillClock } from '../../../support/clock.ts';
import { factsOf, merge } from '../../../support/host.ts';
import { managerStatus } from '../../../support/manager-status.ts';
import { at } from './drained-host.ts';

const job = (agent: string): CountedJob => ({
  pool: 'gpu-lab',
  agent,
  request: { requestId: 7, jobName: 'train', lockedUntil: '2026-11-21T02:10:00Z' },
});
const value = (...jobs: CountedJob[]): Answered<readonly CountedJob[]> => ({ kind: 'value', value: jobs });
const slot = (name: string, state: SlotStatus['state']): SlotStatus => ({
  slot: name,
  agent: `h200-1-${name}`,
  state,
  gpus: [],
  pool: 'gpu-lab',
  since: at,
  jobsRun: 0,
});
const status = managerStatus({
  drains: [],
  slots: [slot('0', 'busy'), slot('1', 'waiting'), slot('2', 'idle')],
});
const running = merge(factsOf(), { manager: { unitActive: 'active', status } });
const stopped = factsOf();

const refused = (facts: typeof running, jobs: Answered<readonly CountedJob[]>, wait = false) =>
  refuseCountedJobs(facts, jobs, { wait, clock: new StillClock() });

test.each([
  ['there is no job', running, value()],
  ['its agent runs it: the drain waits for it', running, value(job('h200-1-0'))],
  ['it has just been assigned to an agent that listens', running, value(job('h200-1-2'))],
])('a host is removed when %s', (_, facts, jobs) => {
  expect(refused(facts, jobs)).toEqual([]);
});

test('a host is refused whole while the server counts a job of an agent that has ended', () => {
  expect(refused(running, value(job('h200-1-0'), job('h200-1-1')))).toEqual([
    {
      refused: true,
      step: 'pool',
      what: 'the server still counts job train as running on agent h200-1-1; it gives it up at 2026-11-21T02:15:00Z',
      next: 'run it again after that, or now with --wait; with --force these agents stay in the pool; canceling the job ends it no sooner, because its agent has ended',
    },
  ]);
});

test('nothing is said about the agent of a manager that does not report', () => {
  const [{ next } = { next: '' }] = refused(stopped, value(job('h200-1-0')));
  expect(next).toBe(
    'run it again after that, or now with --wait; with --force these agents stay in the pool',
  );
});

test('--wait waits for these jobs, and not for a pool that cannot be read', () => {
  expect(refused(running, value(job('h200-1-1')), true)).toEqual([]);
  expect(refused(running, { kind: 'unknown', why: 'no answer in 30 s' }, true)).toMatchObject([
    {
      what: 'whether Azure DevOps counts jobs on its agents is unknown: no answer in 30 s',
      next: 'fix that and run it again; with --force its agents stay in the pool',
    },
  ]);
});

test('no agent is said to have ended where the report of its manager is unknown: the removal is refused for that', () => {
  const unread = merge(stopped, { unknown: [{ fact: 'manager-status', why: 'no answer in 5 s' }] });
  expect(refused(unread, value(job('h200-1-0')))).toEqual([]);
});
