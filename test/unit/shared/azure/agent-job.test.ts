// What an agent with a job does, as observed on the real one: the stand-in, as version 4 and as 5, against the
// practice server. Real: HTTP, processes, signals, scripts. Slow rules run 20 times as fast. Each row has its source.
import { execFileSync } from 'node:child_process';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import type { FakeJob } from '../../../../practice/azure/control/control.ts';
import { startListener, type InstalledAgent } from '../../../support/agent/program.ts';
import {
  listening,
  row,
  scanning,
  timeoutMs,
  useAgents,
  versions,
  type Line,
  type Row,
  type Scene,
} from './agent-scene.ts';

// A job without a renewal is lost after 42 s.
const agents = useAgents(20);
const { fake } = agents;
const lines: readonly Line[] = [4, 5];
const running = [...listening, 'TIME: Running job: train'];
const completed = (result: string): string => `TIME: Job train completed with result: ${result}`;

const only = ({ name }: InstalledAgent): readonly string[] => [`Agent.Name -equals ${name}`];
type Wanted = Omit<Parameters<typeof fake.control.queue>[0], 'pool' | 'name' | 'demands'>;
const queue = (agent: InstalledAgent, wanted: Wanted): Promise<readonly FakeJob[]> =>
  fake.control.queue({ pool: 'gpu', name: 'train', demands: only(agent), ...wanted });

/** Returns the last job that was assigned to this agent. */
async function jobOf({ name }: InstalledAgent): Promise<FakeJob> {
  const job = (await fake.control.jobs()).findLast(({ runs }) => runs.some((run) => run.agent === name));
  if (job === undefined) throw new Error(`${name} has no job`);
  return job;
}
const result = (agent: InstalledAgent, wanted: string | undefined): Promise<void> =>
  expect.poll(async () => (await jobOf(agent)).result, { timeout: timeoutMs }).toBe(wanted);

/** Starts a job and waits until its script prints `up`. */
async function begun(scene: Scene, script: string): Promise<void> {
  const [job] = await queue(scene.agent, { script: `echo up\n${script}` });
  await expect.poll(() => fake.control.log(job?.id ?? 0), { timeout: timeoutMs }).toContain('\nup\n');
}

/** Returns a script that runs until `finish` ends it. */
const held = 'until [ -e "$AGENT_HOMEDIRECTORY/go" ]; do sleep 0.02; done';
const finish = ({ folder }: InstalledAgent): void => writeFileSync(join(folder, 'go'), '');
const says = (scene: Scene, line: string): Promise<void> =>
  expect.poll(() => scene.listener.console().at(-1), { timeout: timeoutMs }).toContain(line);

/** Returns the processes in this agent's folder, by their title. */
function processesOf({ folder }: InstalledAgent, title: string): number[] {
  const found = execFileSync('ps', ['-eo', 'pid=,ppid=,args='], { encoding: 'utf8' });
  return found.split('\n').flatMap((line) => {
    const [, pid = '', args = ''] = /^\s*(\d+)\s+\d+\s+(.*)$/u.exec(line) ?? [];
    if (!args.startsWith(title)) return [];
    try {
      return execFileSync('readlink', [`/proc/${pid}/cwd`], { encoding: 'utf8' }).startsWith(folder)
        ? [Number(pid)]
        : [];
    } catch {
      return [];
    }
  });
}

afterEach(() => {
  agents.front.answer = () => undefined;
});

const refusal = { typeKey: 'TaskAgentJobTokenExpiredException', message: 'The lock is not valid any more.' };

