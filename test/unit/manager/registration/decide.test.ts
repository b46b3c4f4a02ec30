import { expect, test } from 'vitest';
import type { AzureAgent, JobRequest } from '../../../../src/shared/azure/client.ts';
import {
  decideRegistration,
  type RegistrationQuestion,
  onlyTaker,
} from '../../../../src/manager/registration/decide.ts';

const agent = (changes: Partial<AzureAgent> = {}): AzureAgent => ({
  id: 1,
  name: 'box-0',
  enabled: true,
  status: 'offline',
  userCapabilities: { 'azp-fleet.owner': 'us' },
  ...changes,
});
const question = (changes: Partial<RegistrationQuestion> = {}): RegistrationQuestion => ({
  name: 'box-0',
  agent: agent(),
  owner: 'us',
  adopt: false,
  started: false,
  host: 'box',
  now: { wall: Date.parse('2026-11-21T02:00:00Z'), leftForMs: 180_000 },
  containers: 0,
  jobUntil: undefined,
  left: undefined,
  requests: [],
  ...changes,
});
const left = { until: '2026-11-21T02:05:00Z', leftS: 200, mayRenew: true };
const online = agent({ status: 'online' });
const job = { requestId: 7, jobName: 'train' };

test.each([
  ['no agent has the name', question({ agent: undefined }), 'create'],
  ['it is ours and idle', question(), 'replace'],
  ['a container of the slot exists', question({ containers: 1 }), 'wait'],
  ['a job is assigned', question({ agent: agent({ assignedRequest: job }) }), 'wait'],
  [
    'another host has it',
    question({ agent: agent({ userCapabilities: { 'azp-fleet.owner': 'them' } }) }),
    'refuse',
  ],
  ['a person registered it', question({ agent: agent({ userCapabilities: {} }) }), 'refuse'],
  [
    'config.sh created it for this manager, which was killed before it wrote the owner',
    question({ agent: agent({ userCapabilities: {} }), started: true }),
    'replace',
  ],
  [
    'config.sh was started, but an agent of this name is online',
    question({ agent: agent({ userCapabilities: {}, status: 'online' }), started: true }),
    'refuse',
  ],
  [
    'config.sh was started, but another host owns the agent',
    question({ agent: agent({ userCapabilities: { 'azp-fleet.owner': 'them' } }), started: true }),
    'refuse',
  ],
  [
    'another host has it, and a takeover is permitted',
    question({ agent: agent({ userCapabilities: {} }), adopt: true }),
    'replace',
  ],
  [
    'a takeover is permitted, but it runs a job',
    question({ agent: agent({ userCapabilities: {}, assignedRequest: job }), adopt: true }),
    'refuse',
  ],
  [
    'a takeover is permitted, but it is online again',
    question({ agent: agent({ userCapabilities: {}, status: 'online' }), adopt: true }),
    'refuse',
  ],
  [
    'a takeover is permitted, but it went offline a moment ago, as between two jobs',
    question({
      agent: agent({ userCapabilities: {}, statusChangedOn: '2026-11-21T01:59:50Z' }),
      adopt: true,
    }),
    'refuse',
  ],
  [
    'a takeover is permitted, and it has been offline for long',
    question({
      agent: agent({ userCapabilities: {}, statusChangedOn: '2026-11-20T01:59:50Z' }),
      adopt: true,
    }),
    'replace',
  ],
  ['its last agent left a session', question({ agent: online, left }), 'renew'],
  ['the left session is closed', question({ left }), 'replace'],
  ['it is online without a left session', question({ agent: online }), 'replace'],
  [
    'a session was left just after the entry was created again',
    question({ agent: online, left: { ...left, mayRenew: false } }),
    'wait',
  ],
  [
    'a session was left, and a job waits for this agent alone',
    question({ agent: online, left, requests: [{ requestId: 9, matchedAgents: [{ id: 1 }] }] }),
    'wait',
  ],
  [
    'a session was left, and the queue is too long to read',
    question({ agent: online, left, requests: undefined }),
    'wait',
  ],
  [
    'a session was left, with a job',
    question({ agent: agent({ status: 'online', assignedRequest: job }), left }),
    'wait',
  ],
  [
    'a session was left by an agent of another owner',
    question({ agent: agent({ status: 'online', userCapabilities: {} }), left }),
    'refuse',
  ],
  [
    'a container of the slot exists beside a left session',
    question({ agent: online, left, containers: 1 }),
    'wait',
  ],
])('%s', (_, asked, kind) => {
  expect(decideRegistration(asked).kind).toBe(kind);
});

