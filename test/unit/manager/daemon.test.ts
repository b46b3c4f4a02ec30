import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { silentLogger } from '../../../src/shared/base/log.ts';
import { agentFilesIn } from '../../support/docker/state.ts';
import { ask, serveControl } from '../../../src/manager/serve/control.ts';
import { ManagerRig } from '../../support/manager-rig.ts';
import { fault } from '../../support/fault.ts';

// The daemon with a fake Azure DevOps server and a stand-in dockerd, both over real sockets; see manager-rig.ts.
let rig: ManagerRig;
beforeEach(async () => {
  rig = await ManagerRig.create();
});
afterEach(() => rig.close());

const names = (): string[] => [...rig.docker.containers.values()].map(({ name }) => name).sort();

describe('one job, one container', () => {
  test('every job gets a fresh container of the same name, and the run record is kept', async () => {
    await rig.start();
    await rig.until('idle');
    const first = rig.docker.get('box-0')?.id;
    rig.beginJob('box-0', 'train');
    await rig.until('busy', ['0']);
    expect((await rig.slot('0')).job).toBe('train');
    rig.endJob('box-0', 'train');
    await expect.poll(() => rig.docker.get('box-0')?.id).not.toBe(first);
    await rig.until('idle');
    expect(names()).toEqual(['box-0', 'box-1']);
    expect(await rig.slot('0')).toMatchObject({ jobsRun: 1, agent: 'box-0' });
    const [run] = JSON.parse(await ask(rig.socket, { method: 'GET', path: '/v1/runs?slot=0' })) as {
      job: string;
      result: string;
      exitCode: number;
      log: string[];
    }[];
    expect(run).toMatchObject({ job: 'train', result: 'succeeded', exitCode: 0 });
    expect(run?.log.at(-1)).toContain('Job train completed with result: Succeeded');
  });

  test('the registration is copied in before the start; the token is nowhere in the container', async () => {
    await rig.start();
    await rig.until('idle');
    const container = rig.docker.get('box-0');
    // Docker mounts the file system for each copy.
    expect(container?.archives).toHaveLength(1);
    const files = await agentFilesIn(container);
    expect([...files.keys()]).toEqual(['.agent', '.credentials', '.credentials_rsaparams']);
    expect(JSON.stringify(container?.body) + [...files.values()].join('')).not.toContain('good-token');
    const order = rig.docker.calls.map(
      ({ method, path }) => `${method} ${path.replace(container?.id ?? '-', 'ID')}`,
    );
    expect(order.indexOf('PUT /containers/ID/archive')).toBeLessThan(
      order.indexOf('POST /containers/ID/start'),
    );
  });

  test('the agent has its capabilities and its owner', async () => {
    await rig.start({ capabilities: { room: 'b12' } });
    await rig.until('idle');
    const agent = await rig.azure.findAgent(rig.poolId, 'box-0');
    expect(agent?.userCapabilities).toMatchObject({ room: 'b12', 'gpu.count': '0' });
    expect(agent?.userCapabilities?.['azp-fleet.owner']).toMatch(/^[0-9a-f]{32}$/);
  });
});

