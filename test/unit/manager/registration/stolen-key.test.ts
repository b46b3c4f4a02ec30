// A job can copy its agent's key. After the end of the container the copy opens no session, in any state of the slot. The
// daemon with a fake Azure DevOps server and a stand-in dockerd; the copied key logs in as the agent does.
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';

import { KeyStock } from '../../../../src/manager/registration/keys.ts';
import { RunStore } from '../../../../src/manager/runs/run-store.ts';
import { AgentSession } from '../../../support/agent-session.ts';
import { agentFilesIn } from '../../../support/docker/state.ts';
import { ManagerRig } from '../../../support/manager-rig.ts';
import { fault } from '../../../support/fault.ts';

let rig: ManagerRig;
beforeEach(async () => {
  rig = await ManagerRig.create();
  rig.keys = new KeyStock(1);
});
afterEach(() => rig.close());

const plainSpec = {
  gpus: [],
  share: false,
  limits: {},
  capabilities: ['compute', 'utility'],
  mode: 'container',
} as const;
const one = { agents: { kind: 'count', count: 1 } } as const;

/** Returns the files of the registration in the container. */
async function copied(): Promise<ReadonlyMap<string, Buffer>> {
  return agentFilesIn(rig.docker.get('box-0'));
}

const keyCalls = async () =>
  (await rig.control.requests()).filter(
    ({ method, path, status }) => status === 200 && method === 'PUT' && /\/agents\/\d+$/u.test(path),
  );

async function runJob(): Promise<void> {
  const { id } = rig.docker.get('box-0') ?? { id: '' };
  rig.beginJob('box-0');
  await rig.until('busy', ['0']);
  rig.endJob('box-0');
  await expect.poll(() => rig.docker.containers.has(id)).toBe(false);
}

fault('key-copied', 'a copied key opens no session while the slot is drained', async () => {
  await rig.start(one);
  await rig.until('idle', ['0']);
  const key = await copied();
  await (await AgentSession.open(key)).close();
  rig.beginJob('box-0');
  await rig.until('busy', ['0']);
  await rig.post('/v1/drain', { reason: 'over the weekend' });
  rig.endJob('box-0');
  await rig.until('drained', ['0']);
  await expect(AgentSession.open(key)).rejects.toThrow();
});

fault(
  'exited-at-start',
  'a copied key opens no session if the container ended while no manager ran',
  async () => {
    await rig.start(one);
    await rig.until('idle', ['0']);
    const key = await copied();
    await rig.post('/v1/drain', {});
    await rig.stop();
    const id = rig.docker.get('box-0')?.id ?? '';
    if (id !== '') rig.docker.end(id, 0);
    await rig.start(one);
    await rig.until('drained', ['0']);
    await expect
      .poll(() =>
        AgentSession.open(key).then(
          () => 'open',
          () => 'refused',
        ),
      )
      .toBe('refused');
  },
);

test('a copied key opens no session if the container was removed while no manager ran', async () => {
  await rig.start(one);
  await rig.until('idle', ['0']);
  const key = await copied();
  await rig.stop();
  rig.docker.containers.clear();
  rig.docker.onStart = () => undefined;
  // A missing dataset holds the slot.
  const datasets = [{ name: 'D', host: `${rig.directory}/missing`, container: '/d', requireMount: false }];
  await rig.start({ ...one, datasets });
  await rig.until('waiting', ['0']);
  await expect
    .poll(() =>
      AgentSession.open(key).then(
        () => 'open',
        () => 'refused',
      ),
    )
    .toBe('refused');
});

test('the next run uses the key that replaced the last one: one call per run', async () => {
  await rig.start(one);
  await rig.until('idle', ['0']);
  const before = (await keyCalls()).length;
  for (let run = 0; run < 3; run += 1) {
    await runJob();
    await rig.until('idle', ['0']);
    await (await AgentSession.open(await copied())).close();
  }
  expect((await keyCalls()).length - before).toBe(3);
});

test('changed capabilities are written without another key', async () => {
  await rig.start(one);
  await rig.until('idle', ['0']);
  await rig.post('/v1/drain', {});
  await rig.until('drained', ['0']);
  const agent = await rig.azure.findAgent(rig.poolId, 'box-0');
  await rig.azure.setUserCapabilities(rig.poolId, agent?.id ?? 0, {
    ...agent?.userCapabilities,
    desk: 'b12',
  });
  await rig.post('/v1/undrain', {});
  await rig.until('idle', ['0']);
  await (await AgentSession.open(await copied())).close();
  const now = await rig.azure.findAgent(rig.poolId, 'box-0');
  expect(now).toMatchObject({ enabled: true, userCapabilities: { desk: 'b12' } });
  expect(now?.userCapabilities).not.toHaveProperty('azp-fleet.disabled');
});

test('a slot that backs off replaces the key once', async () => {
  rig.docker.onStart = ({ id }) => {
    rig.docker.say(id, 'A session for this agent already exists.');
    rig.docker.end(id, 1);
  };
  await rig.start(one);
  await rig.until('backing-off', ['0']);
  const runs = (): number => rig.docker.calls.filter(({ path }) => path.endsWith('/start')).length;
  await expect.poll(runs).toBeGreaterThan(3);
  expect((await keyCalls()).length).toBeLessThanOrEqual(runs() + 1);
});