function cause(asked: RegistrationQuestion): { readonly what: string; readonly next: string } {
  const decision = decideRegistration(asked);
  if (decision.kind !== 'wait') throw new Error(decision.kind);
  return decision.cause;
}

test('a wait for a job names the job, and when the server gives it up', () => {
  const jobUntil = '2026-11-21T02:15:00Z';
  const { what } = cause(question({ agent: agent({ assignedRequest: job }), jobUntil }));
  expect(what).toContain('job train');
  expect(what).toContain('gives it up at 2026-11-21T02:15:00Z');
});

test('a wait for the end of a session names its end and duration', () => {
  expect(cause(question({ agent: online, left, requests: undefined })).what).toContain(
    'the queue is too long to check whether a job waits for this agent alone',
  );
  const requests = [{ requestId: 9, jobName: 'eval', matchedAgents: [{ id: 1 }] }];
  const { what, next } = cause(question({ agent: online, left, requests }));
  expect(what).toContain('until 2026-11-21T02:05:00Z; job eval waits for this agent alone');
  expect(next).toContain('wait at most 3 min 20 s');
});

const us: AzureAgent = { id: 5, name: 'box-0', enabled: true, status: 'online' };
const other = (id: number, changes: Partial<AzureAgent> = {}) => ({
  id,
  enabled: true,
  status: 'online' as const,
  ...changes,
});
const request = (changes: Partial<JobRequest> = {}): JobRequest => ({ requestId: 9, ...changes });

test.each<readonly [string, readonly JobRequest[], boolean]>([
  ['nothing waits', [], false],
  ['a job waits for this agent alone', [request({ matchedAgents: [us] })], true],
  ['a job waits for others', [request({ matchedAgents: [other(3), other(7)] })], false],
  ['a job waits for this and an available agent', [request({ matchedAgents: [other(3), us] })], false],
  ['the other one is offline', [request({ matchedAgents: [other(3, { status: 'offline' }), us] })], true],
  ['the other one is disabled', [request({ matchedAgents: [other(3, { enabled: false }), us] })], true],
  [
    'two agents qualify: only the one with the higher id gives up its entry',
    [request({ matchedAgents: [us, other(7)] })],
    true,
  ],
  ['the server does not list matching agents', [request()], true],
  ['the server says null', [request({ matchedAgents: null as never, result: null as never })], true],
  ['it is assigned already', [request({ matchedAgents: [us], assignTime: '2026-11-21T02:00:00Z' })], false],
  ['it has a result', [request({ matchedAgents: [us], result: 'canceled' })], false],
  [
    'one of several jobs waits for this agent alone',
    [request({ matchedAgents: [other(3), us] }), request({ matchedAgents: [us] })],
    true,
  ],
])('the only agent that may take a waiting job: %s', (_, requests, isOnly) => {
  expect(onlyTaker(us, requests) !== undefined).toBe(isOnly);
});

test('of several agents that check the same job at once, at least one keeps its entry', () => {
  const agents = [other(3), other(4), other(8)].map((each) => ({ ...each, name: `box-${each.id}` }));
  const waiting = [request({ matchedAgents: agents })];
  expect(agents.filter((agent) => onlyTaker(agent, waiting) !== undefined).map(({ id }) => id)).toEqual([3]);
});
