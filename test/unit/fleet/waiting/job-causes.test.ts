// The decision alone: each cause fires, and beside it a case in which it does not.
import { describe, expect, test } from 'vitest';

import type { Place } from '../../../../src/fleet/waiting/agents.ts';
import { type Around, jobReport, type JobSeen } from '../../../../src/fleet/waiting/job-causes.ts';
import type { AzureAgent, JobRequest } from '../../../../src/shared/azure/client.ts';
import type { SlotStatus } from '../../../../src/shared/contract/status.ts';

const now = Date.parse('2026-11-21T12:00:00Z');
const request: JobRequest = {
  requestId: 9,
  jobName: 'train',
  queueTime: '2026-11-21T11:50:00Z',
  demands: ['gpu'],
};
const capabilities = { gpu: 'H200' };
const free: AzureAgent = {
  id: 1,
  name: 'h1-0',
  version: '4.2',
  enabled: true,
  status: 'online',
  userCapabilities: capabilities,
};
const busy: AzureAgent = {
  ...free,
  assignedRequest: { requestId: 3, jobName: 'nightly', receiveTime: '2026-11-21T09:00:00Z' },
};
const away: AzureAgent = { ...free, status: 'offline', statusChangedOn: '2026-11-21T10:00:00Z' };
const unlimited: Around['parallel'] = { kind: 'value', value: { permitted: undefined, used: 3 } };

function slot(state: SlotStatus['state'], more: Partial<SlotStatus> = {}): Place {
  const status = {
    slot: '0',
    agent: 'h1-0',
    state,
    pool: 'p',
    gpus: [],
    since: '2026-11-21T11:00:00Z',
    jobsRun: 0,
    ...more,
  };
  return { host: 'h1', slot: { status, drains: [] } };
}

interface Given {
  readonly request?: Partial<JobRequest>;
  readonly agents?: readonly AzureAgent[];
  readonly place?: Place;
  readonly parallel?: Around['parallel'];
}

function decide({ request: of, agents = [free], place = {}, parallel = unlimited }: Given) {
  const seen: JobSeen = {
    request: { ...request, ...of },
    pool: { id: 4, name: 'gpu-lab' },
    agents: { kind: 'value', value: agents },
    placeOf: () => place,
    ahead: 0,
  };
  const { job, unknown } = jobReport(seen, { parallel, organization: 'https://dev.azure.com/x', now });
  return { ...job, unknown, codes: job.causes.map(({ code }) => code) };
}

const disabled = (reason?: string): AzureAgent => ({
  ...free,
  enabled: false,
  userCapabilities: { ...capabilities, ...(reason === undefined ? {} : { 'azp-fleet.disabled': reason }) },
});
const limit = (permitted: number, used: number | undefined): Around['parallel'] => ({
  kind: 'value',
  value: { permitted, used },
});
const refused = { result: 'failed', finishTime: '2026-11-21T11:50:01Z' };

