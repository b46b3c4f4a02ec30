// Compares what the stand-in agent sends with what the real one sent (test/fixtures/agent): which requests in which
// order, the members of their bodies with their types, the headers. Not compared (see the fixture's README): how often
// addresses are looked up. Compared as sets: the worker's batches. The practice server is real HTTP, at its real speed.
import { join } from 'node:path';
import { beforeAll, expect, test, vi } from 'vitest';
import { installAgent } from '../../../../practice/agent/pack.ts';
import type { SentRequest } from '../../../support/agent/front.ts';
import {
  startListener,
  startProgram,
  type AgentProgram,
  type InstalledAgent,
} from '../../../support/agent/program.ts';
import { isDiscovery, isOfPlan, isTask, membersOf, recorded, shapeOf } from '../../../support/agent/wire.ts';
import { timeoutMs, useAgents } from './agent-scene.ts';

const agents = useAgents(1);
const { fake } = agents;
const version = '5.278.0';
const scenarios = [
  'configure',
  'configure-replace',
  'remove',
  'idle-int',
  'job-ok',
  'job-fails',
  'job-cancel',
  'job-int',
];
const sent = new Map<string, readonly SentRequest[]>();

beforeAll(async () => {
  const { folder: configured } = await configure();
  for (const [scenario, act] of Object.entries(listeners)) {
    const agent = await agents.install(scenario, version);
    agents.front.sent.length = 0;
    const listener = startListener(agent.folder);
    await agents.online(agent.name);
    await act(agent, listener);
    expect(await listener.exited).toBe(0);
    sent.set(scenario, [...agents.front.sent]);
  }
  expect(configured).toContain('configured');
}, 600_000);

const login = ['--unattended', '--auth', 'pat', '--token', 'good-token'];

async function configure(): Promise<{ readonly folder: string }> {
  await fake.client().ensurePool('Default');
  const place = [
    '--url',
    `${agents.front.origin}/lab`,
    '--pool',
    'Default',
    '--agent',
    'rec-cfg',
    '--acceptTeeEula',
  ];
  const folder = join(fake.folder, 'configured');
  const again = join(fake.folder, 'configured-again');
  for (const [scenario, at, args] of [
    ['configure', folder, [...login, ...place]],
    ['configure-replace', again, [...login, ...place, '--replace']],
    ['remove', again, ['remove', ...login]],
  ] as const) {
    if (scenario !== 'remove') await installAgent(at, version);
    agents.front.sent.length = 0;
    expect(await startProgram(at, 'config.sh', args).exited).toBe(0);
    sent.set(scenario, [...agents.front.sent]);
  }
  return { folder };
}

type Act = (agent: InstalledAgent, listener: AgentProgram) => Promise<unknown>;
const queue = ({ name }: InstalledAgent, script: string): Promise<readonly { readonly id: number }[]> =>
  fake.control.queue({ pool: 'gpu', demands: [`Agent.Name -equals ${name}`], script });
/** Starts a job and waits for its first output. */
async function begun(agent: InstalledAgent): Promise<number> {
  const [job] = await queue(agent, 'echo up; sleep 60');
  const id = job?.id ?? 0;
  await vi.waitFor(async () => expect(await fake.control.log(id)).toContain('\nup\n'), {
    timeout: timeoutMs,
  });
  return id;
}
const listeners: Readonly<Record<string, Act>> = {
  'idle-int': async (_, { child }) => {
    const polls = (): number => agents.front.sent.filter(({ url }) => url.includes('/messages?')).length;
    await vi.waitFor(() => expect(polls()).toBe(2), { timeout: timeoutMs });
    child.kill('SIGINT');
  },
  'job-ok': (agent) => queue(agent, 'sleep 1'),
  'job-fails': (agent) => queue(agent, 'exit 3'),
  'job-cancel': async (agent) => fake.control.cancel(await begun(agent)),
  'job-int': async (agent, { child }) => {
    await begun(agent);
    child.kill('SIGINT');
  },
};

const ofScenario = (scenario: string) => ({ real: recorded(scenario), own: sent.get(scenario) ?? [] });

test.each(scenarios)('%s: the same requests in the same order', (scenario) => {
  const { real, own } = ofScenario(scenario);
  const order = (requests: readonly SentRequest[]): readonly string[] =>
    requests.filter((each) => !isDiscovery(each) && !isTask(each) && !isOfPlan(each)).map(shapeOf);
  expect(order(own)).toEqual(order(real));
});

const jobs = scenarios.filter((name) => name.startsWith('job-'));

test.each(jobs)('%s: the worker reports the same, and the end of the job last', (scenario) => {
  const { real, own } = ofScenario(scenario);
  const shapes = (requests: readonly SentRequest[]): readonly string[] =>
    requests.filter(isOfPlan).map(shapeOf);
  expect(new Set(shapes(own))).toEqual(new Set(shapes(real)));
  expect(shapes(own).slice(-4)).toEqual(shapes(real).slice(-4));
  const logs = (all: readonly string[]): readonly string[] => all.filter((shape) => shape.includes('/logs'));
  expect(logs(shapes(own))).toEqual(logs(shapes(real)));
});

/** Bodies of all scenarios together, by their shape. */
function byShape(
  of: (scenario: string) => readonly SentRequest[],
): ReadonlyMap<string, readonly SentRequest[]> {
  return Map.groupBy(scenarios.flatMap(of), shapeOf);
}
const withBodies = [...byShape(recorded)].filter(([, requests]) =>
  requests.some(({ body }) => body !== null),
);

test.each(withBodies.map(([shape]) => shape))('%s: the same members, of the same types', (shape) => {
  const real = membersOf(byShape(recorded).get(shape) ?? []);
  const own = membersOf(byShape((scenario) => sent.get(scenario) ?? []).get(shape) ?? []);
  expect([...own.keys()].sort()).toEqual([...real.keys()].sort());
  for (const [path, types] of own)
    expect([path, ...types].filter((type) => !real.get(path)?.has(type))).toEqual([path]);
});

test('the headers with version and type', () => {
  const typesOf = ({ headers }: SentRequest): string =>
    JSON.stringify([headers['accept'], headers['content-type']]);
  const own = byShape((scenario) => sent.get(scenario) ?? []);
  for (const [shape, requests] of byShape(recorded)) {
    if (shape.startsWith('OPTIONS')) continue;
    const real = requests.filter(({ headers }) => headers['accept'] !== undefined).map(typesOf);
    expect([shape, ...new Set(own.get(shape)?.map(typesOf))]).toEqual([shape, ...new Set(real)]);
  }
});

test.each(scenarios)('%s: each connection is anonymous until the server asks for a login', (scenario) => {
  const { own } = ofScenario(scenario);
  for (const [index, asked] of own.entries()) {
    if (asked.status !== 401) continue;
    expect(asked.headers['authorization']).toBeUndefined();
    const again = own
      .slice(index + 1)
      .find((each) => shapeOf(each) === shapeOf(asked) && each.status !== 401);
    expect(again?.headers['authorization']).toMatch(/^Bearer /u);
  }
  expect(own.some(({ status }) => status === 401)).toBe(scenario !== 'remove');
});

test('logs begin with a byte order mark, and the job has a separate log', () => {
  for (const scenario of jobs) {
    const uploads = (sent.get(scenario) ?? []).filter(({ url }) => /\/logs\/\d+$/u.test(url));
    for (const { body } of uploads) expect(String(body).startsWith('\uFEFF')).toBe(true);
    expect(String(uploads.at(-1)?.body)).toContain('##[section]Starting: Initialize job');
  }
});
