// What a worker asks of the server, and what it finds in the message of its job. Each case says where it is from: the
// agent's source or its recorded requests (test/fixtures/agent), or what was seen when they ran.
import { beforeEach, describe, expect, test } from 'vitest';
import type { QueueJobs } from '../../../../../practice/azure/control/types.ts';
import { useFake } from '../server.ts';
import { RawAgent, type JobMessage } from './raw-agent.ts';

const fake = useFake();
let agent: RawAgent;
let count = 0;

beforeEach(async () => {
  count += 1;
  agent = await RawAgent.register(fake, `worker-${count}`);
  await agent.openSession({ systemCapabilities: { 'Agent.Name': agent.name } });
});

async function take(more: Partial<QueueJobs> = {}): Promise<JobMessage> {
  await fake.control.queue({ pool: 'wire', demands: [`Agent.Name -equals ${agent.name}`], ...more });
  return agent.takeJob();
}

const job = async ({ requestId }: JobMessage) =>
  (await fake.control.jobs()).find(({ id }) => id === requestId);
const guid = expect.stringMatching(/^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/u);

describe('the message of a job', () => {
  test('has every member without which listener or worker fail (run, each removed singly)', async () => {
    const taken = await take({ name: 'train', script: 'make' });
    const url = `${fake.server.organization}/`;
    expect(taken).toMatchObject({
      messageType: 'PipelineAgentJobRequest',
      plan: { scopeIdentifier: guid, planId: guid, planType: 'Build', version: 12 },
      timeline: { id: guid },
      jobId: guid,
      jobDisplayName: 'train',
      jobContainer: null,
      resources: {
        endpoints: [{ name: 'SystemVssConnection', url, authorization: { scheme: 'OAuth' } }],
        repositories: [{ alias: 'self', properties: { type: 'Git', id: guid } }],
      },
      variables: {
        'system.collectionId': { value: guid },
        'system.teamFoundationCollectionUri': { value: url },
        'system.hostType': { value: 'build' },
        'system.serverType': { value: 'Hosted' },
        'system.accessToken': { value: guid, isSecret: true },
      },
      steps: [{ type: 'task', id: guid, inputs: { script: 'make' } }],
    });
  });

  test('has environment and secrets as a pipeline gives them to a step (Worker.cs, InitializeSecretMasker)', async () => {
    const taken = await take({ environment: { MODE: 'fast' }, secrets: { KEY: 's3cret' } });
    expect(taken).toMatchObject({
      variables: { KEY: { value: 's3cret', isSecret: true } },
      steps: [{ environment: { MODE: 'fast', KEY: '$(KEY)' } }],
    });
  });

  test('names the container of the job (ExecutionContext.cs, ContainerInfo.cs)', async () => {
    const container = { image: 'cuda:13', options: '--gpus all', localimage: true };
    expect(await take({ container })).toMatchObject({
      jobContainer: 'job',
      resources: { containers: [{ alias: 'job', properties: container }] },
    });
  });

  test.each<[string, object]>([
    ['no project nowhere', { project: 'nowhere' }],
    ['no name of a variable: A B', { environment: { 'A B': 'x' } }],
    ['secrets.A: ', { secrets: { A: 1 } }],
    ['both in environment and in secrets: A', { environment: { A: 'x' }, secrets: { A: 'x' } }],
    ['container.image: ', { container: {} }],
    ['planVersion: ', { planVersion: 0 }],
  ])('is not made of nonsense: %s', async (message, more) => {
    await expect(fake.control.queue({ pool: 'wire', ...more })).rejects.toThrow(message);
  });
});

describe('the task that runs the script', () => {
  test('is there as JSON and as an archive, by the reference in the message (TaskManager.cs)', async () => {
    const taken = await take();
    const { id, version } = taken.steps[0]?.reference ?? { id: '', version: '' };
    const path = `/_apis/distributedtask/tasks/${id}/${version}`;
    expect(await agent.call('GET', path)).toMatchObject({
      status: 200,
      body: { id, execution: { Node24: { target: 'run.js' }, Node20_1: {}, Node16: {}, Node10: {} } },
    });
    const archive = await agent.call('GET', path, { accept: 'application/zip' });
    expect(archive).toMatchObject({ status: 200, type: 'application/zip' });
    expect(archive.bytes.subarray(0, 2).toString()).toBe('PK');
    expect((await agent.call('GET', path.replace(version, '9.9.9'))).body).toMatchObject({
      typeKey: 'TaskDefinitionNotFoundException',
    });
  });
});