describe.each<[string, readonly Given[], readonly Given[]]>([
  [
    'waiting.busy',
    [{ agents: [busy] }, { agents: [busy, away] }],
    [{ agents: [free] }, { agents: [{ ...busy, assignedRequest: { requestId: 9 } }] }],
  ],
  [
    'waiting.drained',
    [
      { agents: [free], place: slot('drained') },
      { agents: [free], place: slot('stopping') },
      { agents: [disabled('drained by ann@laptop: fan')] },
    ],
    [
      { agents: [free], place: slot('idle') },
      { agents: [disabled()] },
      { agents: [disabled('GPU: lost')] },
      { agents: [busy], place: slot('drained') },
    ],
  ],
  [
    'waiting.quarantined',
    [
      { agents: [disabled('GPU: lost')] },
      { agents: [free], place: slot('quarantined', { cause: 'GPU: lost' }) },
    ],
    [{ agents: [disabled('drained')] }, { agents: [disabled()] }],
  ],
  [
    'waiting.disabled',
    [
      { agents: [disabled()] },
      { agents: [disabled()], place: slot('idle') },
      { agents: [disabled('the manager is being stopped')] },
    ],
    [{ agents: [disabled('drained')] }, { agents: [free] }],
  ],
  [
    'waiting.offline',
    [
      { agents: [away] },
      { agents: [away], place: slot('waiting') },
      { agents: [disabled('powered off: idle since 2026-11-22 13:05 UTC')] },
    ],
    [{ agents: [free] }, { agents: [away], place: slot('starting') }],
  ],
  [
    'waiting.starting',
    [{ agents: [away], place: slot('starting') }],
    [{ agents: [away] }, { agents: [free], place: slot('starting') }],
  ],
  [
    'waiting.unexplained',
    [
      { agents: [free] },
      { agents: [free, away] },
      { agents: [free], parallel: { kind: 'unknown', why: 'x' } },
    ],
    [{ agents: [busy] }, { agents: [free], parallel: limit(2, 2) }],
  ],
  [
    'waiting.parallel-jobs',
    [
      { parallel: limit(2, 2) },
      { parallel: limit(0, 0) },
      { parallel: limit(2, undefined) },
      { agents: [busy], parallel: limit(2, 3) },
    ],
    [
      { parallel: limit(3, 2) },
      { parallel: unlimited },
      { parallel: { kind: 'unknown', why: 'refused' } },
      { agents: [busy], parallel: limit(2, undefined) },
      { request: { data: { ParallelismTag: 'Public' } }, parallel: limit(2, 2) },
    ],
  ],
  [
    'waiting.agent-too-old',
    [
      { request: { demands: ['gpu', 'Agent.Version -gtVersion 5'] }, agents: [free] },
      {
        request: { demands: ['gpu', 'Agent.Version -gtVersion 5'] },
        agents: [free, { ...away, id: 2, version: '5.1' }],
      },
      { request: { ...refused, demands: ['Agent.Version -gtVersion 5'] } },
    ],
    [
      { request: { demands: ['gpu', 'Agent.Version -gtVersion 4.2'] } },
      {
        request: { demands: ['gpu', 'Agent.Version -gtVersion 5'] },
        agents: [away, { ...away, id: 2, version: '5.1' }],
      },
      { request: { ...refused, demands: ['nvlink', 'Agent.Version -gtVersion 5'] } },
    ],
  ],
  [
    'waiting.demand',
    [
      { request: { demands: ['nvlink'] } },
      { request: { ...refused, demands: ['nvlink'] } },
      {
        request: {
          ...refused,
          demands: [],
          statusMessage: 'No agent found in pool p which satisfies the specified demands: nvlink',
        },
      },
      { request: { ...refused } },
      { request: { matchedAgents: [{ id: 77 }] } },
    ],
    [
      { request: { demands: ['gpu'] } },
      { request: { ...refused, reservedAgent: { id: 1, name: 'h1-0' } } },
      { agents: [], request: refused },
    ],
  ],
  ['waiting.no-agents', [{ agents: [] }, { agents: [], request: refused }], [{ agents: [away] }]],
  [
    'waiting.not-taken',
    [{ request: { assignTime: '2026-11-21T11:58:59Z', reservedAgent: { id: 1, name: 'h1-0' } } }],
    [
      { request: { assignTime: '2026-11-21T11:59:30Z', reservedAgent: { id: 1, name: 'h1-0' } } },
      {
        request: {
          assignTime: '2026-11-21T11:58:59Z',
          receiveTime: '2026-11-21T11:59:00Z',
          reservedAgent: { id: 1, name: 'h1-0' },
        },
      },
    ],
  ],
])('%s', (code, fires, not) => {
  test.each(fires)('fires: %j', (given) => {
    const { causes, codes } = decide(given);
    expect(codes).toContain(code);
    for (const { what, next } of causes) expect([what, next].every((text) => text.length > 3)).toBe(true);
  });

  test.each(not)('does not: %j', (given) => {
    expect(decide(given).codes).not.toContain(code);
  });
});

test('the server says which agents fit; only a short form of its answer lets the demands decide', () => {
  const both = [busy, { ...away, id: 2, name: 'h2-0' }];
  expect(decide({ agents: both, request: { matchedAgents: [{ id: 2 }] } }).codes).toEqual([
    'waiting.offline',
  ]);
  expect(decide({ agents: both }).codes).toEqual(['waiting.offline', 'waiting.busy']);
});

