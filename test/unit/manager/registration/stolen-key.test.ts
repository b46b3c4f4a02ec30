// A job can read its agent's key and copy it. Once its container is over, the copy opens no session, whatever the slot
// waits for. The daemon with a fake Azure DevOps server and a stand-in dockerd; the thief logs in as the agent does.
import { afterEach, beforeEach, expect, test } from 'vitest';

import { KeyStock } from '../../../../src/manager/registration/keys.ts';
import { untar } from '../../../../src/shared/base/tar.ts';
import { AgentSession } from '../../../support/agent-session.ts';
import { ManagerRig } from '../../../support/manager-rig.ts';

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

/** What the job found in its container. */
async function copied(): Promise<ReadonlyMap<string, Buffer>> {
  const [archive] = rig.docker.get('box-0')?.archives ?? [];
  return untar(archive?.tar ?? Buffer.alloc(0));
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

test('it opens no session while the slot is drained', async () => {
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

test('it opens none even if a manager finds the ended container when it is started', async () => {
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
});

test('it opens none when the container has vanished while nobody looked', async () => {
  await rig.start(one);
  await rig.until('idle', ['0']);
  const key = await copied();
  await rig.stop();
  rig.docker.containers.clear();
  rig.docker.onStart = () => undefined;
  // What holds the slot: its dataset is away.
  const datasets = [{ name: 'D', host: `${rig.directory}/away`, container: '/d', requireMount: false }];
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

test('the key of the next run is the one that the server got at the end of the last: one call a run', async () => {
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

test('capabilities that changed meanwhile reach the agent with the key that it has', async () => {
  await rig.start(one);
  await rig.until('idle', ['0']);
  await rig.post('/v1/drain', {});
  await rig.until('drained', ['0']);
  const agent = await rig.azure.findAgent(rig.poolId, 'box-0');
  await rig.azure.setUserCapabilities(rig.poolId, agent?.id ?? 0, {
    ...agent?.userCapabilities,
    room: 'b12',
  });
  await rig.post('/v1/undrain', {});
  await rig.until('idle', ['0']);
  await (await AgentSession.open(await copied())).close();
  const now = await rig.azure.findAgent(rig.poolId, 'box-0');
  expect(now).toMatchObject({ enabled: true, userCapabilities: { room: 'b12' } });
  expect(now?.userCapabilities).not.toHaveProperty('azp-fleet.disabled');
});

test('whoever is slow to wait pays no call: a slot that backs off ends the key once', async () => {
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

test('a held slot whose agent somebody has deleted asks for it once, not until the pool is looked at again', async () => {
  const last = async () => (await rig.control.requests()).at(-1)?.n ?? 0;
  await rig.start(one);
  await rig.until('idle', ['0']);
  rig.beginJob('box-0');
  await rig.until('busy', ['0']);
  const agent = await rig.azure.findAgent(rig.poolId, 'box-0');
  rig.disk = { freeBytes: 0, totalBytes: 1e12, freeInodes: 1 };
  await expect.poll(async () => (await rig.slot('0')).code).toBe('disk.full');
  // The pool has just been looked at: the end of the run does not have it looked at again before a minute is over.
  const before = await last();
  await rig.post('/v1/undrain', { slots: [] });
  const looks = async () =>
    (await rig.control.requests(before)).filter(({ query }) => query.includes('demands='));
  await expect.poll(async () => (await looks()).length).toBeGreaterThan(0);
  await rig.azure.deleteAgent(rig.poolId, agent?.id ?? 0);
  const after = await last();
  rig.endJob('box-0');
  await rig.until('waiting', ['0']);
  const passes = rig.notified.length;
  await expect.poll(() => rig.notified.length, { timeout: 20_000 }).toBeGreaterThan(passes + 10);
  const asked = (await rig.control.requests(after)).filter(({ query }) => query.includes('agentName='));
  // The looks ask for it, too, a hundred times as often as real ones.
  expect(asked.length).toBeLessThanOrEqual(6);
});

test('a slot that was renamed does not take the key from under the container of its agent', async () => {
  const named = (name: string) => ({
    agentName: 'box',
    agents: { kind: 'slots', slots: [{ ...plainSpec, name }] } as const,
  });
  await rig.start(named('old'));
  await rig.until('idle', ['old']);
  rig.beginJob('box');
  await rig.until('busy', ['old']);
  const [archive] = rig.docker.get('box')?.archives ?? [];
  const key = await untar(archive?.tar ?? Buffer.alloc(0));
  await rig.stop();
  await rig.start(named('new'));
  await rig.until('waiting', ['new']);
  await expect.poll(async () => (await rig.slot('new')).code).toBe('slot.container-exists');
  await (await AgentSession.open(key)).close();
  rig.endJob('box');
  await rig.until('idle', ['new']);
});
