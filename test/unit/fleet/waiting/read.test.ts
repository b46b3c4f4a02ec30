// What is read, and from where: with a client of this test instead of a server.
import { expect, test } from 'vitest';

import { readWaiting, type WaitingTools } from '../../../../src/fleet/waiting/read.ts';
import type { AzureAgent, JobRequest } from '../../../../src/shared/azure/client.ts';
import { FleetError } from '../../../../src/shared/base/errors.ts';
import { managerStatus } from '../../../support/manager-status.ts';
import { desiredOf } from '../../../support/host.ts';

const agents = (count: number): AzureAgent[] =>
  Array.from({ length: count }, (_, index) => ({
    id: index + 1,
    name: `gpu-${index}-0`,
    enabled: true,
    status: 'offline',
    userCapabilities: { 'azp-fleet.host': `gpu-${index}` },
  }));
const jobs = (count: number, more: Partial<JobRequest> = {}): JobRequest[] =>
  Array.from({ length: count }, (_, index) => ({
    requestId: index + 1,
    jobName: `train-${index}`,
    queueTime: '2026-11-21T11:50:00Z',
    demands: [],
    planType: 'Build',
    owner: { id: 7, name: '1' },
    ...more,
  }));

interface Given {
  readonly requests?: readonly JobRequest[];
  readonly pool?: readonly AzureAgent[];
}

function tools({ requests = jobs(1), pool = agents(2) }: Given) {
  const asked: string[] = [];
  const refused = () => Promise.reject(new FleetError({ code: 'azure.auth', what: 'refused' }));
  const given: WaitingTools = {
    azure: {
      listPools: () => Promise.resolve([{ id: 1, name: 'gpu' }]),
      listAgents: () => Promise.resolve(pool),
      parallelJobs: () => Promise.resolve({ permitted: undefined, used: 0 }),
      findProject: () => Promise.resolve(undefined),
    },
    builds: {
      requests: () => Promise.resolve(requests),
      find: refused,
      timeline: refused,
      permitted: refused,
    },
    organization: 'https://dev.azure.com/example',
    pools: ['GPU'],
    projects: ['vision'],
    hosts: pool.map((_, index) => ({ ...desiredOf().host, name: `gpu-${index}` })),
    askManagers: (hosts) => {
      asked.push(...hosts.map(({ name }) => name));
      return Promise.resolve(hosts.map(({ name: host }) => ({ host, value: managerStatus({ host }) })));
    },
    now: Date.parse('2026-11-21T12:00:00Z'),
  };
  return { asked, read: (build: number) => readWaiting({ build }, given) };
}

test('each manager of an agent that fits and takes no job is asked once, and no other', async () => {
  const [first, second, third] = agents(3);
  const pool = [
    first,
    { ...second, status: 'online' },
    { ...third, userCapabilities: { 'azp-fleet.host': 'other' } },
  ];
  const { asked, read } = tools({ requests: jobs(3), pool: pool as AzureAgent[] });
  await read(7);
  expect(asked).toEqual(['gpu-0']);
});

test('a release with the number of a build is another thing', async () => {
  const { jobs: found, queue } = await tools({ requests: jobs(1, { planType: 'Release' }) }).read(7);
  expect(found).toEqual([]);
  expect(queue).toMatchObject([{ build: 7, state: 'waiting' }]);
});

test('a matrix of 256 jobs in a fleet of 300 hosts is read in a moment', async () => {
  const { asked, read } = tools({ requests: jobs(256), pool: agents(300) });
  const from = process.cpuUsage();
  const report = await read(7);
  const { user } = process.cpuUsage(from);
  expect(report.jobs).toHaveLength(256);
  expect(asked).toHaveLength(300);
  expect(user / 1000).toBeLessThan(10_000);
});
