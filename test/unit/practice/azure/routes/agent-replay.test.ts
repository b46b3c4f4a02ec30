// What the real agent sent (test/fixtures/agent), sent again in its order: each request gets the recorded status.
import { describe, expect, test } from 'vitest';
import { useFake } from '../server.ts';
import { RawAgent, type Answer, type JobMessage } from './raw-agent.ts';
import { pathOf, scenario, type Recorded } from './recorded.ts';

const fake = useFake();

/** Sends a scenario's requests with the ids that this server gives in place of the recorded ones. */
class Replay {
  readonly #agent: RawAgent;
  readonly #name: string;
  /** Recorded id → id here. */
  readonly #ids = new Map<string, string>();
  /** Polls that wait for an answer. */
  #polls: { readonly wanted: number | string; readonly answer: Promise<Answer> }[] = [];
  readonly #hangUp = new AbortController();
  #job: JobMessage | undefined;
  readonly replies: string[] = [];

  constructor(agent: RawAgent, name: string) {
    this.#agent = agent;
    this.#name = name;
  }

  async step(request: Recorded): Promise<void> {
    const path = pathOf(request);
    if (path.startsWith('/_apis/oauth2/token')) return this.#tell(request, await this.#agent.logIn());
    if (request.method === 'GET' && path.includes('/messages?')) return this.#poll(request);
    const [, deleted] = /^\/_apis\/distributedtask\/pools\/\d+\/messages\/(\d+)/u.exec(path) ?? [];
    if (request.method === 'DELETE' && deleted !== undefined) await this.#take(deleted);
    if (request.method === 'DELETE' && path.includes('/sessions/')) this.#hangUp.abort();
    if (path.includes('/hubs/')) this.#knowJob(request);
    const answer = await this.#send(request);
    this.#tell(request, answer);
    if (path.endsWith('/sessions')) this.#opened(answer);
    if (path.endsWith('/logs')) this.#logs.push(String(answer.body['id']));
  }

  readonly #logs: string[] = [];

  #opened(answer: Answer): void {
    this.#agent.took(answer);
    const polls = scenario(this.#name).map((each) => /sessionId=([\da-f-]+)/u.exec(each.url ?? '')?.[1]);
    this.#ids.set(polls.find((id) => id !== undefined) ?? '', this.#agent.sessionId);
  }

  async #poll(request: Recorded): Promise<void> {
    const path = this.#translated(pathOf(request));
    const answer = this.#agent.call('GET', path, { signal: this.#hangUp.signal });
    answer.catch(() => undefined);
    this.#polls.push({ wanted: request.status, answer });
  }

  /** The polls that were answered before the message with this recorded number was deleted: all brought that message. */
  async #take(recordedId: string): Promise<void> {
    const answered = this.#polls.filter(({ wanted }) => wanted === 200);
    this.#polls = this.#polls.filter(({ wanted }) => wanted !== 200);
    for (const { answer } of answered) {
      const { status, body } = await answer;
      this.replies.push(`GET messages ${status} as recorded 200`);
      this.#ids.set(`message ${recordedId}`, String(body['messageId']));
      const message = this.#agent.open(await answer);
      if (message.messageType === 'PipelineAgentJobRequest') this.#job = message.body;
    }
  }

  /** The recorded ids of scope, plan, timeline and job. */
  #knowJob({ url }: Recorded): void {
    const [, scope = '', plan = ''] = /lab\/([\da-f-]+)\/_apis.*\/plans\/([\da-f-]+)/u.exec(url) ?? [];
    this.#ids.set(scope, this.#job?.plan.scopeIdentifier ?? '');
    this.#ids.set(plan, this.#job?.plan.planId ?? '');
    const [, timeline] = /\/timelines\/([\da-f-]+)/u.exec(url) ?? [];
    if (timeline !== undefined) this.#ids.set(timeline, this.#job?.timeline.id ?? '');
    for (const event of scenario(this.#name)) {
      const { jobId } = Object(event.body) as { jobId?: string };
      if (jobId !== undefined) this.#ids.set(jobId, this.#job?.jobId ?? '');
    }
  }

  #translated(text: string): string {
    return text
      .replaceAll(
        /[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}/gu,
        (id) => this.#ids.get(id) ?? id,
      )
      .replace(/lastMessageId=(\d+)/u, (_, id) => `lastMessageId=${this.#ids.get(`message ${id}`)}`)
      .replace(/\/messages\/(\d+)/u, (_, id) => `/messages/${this.#ids.get(`message ${id}`)}`)
      .replace(/\/jobrequests\/\d+/u, `/jobrequests/${this.#job?.requestId}`)
      .replace(/\/logs\/\d+/u, `/logs/${this.#logs.at(-1)}`)
      .replace(/\/pools\/\d+/u, this.#agent.pool.slice('/_apis/distributedtask'.length));
  }

  #send(request: Recorded): Promise<Answer> {
    const path = this.#translated(pathOf(request));
    const body = request.body === null ? {} : this.#bodyOf(request, path);
    if (request.headers['authorization'] === undefined) {
      return this.#agent.call(request.method, path, { token: null, ...body });
    }
    const isWork = path.includes('/hubs/') && this.#job !== undefined;
    const token = this.#job?.resources.endpoints[0]?.authorization.parameters.AccessToken;
    return this.#agent.call(request.method, path, { ...body, ...(isWork && token ? { token } : {}) });
  }

  #bodyOf({ body }: Recorded, path: string): { readonly text: string } | { readonly json: unknown } {
    if (typeof body === 'string') return { text: body };
    if (!path.endsWith('/sessions')) return { json: JSON.parse(this.#translated(JSON.stringify(body))) };
    const said = body as { agent: object };
    return { json: { ...said, agent: { ...said.agent, id: this.#agent.id, name: this.#agent.name } } };
  }

  #tell({ method, status }: Recorded, answer: Answer): void {
    this.replies.push(`${method} ${answer.status} as recorded ${status}`);
  }
}

describe.each([
  ['job-ok', 'succeeded'],
  ['job-fails', 'failed'],
  ['job-cancel', 'canceled'],
  ['job-int', 'canceled'],
])('%s', (name, result) => {
  test('every request gets the recorded status, and the job its result', async () => {
    const agent = await RawAgent.register(fake, name);
    const [job] = await fake.control.queue({ pool: 'wire', name });
    const replay = new Replay(agent, name);
    const requests = scenario(name);
    for (const request of requests) {
      if (request.event?.endsWith(' cancel') === true) await fake.control.cancel(job?.id ?? 0);
      if (request.event === undefined) await replay.step(request);
    }
    const unlike = replay.replies.filter((line) => !/ (\d+) as recorded \1$/u.test(line));
    expect(unlike).toEqual([]);
    const closed = requests.filter(({ status }) => status === 'client closed').length;
    expect(replay.replies).toHaveLength(requests.filter(({ event }) => event === undefined).length - closed);
    const done = (await fake.control.jobs()).find(({ id }) => id === job?.id);
    expect(done).toMatchObject({ state: 'done', result, runs: [{ agent: name, container: 'gpu-1' }] });
    expect(done?.steps.map((step) => step.name)).toEqual(['Initialize job', 'Command line', 'Finalize Job']);
    expect(done?.steps.map((step) => step.result)).toEqual(['succeeded', result, 'succeeded']);
    const log = await fake.control.log(job?.id ?? 0);
    expect(log.split('\n')[0]).toBe(`##[section]Starting: ${name}`);
    expect(log).not.toMatch(/\uFEFF|^\d{4}-\d\d-\d\dT\S+Z /mu);
  });
});