describe("a job's plan", () => {
  test.each([
    ['hub in any case (recorded: hubs/Build)', 'Build', 200],
    ['hub in any case', 'build', 200],
    ['another hub is none of its business', 'release', 403],
  ])('%s', async (_, hub, status) => {
    const taken = await take();
    const { AccessToken } = taken.resources.endpoints[0]?.authorization.parameters ?? { AccessToken: '' };
    const { scopeIdentifier, planId } = taken.plan;
    const path = `/${scopeIdentifier}/_apis/distributedtask/hubs/${hub}/plans/${planId}/timelines/${taken.timeline.id}`;
    expect((await agent.call('GET', path, { token: AccessToken })).status).toBe(status);
  });

  test('the token of a job opens its plan, no other one, and nothing of the pool', async () => {
    const taken = await take();
    const ofAgent = `/${taken.plan.scopeIdentifier}/_apis/distributedtask/hubs/Build/plans/${taken.plan.planId}/events`;
    expect((await agent.call('POST', ofAgent, { json: { name: 'JobCompleted' } })).status).toBe(403);
    const missing = { status: 404, body: { typeKey: 'TaskOrchestrationPlanNotFoundException' } };
    const strange = { ...taken, plan: { ...taken.plan, planId: taken.jobId } };
    expect(await agent.work(strange, 'GET', `timelines/${taken.timeline.id}`)).toMatchObject(missing);
    const elsewhere = { ...taken, plan: { ...taken.plan, scopeIdentifier: taken.jobId } };
    expect(await agent.work(elsewhere, 'GET', `timelines/${taken.timeline.id}`)).toMatchObject(missing);
    const token = taken.resources.endpoints[0]?.authorization.parameters.AccessToken ?? '';
    expect(
      (await agent.call('GET', `${agent.pool}/messages?sessionId=${agent.sessionId}`, { token })).status,
    ).toBe(403);
  });

  test('JobCompleted ends the job; its agent, which is shutting down, gets no more (recorded)', async () => {
    const taken = await take();
    const event = {
      agentShuttingDown: true,
      result: 'succeededWithIssues',
      name: 'JobCompleted',
      jobId: taken.jobId,
    };
    expect((await agent.work(taken, 'POST', 'events', { json: event })).status).toBe(204);
    expect(await job(taken)).toMatchObject({ state: 'done', result: 'succeededWithIssues' });
    const [next] = await fake.control.queue({ pool: 'wire', demands: [`Agent.Name -equals ${agent.name}`] });
    expect(next).toMatchObject({ state: 'waiting' });
  });

  test('the end of another job, or a second one, is refused', async () => {
    const taken = await take();
    const event = { name: 'JobCompleted', result: 'failed', jobId: taken.plan.planId };
    expect((await agent.work(taken, 'POST', 'events', { json: event })).status).toBe(404);
    const own = { ...event, jobId: taken.jobId };
    expect((await agent.work(taken, 'POST', 'events', { json: own })).status).toBe(204);
    expect((await agent.work(taken, 'POST', 'events', { json: own })).status).toBe(404);
  });
});

