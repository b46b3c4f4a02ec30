// Agents that never listen for jobs: the slot replaces them, registers again, and reports the cause. The
// daemon over real sockets; tests choose the containers' output, and five minutes are 0.6 s.
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { AgentSession } from '../../support/agent-session.ts';
import { ManagerRig } from '../../support/manager-rig.ts';
import { agentFilesIn, type StandInContainer } from '../../support/docker/state.ts';

let rig: ManagerRig;
beforeEach(async () => {
  rig = await ManagerRig.create(500);
});
afterEach(() => rig.close());

const one = { agents: { kind: 'count', count: 1 } } as const;
const saying =
  (...lines: readonly string[]) =>
  ({ id }: StandInContainer): void => {
    for (const line of lines) rig.docker.say(id, line);
  };
const connectError = (words: string): readonly string[] => [
  'Scanning for tool capabilities.',
  'Connecting to the server.',
  `2026-11-21 02:00:01Z: Agent connect error: ${words}. Retrying until reconnected.`,
];
const keys = async (): Promise<number> =>
  (await rig.control.requests()).filter(
    ({ method, path }) => method === 'PUT' && /\/agents\/\d+$/u.test(path),
  ).length;

test.each([
  ['the network', connectError('Connection refused (azure.example:443)'), 'agent.cannot-connect'],
  ['the login', connectError('The client is not registered.'), 'agent.login-refused'],
  [
    'the clock',
    connectError('The token is not valid. Current server time is 11/21/2026'),
    'agent.clock-skew',
  ],
  ['another language', ['2026-11-21 02:00:00Z: Auf Aufträge lauschen'], 'agent.unreadable'],
  ['no output', [], 'agent.silent'],
])('an agent that never listens is replaced: %s', async (_, lines, code) => {
  rig.docker.onStart = saying(...lines);
  await rig.start(one);
  const first = async () => rig.docker.get('box-0')?.id;
  await expect.poll(first).toBeDefined();
  const id = await first();
  await expect.poll(async () => (await rig.slot('0')).code).toBe(code);
  await expect.poll(async () => (await first()) !== id && (await first()) !== undefined).toBe(true);
  expect(await keys()).toBeGreaterThan(0);
  rig.docker.onStart = (container) => rig.listen(container);
  await rig.until('idle', ['0']);
  expect((await rig.slot('0')).code).toBeUndefined();
});

test('an agent with unreadable output that has a job on the server keeps running', async () => {
  // A job without a renewal is lost after 17 s.
  await rig.close();
  rig = await ManagerRig.create(50);
  const sessions: AgentSession[] = [];
  rig.docker.onStart = (container) => {
    saying('2026-11-21 02:00:00Z: Auf Aufträge lauschen')(container);
    void agentFilesIn(container)
      .then((files) => AgentSession.open(files))
      .then((session) => sessions.push(session));
  };
  await rig.start(one);
  await expect.poll(() => sessions.length).toBe(1);
  const { id } = rig.docker.get('box-0') ?? {};
  await rig.control.queue({ pool: 'gpu-lab', name: 'train' });
  await expect.poll(async () => sessions[0]?.take()).toBe('train');
  const renewals = setInterval(() => void sessions[0]?.renew().catch(() => undefined), 100);
  onTestFinished(() => clearInterval(renewals));
  const tries = (): number => rig.logged.filter(({ message }) => message === 'retire').length;
  await expect.poll(tries).toBeGreaterThan(2);
  expect(rig.docker.get('box-0')).toMatchObject({ id, state: 'running' });
});
