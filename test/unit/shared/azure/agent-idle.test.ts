// What an agent without a job does, as observed on the real one: the stand-in, as version 4 and as 5, against the
// practice server. Real: HTTP, keys, processes, signals. Slow rules run 100 times as fast. Each row has its source.
import type { ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { installAgent } from '../../../../practice/agent/pack.ts';
import { startListener, startProgram } from '../../../support/agent/program.ts';
import {
  listening,
  row,
  scanning,
  timeoutMs,
  useAgents,
  versions,
  type Line,
  type Row,
} from './agent-scene.ts';

const agents = useAgents(100);
const { fake } = agents;
const lines: readonly Line[] = [4, 5];
const others: ChildProcess[] = [];

const rows = lines.flatMap((line): readonly Row[] => [
  row(line, 'SIGINT', {
    act: async ({ listener }) => listener.child.kill('SIGINT'),
    console: [...listening, 'Exiting...'],
    ends: 0,
  }),
  row(line, 'SIGTERM', {
    act: async ({ listener }) => listener.child.kill('SIGTERM'),
    console: listening,
    ...(line === 4 ? { ends: 143 } : { ends: 'SIGTERM', session: 'stays' }),
  }),
  row(line, 'the session is lost, skipSessionRecover', {
    settings: { skipSessionRecover: true },
    act: ({ agent }) => fake.control.endSession(agent.name),
    console: [...listening, 'An error occurred: The session has expired.'],
    ends: 2,
  }),
  row(line, 'the session is lost, without it', {
    settings: { skipSessionRecover: false },
    act: async ({ agent, listener }) => {
      await fake.control.endSession(agent.name);
      await agents.online(agent.name);
      listener.child.kill('SIGINT');
    },
    console: [...listening, ...scanning, 'Exiting...'],
    ends: 0,
  }),
  row(line, 'the agent is deleted or its login revoked', {
    act: ({ agent }) => fake.control.revokeAgent(agent.name),
    console: listening,
    ends: 0,
  }),
  row(line, 'the server is down at the start', {
    before: () => agents.front.goAway(),
    console: ['An error occurred: Connection refused (PLACE)'],
    ends: 2,
    after: () => agents.front.comeBack(),
  }),
  row(line, 'the login is refused at the start', {
    before: ({ poolId, agentId }) => fake.client().deleteAgent(poolId, agentId),
    console: ['An error occurred: The client is not registered.'],
    ends: 2,
  }),
  row(line, 'the server is down for a minute', {
    act: async ({ listener }) => {
      const last = () => expect.poll(() => listener.console().at(-1), { timeout: timeoutMs });
      // During a poll: between two polls the error would be another (connection refused).
      await agents.polling(2);
      await agents.front.goAway();
      await last().toContain('connect error');
      await agents.front.comeBack();
      await last().toContain('Agent reconnected');
      listener.child.kill('SIGINT');
    },
    console: [
      ...listening,
      'TIME: Agent connect error: An error occurred while sending the request.. Retrying until reconnected.',
      'TIME: Agent reconnected.',
      'Exiting...',
    ],
    ends: 0,
  }),
  row(line, 'another session of the same agent', {
    // This agent keeps running: the session of an exited one ends by itself, on a busy machine before the other agent gives up.
    before: async ({ folder, name }) => {
      others.push(startListener(folder).child);
      await agents.online(name);
    },
    after: async () => void others.splice(0).map((child) => child.kill('SIGKILL')),
    console: [
      ...scanning,
      'A session for this agent already exists.',
      'TIME: Agent connect error: The task agent NAME already has an active session for owner c0ffee.. Retrying until reconnected.',
      ...Array<string>(7).fill('A session for this agent already exists.'),
      'Stop retry on SessionConflictException after retried for 240 seconds.',
      'Failed to create session. The task agent NAME already has an active session for owner c0ffee.',
    ],
    ends: 1,
    session: 'stays',
  }),
]);

test.each(rows)('$situation, version $line ($source)', (each) => agents.play(each, `a${rows.indexOf(each)}`));

test('a wrong clock at the start is reported', async () => {
  const { folder } = await agents.install('late', versions[5]);
  fake.ahead = 3_600_000;
  const listener = startListener(folder);
  expect(await listener.exited).toBe(2);
  expect(listener.console()).toEqual([
    expect.stringMatching(/^An error occurred: .*Current server time is /u),
  ]);
});

test.each(lines)('SIGINT, inherited as ignored, has no effect on version %d', async (line) => {
  const { folder, name } = await agents.install(`ignoring-${line}`, versions[line]);
  const program = join(folder, 'bin/Agent.Listener');
  // As `run.sh &` of a script starts it.
  const listener = startProgram(folder, '/bin/sh', ['-c', 'trap "" INT; exec "$@"', 'sh', program, 'run']);
  await agents.online(name);
  listener.child.kill('SIGINT');
  const polls = (): number => agents.front.sent.filter(({ url }) => url.includes('/messages?')).length;
  const before = polls();
  await expect.poll(polls, { timeout: timeoutMs }).toBeGreaterThan(before + 2);
  expect(listener.console()).toEqual(listening);
  listener.child.kill('SIGKILL');
});

test.each([
  ['de_DE.UTF-8 in LANG', { LANG: 'de_DE.UTF-8' }, 'TIME: Auf Aufträge lauschen'],
  [
    'de_DE.UTF-8 in LC_MESSAGES',
    { LANG: 'C.UTF-8', LC_MESSAGES: 'de_DE.UTF-8' },
    'TIME: Auf Aufträge lauschen',
  ],
  ['C.UTF-8 in LC_ALL overrides LANG', { LANG: 'de_DE.UTF-8', LC_ALL: 'C.UTF-8' }, listening[2]],
  ['LANGUAGE alone', { LANG: 'C.UTF-8', LANGUAGE: 'de' }, listening[2]],
])('the console uses the language of %s', async (_, env, marker) => {
  const { folder } = await agents.install(`speaks-${Math.random()}`, versions[5]);
  const listener = startListener(folder, { env });
  await expect.poll(() => listener.console().at(-1), { timeout: timeoutMs }).toBe(marker);
  listener.child.kill('SIGINT');
  await listener.exited;
});

test.each(lines)('not configured, version %d', async (line) => {
  const folder = join(fake.folder, `bare-${line}`);
  await installAgent(folder, versions[line]);
  const listener = startListener(folder);
  expect(await listener.exited).toBe(2);
  expect(listener.console()).toEqual(['An error occurred: Not configured']);
});

test('a second concurrent poll keeps the session open', async () => {
  const { folder, name } = await agents.install('kept', versions[5]);
  agents.front.sent.length = 0;
  const listener = startListener(folder);
  await agents.online(name);
  await agents.polling(2);
  listener.child.kill('SIGINT');
  await listener.exited;
});

/** Existing folders where the agent can cache the server's addresses, which of them are writable, and the result. */
test.each([
  ['~/.config', { HOME: '/h' }, ['/h/.config'], ['/h/.config'], true],
  ['no ~/.config, not as root', { HOME: '/h' }, [], [], false],
  ['no ~/.config, as root', { HOME: '/h' }, [], ['/usr/share'], true],
  ['a ~/.config of another user', { HOME: '/h' }, ['/h/.config'], ['/usr/share'], false],
  ['$XDG_CONFIG_HOME', { HOME: '/h', XDG_CONFIG_HOME: '/x' }, ['/x'], ['/x'], true],
  [
    'a missing $XDG_CONFIG_HOME',
    { HOME: '/h', XDG_CONFIG_HOME: '/x' },
    ['/h/.config'],
    ['/h/.config'],
    false,
  ],
])('an agent is fast with %s', async (_, env, exist, writable, isFast) => {
  const home = new URL('../../../../practice/agent/root/bin/home.mjs', import.meta.url).href;
  const { canRemember } = (await import(home)) as {
    canRemember: (
      env: object,
      exists: (path: string) => boolean,
      isWritable: (path: string) => boolean,
    ) => boolean;
  };
  expect(
    canRemember(
      env,
      (path) => exist.includes(path),
      (path) => writable.includes(path),
    ),
  ).toBe(isFast);
});
