// What a job has said can be read by clients and by its own worker: records, timelines and logs below its plan.
import { beforeAll, expect, test } from 'vitest';
import { WebApi, getPersonalAccessTokenHandler } from 'azure-devops-node-api';
import { apiOf } from '../api.ts';
import { useFake } from '../server.ts';
import { RawAgent, type JobMessage } from './raw-agent.ts';

const fake = useFake();
const call = apiOf(fake);
let agent: RawAgent;
let job: JobMessage;
let other: JobMessage;
let log = 0;
const said = '2026-11-21T20:58:20.5855947Z hello\n2026-11-21T20:58:21.5855947Z bye\n';

beforeAll(async () => {
  const take = async (name: string) => {
    const taker = await RawAgent.register(fake, name);
    await taker.openSession({ systemCapabilities: { 'Agent.Name': name } });
    await fake.control.queue({ pool: 'wire', demands: [`Agent.Name -equals ${name}`] });
    return [taker, await taker.takeJob()] as const;
  };
  [agent, job] = await take('reader');
  [, other] = await take('other');
  const { body } = await agent.work(job, 'POST', 'logs', { json: { path: `logs\\${job.jobId}` } });
  log = Number(body['id']);
  await agent.work(job, 'POST', `logs/${log}`, { text: said });
});

const below = (scope: string) => `/${scope}/_apis/distributedtask/hubs/build/plans/${job.plan.planId}`;
const reads = (): [string, object][] => [
  ['timelines', { count: 1, value: [{ id: job.timeline.id, changeId: expect.any(Number) }] }],
  [`timelines/${job.timeline.id}`, { id: job.timeline.id, records: [{ id: job.jobId }] }],
  [`timelines/${job.timeline.id}/records`, { count: 1, value: [{ id: job.jobId, type: 'Job' }] }],
  ['logs', { count: 1, value: [{ id: log, lineCount: 2, path: `logs\\${job.jobId}` }] }],
  [`logs/${log}`, { count: 2, value: said.trim().split('\n') }],
];

test("a client reads them by the project's name or Guid, the worker by its token", async () => {
  for (const [path, json] of reads()) {
    for (const scope of ['vision', job.plan.scopeIdentifier]) {
      expect(await call('GET', `${below(scope)}/${path}`)).toMatchObject({ status: 200, json });
    }
    expect(await agent.work(job, 'GET', path)).toMatchObject({ status: 200, body: json });
  }
});

test('no other caller does: the worker of another job, another project, the agent itself', async () => {
  const strange = { ...other, plan: job.plan };
  for (const [path] of reads()) {
    expect((await agent.work(strange, 'GET', path)).status).toBe(404);
    expect((await call('GET', `${below('two%20words')}/${path}`)).status).toBe(404);
    expect((await agent.call('GET', `${below('vision')}/${path}`)).status).toBe(403);
  }
});

test.each(['timelines/x', 'timelines/x/records', 'logs/999999'])('%s is not found', async (path) => {
  expect((await call('GET', `${below('vision')}/${path}`)).status).toBe(404);
});

test('a log is text where the Accept header says so', async () => {
  const answer = await agent.work(job, 'GET', `logs/${log}`, { accept: 'text/plain' });
  expect([answer.status, answer.bytes.toString()]).toEqual([200, said]);
});

test("Microsoft's client for Node reads them", async () => {
  const tasks = await new WebApi(
    fake.server.organization,
    getPersonalAccessTokenHandler('good-token'),
  ).getTaskApi();
  const plan = [job.plan.scopeIdentifier, 'build', job.plan.planId] as const;
  expect(await tasks.getLogs(...plan)).toMatchObject([{ id: log, createdOn: expect.any(Date) }]);
  expect(await tasks.getLog(...plan, log)).toEqual(said.trim().split('\n'));
  expect(await tasks.getRecords(...plan, job.timeline.id)).toMatchObject([{ id: job.jobId }]);
  expect(await tasks.getTimelines(...plan)).toMatchObject([{ id: job.timeline.id }]);
});