describe('restarts', () => {
  fault(
    'manager-stopped',
    'SIGTERM leaves containers running; the next manager adopts them without a new registration',
    async () => {
      await rig.start();
      await rig.until('idle');
      rig.beginJob('box-0');
      await rig.until('busy', ['0']);
      const before = [...rig.docker.containers.keys()].sort();
      await rig.stop();
      expect([...rig.docker.containers.keys()].sort()).toEqual(before);
      rig.docker.calls.length = 0;
      await rig.start();
      await rig.until('busy', ['0']);
      await rig.until('idle', ['1']);
      expect([...rig.docker.containers.keys()].sort()).toEqual(before);
      expect(rig.docker.calls.filter(({ path }) => path === '/containers/create')).toEqual([]);
    },
  );

  test('a container that was created and never started is replaced', async () => {
    rig.docker.fail(/POST .*\/start/, 500, 'killed between create and start');
    await rig.start({ agents: { kind: 'count', count: 1 } });
    await rig.until('idle', ['0']);
    await rig.stop();
    const { body } = rig.docker.get('box-0') ?? { body: {} };
    for (const id of rig.docker.containers.keys()) rig.docker.containers.delete(id);
    rig.docker.containers.set('left', {
      id: 'left',
      name: 'box-0',
      created: 1,
      body: body as never,
      state: 'created',
      exitCode: 0,
      oomKilled: false,
      startedAt: '',
      finishedAt: '',
      archives: [],
      outgoing: Buffer.alloc(0),
      lines: [],
    });
    await rig.start({ agents: { kind: 'count', count: 1 } });
    await rig.until('idle', ['0']);
    expect(rig.docker.containers.has('left')).toBe(false);
  });

  fault(
    'docker-restarted',
    'the event stream is opened again after dockerd restarted, and ended runs are collected',
    async () => {
      await rig.start();
      await rig.until('idle');
      await rig.docker.stop();
      await expect.poll(async () => (await rig.status()).problems[0]?.code).toBe('engine.unreachable');
      await rig.docker.start();
      const first = rig.docker.get('box-1')?.id;
      rig.endJob('box-1');
      await expect.poll(() => rig.docker.get('box-1')?.id).not.toBe(first);
      await rig.until('idle');
      expect((await rig.status()).problems).toEqual([]);
    },
  );

  test("the end of a removed slot's job removes its agent, with the calls that would have ended its key", async () => {
    await rig.start();
    await rig.until('idle');
    rig.beginJob('box-1');
    await rig.until('busy', ['1']);
    await rig.stop();
    const before = (await rig.control.requests()).at(-1)?.n ?? 0;
    await rig.start({ agents: { kind: 'count', count: 1 } });
    await rig.until('idle', ['0']);
    const { id } = (await rig.azure.findAgent(rig.poolId, 'box-1')) ?? {};
    const calls = async () =>
      (await rig.control.requests())
        .filter(({ n, path }) => n > before && path.endsWith(`/agents/${id}`))
        .map(({ method }) => method);
    expect(await calls()).toEqual([]);
    rig.endJob('box-1');
    await expect.poll(calls).toEqual(['DELETE']);
    expect(await rig.azure.findAgent(rig.poolId, 'box-1')).toBeUndefined();
    await expect.poll(() => rig.docker.get('box-1')?.state).toBeUndefined();
  });

  test('an error in a part beside the slots is in the status until it is over, and jobs go on', async () => {
    rig.connect = () => {
      throw new Error('no such path');
    };
    await rig.start();
    await rig.until('idle');
    const problems = async () => (await rig.status()).problems;
    await expect.poll(problems).toMatchObject([
      {
        code: 'manager.subsystem-failed',
        what: 'subsystem "connection test" failed: unexpected: no such path',
      },
    ]);
    rig.connect = () => Promise.resolve();
    const first = rig.docker.get('box-0')?.id;
    rig.beginJob('box-0');
    await rig.until('busy', ['0']);
    rig.endJob('box-0');
    await expect.poll(() => rig.docker.get('box-0')?.id).not.toBe(first);
    await rig.until('idle');
    await expect.poll(problems).toEqual([]);
  });

  test('a second manager does not start while one is running', async () => {
    await rig.start();
    await rig.until('idle');
    await expect(serveControl(rig.socket, {} as never, silentLogger)).rejects.toMatchObject({
      problem: { code: 'manager.already-running' },
    });
  });
});