test('a held slot reads its deleted agent once, not until the next read of the pool', async () => {
  const last = async () => (await rig.control.requests()).at(-1)?.n ?? 0;
  await rig.start(one);
  await rig.until('idle', ['0']);
  rig.beginJob('box-0');
  await rig.until('busy', ['0']);
  const agent = await rig.azure.findAgent(rig.poolId, 'box-0');
  rig.disk = { freeBytes: 0, totalBytes: 1e12, freeInodes: 1 };
  await expect.poll(async () => (await rig.slot('0')).code).toBe('disk.full');
  // The pool was just read: the end of the run does not cause another read within a minute.
  const before = await last();
  await rig.post('/v1/undrain', { slots: [] });
  const reads = async () =>
    (await rig.control.requests(before)).filter(({ query }) => query.includes('demands='));
  await expect.poll(async () => (await reads()).length).toBeGreaterThan(0);
  await rig.azure.deleteAgent(rig.poolId, agent?.id ?? 0);
  const after = await last();
  rig.endJob('box-0');
  await rig.until('waiting', ['0']);
  const passes = rig.notified.length;
  await expect.poll(() => rig.notified.length).toBeGreaterThan(passes + 10);
  const asked = (await rig.control.requests(after)).filter(({ query }) => query.includes('agentName='));
  // Periodic reads of the pool, a hundred times as often as real ones, read it, too.
  expect(asked.length).toBeLessThanOrEqual(6);
});

fault(
  'slot-renamed',
  'a renamed slot does not replace the key while the container of its agent exists',
  async () => {
    const named = (name: string) => ({
      agentName: 'box',
      agents: { kind: 'slots', slots: [{ ...plainSpec, name }] } as const,
    });
    await rig.start(named('old'));
    await rig.until('idle', ['old']);
    rig.beginJob('box');
    await rig.until('busy', ['old']);
    const key = await agentFilesIn(rig.docker.get('box'));
    await rig.stop();
    await rig.start(named('new'));
    await rig.until('waiting', ['new']);
    await expect.poll(async () => (await rig.slot('new')).code).toBe('slot.container-exists');
    await (await AgentSession.open(key)).close();
    rig.endJob('box');
    await rig.until('idle', ['new']);
  },
);

test('the record of a run does not wait for the new key; its container stays until the server has it', async () => {
  const stock = new KeyStock(1);
  let ready = Promise.resolve();
  rig.keys = Object.assign(Object.create(stock) as KeyStock, {
    take: async () => {
      await ready;
      return stock.take();
    },
  });
  const records = new RunStore(join(rig.directory, 'state/runs'));
  await rig.start(one);
  await rig.until('idle', ['0']);
  const made = Promise.withResolvers<void>();
  ready = made.promise;
  const { id } = rig.docker.get('box-0') ?? { id: '' };
  rig.beginJob('box-0');
  await rig.until('busy', ['0']);
  rig.endJob('box-0');
  await expect.poll(async () => (await records.list('0')).length).toBe(1);
  expect(rig.docker.containers.has(id)).toBe(true);
  made.resolve();
  await rig.until('idle', ['0']);
  expect(rig.docker.containers.has(id)).toBe(false);
});

test('a manager that stops before it has the new key leaves the container to the next one', async () => {
  const stock = new KeyStock(1);
  const stopped = Promise.withResolvers<never>();
  let take = (): ReturnType<KeyStock['take']> => stock.take();
  rig.keys = Object.assign(Object.create(stock) as KeyStock, { take: () => take() });
  const records = new RunStore(join(rig.directory, 'state/runs'));
  await rig.start(one);
  await rig.until('idle', ['0']);
  const key = await copied();
  const { id } = rig.docker.get('box-0') ?? { id: '' };
  rig.beginJob('box-0');
  await rig.until('busy', ['0']);
  take = () => stopped.promise;
  rig.endJob('box-0');
  await expect.poll(async () => (await records.list('0')).length).toBe(1);
  const end = rig.stop();
  stopped.reject(new DOMException('This operation was aborted', 'AbortError'));
  await end;
  expect(rig.docker.containers.has(id)).toBe(true);
  take = () => stock.take();
  await rig.start(one);
  await expect.poll(() => rig.docker.containers.has(id)).toBe(false);
  await expect(AgentSession.open(key)).rejects.toThrow();
  expect(await records.list('0')).toHaveLength(1);
});

test('after a job the next run starts with one read of the entry, by the end of the last one', async () => {
  const real = await ManagerRig.create(1);
  try {
    await real.start(one);
    await real.until('idle', ['0']);
    const before = (await real.control.requests()).at(-1)?.n ?? 0;
    const jobs = 3;
    for (let run = 0; run < jobs; run += 1) {
      const { id } = real.docker.get('box-0') ?? {};
      real.beginJob('box-0');
      await real.until('busy', ['0']);
      real.endJob('box-0');
      await expect.poll(() => real.docker.get('box-0')?.id ?? id).not.toBe(id);
      await real.until('idle', ['0']);
    }
    const asked = (await real.control.requests(before)).filter(({ query }) => query.includes('agentName='));
    // A machine under load may take longer than the read counts, but not in each run.
    expect(asked.length).toBeGreaterThanOrEqual(jobs);
    expect(asked.length).toBeLessThan(2 * jobs);
  } finally {
    await real.close();
  }
});