describe('timelines', () => {
  test("the job's own record is there before anything was said of it (JobDispatcher.cs)", async () => {
    const taken = await take({ name: 'train' });
    const { body } = await agent.work(taken, 'GET', `timelines/${taken.timeline.id}?includeRecords=True`);
    expect(body).toMatchObject({
      id: taken.timeline.id,
      records: [{ id: taken.jobId, type: 'Job', name: 'train' }],
    });
  });

  test('a record keeps what later changes say null of (recorded: the change that only names the log)', async () => {
    const taken = await take();
    const records = `timelines/${taken.timeline.id}/records`;
    const [step] = taken.steps;
    const first = { id: step?.id, type: 'Task', name: 'Script', state: 'inProgress', order: 2 };
    const then = { id: step?.id, type: null, name: null, state: null, log: { id: 16, location: null } };
    await agent.work(taken, 'PATCH', records, { json: { value: [first], count: 1 } });
    const { body } = await agent.work(taken, 'PATCH', records, { json: { value: [then], count: 1 } });
    expect(body).toMatchObject({ count: 1, value: [{ ...first, log: { id: 16 } }] });
    expect((await job(taken))?.steps).toEqual([{ name: 'Script', state: 'inProgress' }]);
  });

  test('one more is made for a step (JobServerQueue.cs), an unknown one is not found', async () => {
    const taken = await take();
    const more = `timelines/${taken.steps[0]?.id}`;
    expect(await agent.work(taken, 'GET', more)).toMatchObject({
      status: 404,
      body: { typeKey: 'TimelineNotFoundException' },
    });
    expect((await agent.work(taken, 'PUT', more, { json: {} })).status).toBe(200);
    expect((await agent.work(taken, 'GET', more)).body).toMatchObject({ records: [] });
  });

  test('attachments are known by their kind (JobServer.cs)', async () => {
    const taken = await take();
    const path = `timelines/${taken.timeline.id}/records/${taken.jobId}/attachments/DistributedTask.Core.Summary/notes.md`;
    expect((await agent.work(taken, 'PUT', path, { text: '# notes' })).status).toBe(200);
    expect((await agent.work(taken, 'GET', 'attachments/DistributedTask.Core.Summary')).body).toMatchObject({
      value: [{ name: 'notes.md', recordId: taken.jobId }],
    });
  });
});

describe('logs', () => {
  const stamp = '2026-11-21T20:58:20.5855947Z ';

  test('the console is the log while the job runs; lines that are sent again are not doubled', async () => {
    const taken = await take();
    const path = `timelines/${taken.timeline.id}/records/${taken.jobId}/feed`;
    const stepId = taken.steps[0]?.id;
    const say = (startLine: number, ...value: string[]) =>
      agent.work(taken, 'POST', path, { json: { value, stepId, startLine, count: value.length } });
    await say(1, 'one', 'two');
    await say(1, 'one', 'two');
    await say(2, 'two', 'three');
    expect(await fake.control.log(taken.requestId)).toBe('one\ntwo\nthree\n');
    expect((await job(taken))?.log).toBe('one\ntwo\nthree\n');
  });

  test('each step has one, the job repeats them all: every line stands there once (recorded)', async () => {
    const taken = await take();
    const upload = async (recordId: string, ...lines: string[]) => {
      const made = await agent.work(taken, 'POST', 'logs', { json: { path: `logs\\${recordId}`, id: 0 } });
      const text = `\uFEFF${lines.map((line) => `${stamp}${line}\n`).join('')}`;
      expect(
        (await agent.work(taken, 'POST', `logs/${String(made.body['id'])}`, { text })).body,
      ).toMatchObject({
        path: `logs\\${recordId}`,
        lineCount: lines.length,
      });
    };
    const header = ['='.repeat(78), 'Task         : Script', 'Author       : x', '='.repeat(78)];
    const step = ['##[section]Starting: Script', ...header, 'hello', '', '##[section]Finishing: Script'];
    await upload(taken.steps[0]?.id ?? '', ...step);
    await upload(taken.jobId, '##[section]Starting: train', ...step, '##[section]Finishing: train');
    expect((await job(taken))?.log).toBe('hello\n\n');
    expect((await fake.control.log(taken.requestId)).split('\n')).toEqual([
      '##[section]Starting: train',
      ...step,
      '##[section]Finishing: train',
      '',
    ]);
  });

  test('one without a path is refused, and what is written to one that was never made', async () => {
    const taken = await take();
    expect((await agent.work(taken, 'POST', 'logs/1', { text: 'x' })).status).toBe(404);
    expect((await agent.work(taken, 'POST', 'logs', { json: { path: '' } })).status).toBe(400);
  });
});
