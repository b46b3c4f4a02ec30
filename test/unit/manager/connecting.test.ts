// Agents that do not come to listen for jobs: the slot gives them up, registers anew, and says what it was. The whole
// daemon over real sockets; containers print what a test tells them to, and five minutes are 0.6 s.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { untar } from '../../../src/shared/base/tar.ts';
import { AgentSession } from '../../support/agent-session.ts';
import { ManagerRig } from '../../support/manager-rig.ts';
import type { StandInContainer } from '../../support/docker/state.ts';

let rig: ManagerRig;
beforeEach(async () => {
  rig = await ManagerRig.create(500);
});
afterEach(() => rig.close());

const one = { agents: { kind: 'count', count: 1 } } as const;
const patience = { timeout: 50_000 };
const saying =
  (...lines: readonly string[]) =>
  ({ id }: StandInContainer): void => {
    for (const line of lines) rig.docker.say(id, line);
  };
const trouble = (words: string): readonly string[] => [
  'Scanning for tool capabilities.',
  'Connecting to the server.',
  `2026-11-21 02:00:01Z: Agent connect error: ${words}. Retrying until reconnected.`,
];
const keys = async (): Promise<number> =>
  (await rig.control.requests()).filter(
    ({ method, path }) => method === 'PUT' && /\/agents\/\d+$/u.test(path),
  ).length;

test.each([
  ['the network', trouble('Connection refused (azure.example:443)'), 'agent.cannot-connect'],
  ['the login', trouble('The client is not registered.'), 'agent.login-refused'],
  ['the clock', trouble('The token is not valid. Current server time is 11/21/2026'), 'agent.clock-skew'],
  ['its language', ['2026-11-21 02:00:00Z: Auf Aufträge lauschen'], 'agent.unreadable'],
  ['nothing that it says', [], 'agent.silent'],
])('an agent that never listens is given up: %s', async (_, lines, code) => {
  rig.docker.onStart = saying(...lines);
  await rig.start(one);
  const first = async () => rig.docker.get('box-0')?.id;
  await expect.poll(first, patience).toBeDefined();
  const id = await first();
  await expect.poll(async () => (await rig.slot('0')).code, patience).toBe(code);
  await expect.poll(async () => (await first()) !== id && (await first()) !== undefined, patience).toBe(true);
  expect(await keys()).toBeGreaterThan(0);
  rig.docker.onStart = (container) => rig.listen(container);
  await rig.until('idle', ['0']);
  expect((await rig.slot('0')).code).toBeUndefined();
});

test('one whose words nobody knows, but to which the server gave a job, is left alone', async () => {
  const sessions: AgentSession[] = [];
  rig.docker.onStart = (container) => {
    saying('2026-11-21 02:00:00Z: Auf Aufträge lauschen')(container);
    void untar(container.archives[0]?.tar ?? Buffer.alloc(0))
      .then((files) => AgentSession.open(files))
      .then((session) => sessions.push(session));
  };
  await rig.start(one);
  await expect.poll(() => sessions.length, patience).toBe(1);
  const { id } = rig.docker.get('box-0') ?? {};
  await rig.control.queue({ pool: 'gpu-lab', name: 'train' });
  await expect.poll(async () => sessions[0]?.take(), patience).toBe('train');
  const tries = (): number => rig.logged.filter(({ message }) => message === 'retire').length;
  await expect.poll(tries, patience).toBeGreaterThan(2);
  expect(rig.docker.get('box-0')).toMatchObject({ id, state: 'running' });
});