const rows = lines.flatMap((line): readonly Row[] => [
  row(line, 'a job that succeeds', {
    act: ({ agent }) => queue(agent, { script: 'true' }),
    console: [...running, completed('Succeeded')],
    ends: 0,
    after: ({ agent }) => result(agent, 'succeeded'),
  }),
  row(line, 'a job that fails', {
    act: ({ agent }) => queue(agent, { script: 'exit 3' }),
    console: [...running, completed('Failed')],
    ends: 0,
    after: ({ agent }) => result(agent, 'failed'),
  }),
  row(line, 'a job of a plan whose end the listener reports', {
    act: ({ agent }) => queue(agent, { script: 'true', planVersion: 7 }),
    console: [...running, completed('Succeeded')],
    ends: 0,
    after: async ({ agent }) => {
      await result(agent, 'succeeded');
      expect(agents.front.sent.filter(({ url }) => url.endsWith('/events'))).toEqual([]);
      expect(agents.front.sent.findLast(({ method }) => method === 'PATCH')?.body).toMatchObject({
        requestId: (await jobOf(agent)).id,
        finishTime: expect.any(String) as string,
        result: 'succeeded',
      });
    },
  }),
  row(line, 'the server cancels', {
    act: async (scene) => {
      await begun(scene, 'sleep 60');
      await fake.control.cancel((await jobOf(scene.agent)).id);
    },
    console: [...running, completed('Canceled')],
    ends: 0,
    after: ({ agent }) => result(agent, 'canceled'),
  }),
  row(line, 'SIGINT', {
    act: async (scene) => {
      await begun(scene, 'sleep 60');
      scene.listener.child.kill('SIGINT');
    },
    console: [...running, 'Exiting...', completed('Canceled')],
    ends: 0,
    after: ({ agent }) => result(agent, 'canceled'),
  }),
  row(line, 'SIGTERM', {
    act: async (scene) => {
      await begun(scene, held);
      scene.listener.child.kill('SIGTERM');
    },
    ...(line === 4
      ? {
          console: [...running, completed('Canceled')],
          ends: 143,
          after: ({ agent }) => result(agent, 'canceled'),
        }
      : {
          console: running,
          ends: 'SIGTERM',
          session: 'stays',
          // Worker and job continue without it.
          after: async ({ agent }) => {
            expect(processesOf(agent, 'Agent.Worker')).not.toEqual([]);
            finish(agent);
            await result(agent, 'succeeded');
          },
        }),
  }),
  row(line, 'SIGINT to the whole process group', {
    detached: true,
    act: async (scene) => {
      await begun(scene, 'sleep 60');
      process.kill(-(scene.listener.child.pid ?? 0), 'SIGINT');
    },
    console: [...running, 'Exiting...', completed('Canceled')],
    ends: 0,
    after: ({ agent }) => result(agent, 'failed'),
  }),
  row(line, 'the session is lost, skipSessionRecover', {
    settings: { skipSessionRecover: true },
    act: async (scene) => {
      await begun(scene, 'sleep 60');
      await fake.control.endSession(scene.agent.name);
    },
    console: [...running, completed('Canceled'), 'An error occurred: The session has expired.'],
    ends: 2,
    after: ({ agent }) => result(agent, 'canceled'),
  }),
  row(line, 'the session is lost, without it', {
    settings: { skipSessionRecover: false },
    act: async (scene) => {
      await begun(scene, held);
      await fake.control.endSession(scene.agent.name);
      await says(scene, 'Connecting');
      await agents.online(scene.agent.name);
      finish(scene.agent);
    },
    console: [...running, ...scanning, completed('Succeeded')],
    ends: 0,
    after: ({ agent }) => result(agent, 'succeeded'),
  }),
  row(line, 'the server is down when the job ends', {
    act: async (scene) => {
      await begun(scene, held);
      await agents.polling(1, 'lastMessageId');
      await agents.front.goAway();
      await says(scene, 'connect error');
      finish(scene.agent);
    },
    console: [
      ...running,
      'TIME: Agent connect error: An error occurred while sending the request.. Retrying until reconnected.',
      completed('Failed'),
      'An error occurred: Connection refused (PLACE)',
    ],
    ends: 2,
    session: 'stays',
    after: async ({ agent }) => {
      await agents.front.comeBack();
      await result(agent, undefined);
    },
  }),
  row(line, 'the first renewal of the lock is refused', {
    before: async () => {
      agents.front.answer = ({ method, url }) =>
        method === 'PATCH' && url.includes('/jobrequests/')
          ? { status: 400, content: JSON.stringify(refusal) }
          : undefined;
    },
    act: ({ agent }) => queue(agent, { script: 'true' }),
    console: running,
    ends: 0,
  }),
  row(line, 'the worker is killed', {
    act: async (scene) => {
      await begun(scene, held);
      for (const pid of processesOf(scene.agent, 'Agent.Worker')) process.kill(pid, 'SIGKILL');
    },
    console: [...running, completed('Failed')],
    ends: 0,
    after: async ({ agent }) => {
      await result(agent, undefined);
      // Its processes continue without it.
      expect(processesOf(agent, 'bash')).not.toEqual([]);
      finish(agent);
    },
  }),
  row(line, 'the server has abandoned the job', {
    act: async (scene) => {
      await begun(scene, 'sleep 60');
      agents.front.answer = ({ method, url }) =>
        method === 'PATCH' && url.includes('/jobrequests/')
          ? { status: 400, content: JSON.stringify(refusal) }
          : undefined;
    },
    console: [...running, completed('Abandoned')],
    ends: 0,
  }),
]);

test.each(rows)('$situation, version $line ($source)', (each) => agents.play(each, `j${rows.indexOf(each)}`));

test('secrets are masked, scripts get variables, and a step can set one for the next step', async () => {
  const agent = await agents.install('secretive', versions[5]);
  const listener = startListener(agent.folder);
  await agents.online(agent.name);
  const script = 'echo "$GREETING $PASSWORD $SYSTEM_JOBDISPLAYNAME $AGENT_NAME"; env | grep -c hunter2';
  await queue(agent, { script, environment: { GREETING: 'hello' }, secrets: { PASSWORD: 'hunter2' } });
  expect(await listener.exited).toBe(0);
  expect((await jobOf(agent)).log).toBe('hello *** train secretive\n1\n');
});

test('processes that a job leaves running are killed at its end', async () => {
  const agent = await agents.install('tidy', versions[5]);
  const listener = startListener(agent.folder);
  await agents.online(agent.name);
  await queue(agent, { script: 'sleep 61 >/dev/null 2>&1 & echo left' });
  expect(await listener.exited).toBe(0);
  expect(processesOf(agent, 'sleep 61')).toEqual([]);
});

test('its own logs contain listener and worker', async () => {
  const agent = await agents.install('diag', versions[5]);
  const listener = startListener(agent.folder);
  await agents.online(agent.name);
  await queue(agent, { script: 'true' });
  await listener.exited;
  const names = readdirSync(join(agent.folder, '_diag')).map((name) => name.replaceAll(/\d/gu, '0'));
  expect(names.sort()).toEqual(['Agent_00000000-000000-utc.log', 'Worker_00000000-000000-utc.log']);
});
