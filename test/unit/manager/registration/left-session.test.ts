import { expect, test } from 'vitest';
import type { AzureAgent, JobRequest } from '../../../../src/shared/azure/client.ts';
import { onlyTaker } from '../../../../src/manager/registration/left-session.ts';

const us: AzureAgent = { id: 5, name: 'box-0', enabled: true, status: 'online' };
const other = (id: number, changes: Partial<AzureAgent> = {}) => ({
  id,
  enabled: true,
  status: 'online' as const,
  ...changes,
});
const job = (changes: Partial<JobRequest> = {}): JobRequest => ({ requestId: 9, ...changes });

test.each<readonly [string, readonly JobRequest[], boolean]>([
  ['nothing waits', [], false],
  ['a job waits for us alone', [job({ matchedAgents: [us] })], true],
  ['a job waits for others', [job({ matchedAgents: [other(3), other(7)] })], false],
  ['a job waits for us and one that is free', [job({ matchedAgents: [other(3), us] })], false],
  ['the other one is offline', [job({ matchedAgents: [other(3, { status: 'offline' }), us] })], true],
  ['the other one is disabled', [job({ matchedAgents: [other(3, { enabled: false }), us] })], true],
  [
    'both may be in our place: only who has the higher id makes room',
    [job({ matchedAgents: [us, other(7)] })],
    true,
  ],
  ['the server does not say for whom it waits', [job()], true],
  ['the server says null', [job({ matchedAgents: null as never, result: null as never })], true],
  ['it is assigned already', [job({ matchedAgents: [us], assignTime: '2026-11-21T02:00:00Z' })], false],
  ['it has a result', [job({ matchedAgents: [us], result: 'canceled' })], false],
  [
    'one of several waits for us alone',
    [job({ matchedAgents: [other(3), us] }), job({ matchedAgents: [us] })],
    true,
  ],
])('%s', (_, requests, isOnly) => {
  expect(onlyTaker(us, requests) !== undefined).toBe(isOnly);
});

test('of agents that all ask at once about the same job, at least one keeps its entry', () => {
  const agents = [other(3), other(4), other(8)].map((each) => ({ ...each, name: `box-${each.id}` }));
  const waiting = [job({ matchedAgents: agents })];
  expect(agents.filter((agent) => onlyTaker(agent, waiting) !== undefined).map(({ id }) => id)).toEqual([3]);
});