test('the nearest agents lack fewest demands; one that works comes first', () => {
  const demands = ['gpu', 'nvlink', 'ib', 'gpu.model -equals B200'];
  const agents = [
    { ...away, id: 1, name: 'a', userCapabilities: { gpu: '', nvlink: '', ib: '', 'gpu.model': 'H200' } },
    { ...free, id: 2, name: 'b', userCapabilities: { gpu: '', nvlink: '', ib: '' } },
    { ...free, id: 3, name: 'c', userCapabilities: { gpu: '' } },
  ];
  const { causes } = decide({ agents, request: { ...refused, demands } });
  expect(causes).toMatchObject([
    {
      what: 'no agent of pool gpu-lab meets the demand gpu.model -equals B200',
      agents: [
        { agent: 'b', state: 'idle', lacks: [{ demand: 'gpu.model -equals B200' }] },
        { agent: 'a', state: 'offline', lacks: [{ demand: 'gpu.model -equals B200', has: 'H200' }] },
      ],
    },
  ]);
});

test.each([
  [{ ...refused }, true, 'no agent met the demands'],
  [
    { matchedAgents: [{ id: 77 }] },
    true,
    'the agents that met the demands of the job when it was queued are gone',
  ],
  [
    { ...refused, statusMessage: 'No agent found in pool p which satisfies the specified demands: gpu' },
    undefined,
    'no agent met the demands',
  ],
])('an agent meets the demands now: %j', (of, isPossible, what) => {
  const [cause] = decide({ request: of }).causes;
  expect(cause).toMatchObject({ code: 'waiting.demand', what: expect.stringContaining(what) });
  expect(cause?.isPossible).toBe(isPossible);
});

test('another message of a job that failed without an agent is shown, and no demand is blamed', () => {
  const { causes } = decide({
    request: { ...refused, demands: ['nvlink'], statusMessage: 'The pool was deleted.' },
  });
  expect(causes).toMatchObject([
    { code: 'waiting.unexplained', what: 'failed without an agent: The pool was deleted.' },
  ]);
});

test('each demand is met by some agent, and all by none', () => {
  const agents = [
    { ...free, id: 1, name: 'a', userCapabilities: { gpu: '' } },
    { ...free, id: 2, name: 'b', userCapabilities: { nvlink: '' } },
  ];
  const [cause] = decide({ agents, request: { ...refused, demands: ['gpu', 'nvlink'] } }).causes;
  expect(cause?.what).toBe('no agent of pool gpu-lab meets all demands of the job: gpu, nvlink');
});

test('agents that could not be read leave the reason unknown', () => {
  const seen: JobSeen = {
    request,
    pool: { id: 4, name: 'gpu-lab' },
    agents: { kind: 'unknown', why: 'refused' },
    placeOf: () => ({}),
    ahead: 2,
  };
  expect(jobReport(seen, { parallel: unlimited, organization: '', now })).toMatchObject({
    job: { state: 'waiting', causes: [], ahead: 2 },
    unknown: [{ what: 'agents of pool gpu-lab', why: 'refused' }],
  });
});

test('a manager that was not read is unknown, and the state of its agent in the pool counts', () => {
  const { unknown, causes } = decide({
    agents: [away],
    place: { host: 'h1', unread: { why: 'no route', next: 'check the cable' } },
  });
  expect(unknown).toEqual([{ what: 'manager of h1', why: 'no route' }]);
  expect(causes).toMatchObject([{ code: 'waiting.offline', next: 'check the cable' }]);
});

test.each([
  [{ result: 'succeeded' }, 'succeeded'],
  [{ result: 'succeededWithIssues' }, 'succeeded'],
  [{ result: 'canceled' }, 'canceled'],
  [{ result: 'abandoned', reservedAgent: { id: 1, name: 'a' } }, 'lost'],
  [{ result: 'failed', reservedAgent: { id: 1, name: 'a' } }, 'failed'],
  [{ result: 'skipped' }, 'ended'],
  [{ result: 'constructor' }, 'ended'],
  [{ receiveTime: '2026-11-21T11:50:00Z' }, 'running'],
] as const)('%j is %s, which needs no reason', (of, state) => {
  expect(decide({ request: of, agents: [busy] })).toMatchObject({ state, codes: [], unknown: [] });
});