describe('drain', () => {
  test('idle agents are disabled with the reason and stopped; busy ones finish; undrain enables all again', async () => {
    await rig.start();
    await rig.until('idle');
    rig.beginJob('box-0');
    await rig.until('busy', ['0']);
    await rig.post('/v1/drain', { reason: 'new disk' });
    await rig.until('drained', ['1']);
    expect(names()).toEqual(['box-0']);
    const agents = await rig.azure.listAgents(rig.poolId);
    expect(agents.map(({ enabled }) => enabled)).toEqual([false, false]);
    expect(agents[0]?.userCapabilities?.['azp-fleet.disabled']).toBe('drained: new disk');
    rig.endJob('box-0');
    await rig.until('drained');
    expect(names()).toEqual([]);
    await rig.post('/v1/undrain', {});
    await rig.until('idle');
    expect((await rig.azure.listAgents(rig.poolId)).map(({ enabled }) => enabled)).toEqual([true, true]);
  });

  test('the drain survives a restart, and a single slot can be drained', async () => {
    await rig.start();
    await rig.until('idle');
    await rig.post('/v1/drain', { slots: ['1'] });
    await rig.until('drained', ['1']);
    await rig.stop();
    await rig.start();
    await rig.until('drained', ['1']);
    await rig.until('idle', ['0']);
  });

  test('drains of a user and of provision survive restarts, and the run removes only its own', async () => {
    await rig.start({ agents: { kind: 'count', count: 1 } });
    await rig.until('idle', ['0']);
    await rig.post('/v1/drain', { reason: 'driver', owner: 'bob@ci', run: 'r1' });
    await rig.post('/v1/drain', { reason: 'fan', owner: 'ann@laptop' });
    await rig.until('drained', ['0']);
    await rig.stop();
    await rig.start({ agents: { kind: 'count', count: 1 } });
    await rig.until('drained', ['0']);
    const at = expect.stringMatching(/^20.*Z$/) as string;
    const person = { reason: 'fan', owner: 'ann@laptop', at };
    expect((await rig.status()).drains).toEqual([
      person,
      { reason: 'driver', owner: 'bob@ci', run: 'r1', at },
    ]);
    const after = await rig.post('/v1/undrain', { run: 'r1' });
    expect(after).toMatchObject({ drained: true, drains: [person] });
    // The remaining reason is written to the pool.
    await expect
      .poll(() => rig.slot('0'))
      .toMatchObject({ state: 'drained', cause: 'drained by ann@laptop: fan' });
    expect(await rig.post('/v1/undrain', {})).toMatchObject({ drained: false, drains: [] });
    await rig.until('idle', ['0']);
  });

  test('an undrain during a job enables the agent and does not restart it', async () => {
    await rig.start();
    await rig.until('idle');
    rig.beginJob('box-0');
    await rig.until('busy', ['0']);
    const id = rig.docker.get('box-0')?.id;
    await rig.post('/v1/drain', {});
    const enabled = async (): Promise<boolean | undefined> =>
      (await rig.azure.findAgent(rig.poolId, 'box-0'))?.enabled;
    await expect.poll(enabled).toBe(false);
    await rig.post('/v1/undrain', {});
    await expect.poll(enabled).toBe(true);
    expect(rig.docker.get('box-0')?.id).toBe(id);
  });

  test('an agent that an administrator disabled by hand stays disabled', async () => {
    await rig.start();
    await rig.until('idle');
    const agent = await rig.azure.findAgent(rig.poolId, 'box-0');
    await rig.azure.setAgentEnabled(rig.poolId, agent?.id ?? 0, false);
    const first = rig.docker.get('box-0')?.id;
    rig.endJob('box-0');
    await expect.poll(() => rig.docker.get('box-0')?.id).not.toBe(first);
    await rig.until('idle');
    await rig.post('/v1/drain', {});
    await rig.until('drained', ['1']);
    await rig.post('/v1/undrain', {});
    await rig.until('idle');
    expect((await rig.azure.findAgent(rig.poolId, 'box-0'))?.enabled).toBe(false);
    expect((await rig.azure.findAgent(rig.poolId, 'box-1'))?.enabled).toBe(true);
  });

  test('an unknown slot is named, with the known ones', async () => {
    await rig.start();
    await rig.until('idle');
    await expect(rig.post('/v1/drain', { slots: ['7'] })).rejects.toMatchObject({
      problem: { what: expect.stringContaining('there is no slot 7') as string },
    });
  });
});
