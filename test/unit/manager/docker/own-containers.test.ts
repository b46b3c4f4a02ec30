// Containers beside those of the slots: of another manager on the same engine by mistake, of an earlier version, damaged.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Labels } from '../../../../src/shared/contract/paths.ts';
import type { OwnContainer } from '../../../../src/shared/engine/engine.ts';
import type { StandInContainer } from '../../../support/docker/state.ts';
import { ManagerRig } from '../../../support/manager-rig.ts';
import { fault } from '../../../support/fault.ts';

let rig: ManagerRig;
beforeEach(async () => {
  rig = await ManagerRig.create();
});
afterEach(() => rig.close());

/** Adds a running copy of a container. */
function beside(
  like: StandInContainer | undefined,
  name: string,
  labels: Readonly<Record<string, string>>,
): StandInContainer {
  if (like === undefined) throw new Error('there is no container');
  const body = { ...like.body, Labels: { ...like.body.Labels, ...labels } };
  const container = { ...like, id: `${name}-id`, name, body, lines: [] };
  rig.docker.containers.set(container.id, container);
  return container;
}

fault('others-containers', 'idle agents of another manager are neither stopped nor counted', async () => {
  await rig.start({ agents: { kind: 'count', count: 1 } });
  await rig.until('idle', ['0']);
  const [mine] = rig.docker.containers.values();
  expect(mine?.body.Labels).toHaveProperty(['azp-fleet.owner']);
  const theirs = beside(mine, 'theirs-0', { 'azp-fleet.slot': '7', 'azp-fleet.owner': 'another' });
  await rig.post('/v1/drain', {});
  await rig.until('drained', ['0']);
  expect([...rig.docker.containers.values()].map(({ id, state }) => [id, state])).toEqual([
    [theirs.id, 'running'],
  ]);
});

test('containers of a version without owner labels belong to the manager', async () => {
  await rig.start({ agents: { kind: 'count', count: 1 } });
  await rig.until('idle', ['0']);
  const [mine] = rig.docker.containers.values();
  const old = beside(mine, 'box-9', { 'azp-fleet.slot': '9' });
  delete old.body.Labels?.['azp-fleet.owner'];
  rig.listen(old);
  await expect.poll(() => rig.docker.get('box-9')).toBeUndefined();
});

/** Adds an idle container of this manager without a configured slot, whose labels name no pool. */
function addStray(): void {
  const stray = beside(rig.docker.get('box-0'), 'box-9', { [Labels.slot]: '9', [Labels.run]: 'r9' });
  delete stray.body.Labels?.[Labels.poolId];
  rig.listen(stray);
}

const one = { agents: { kind: 'count', count: 1 } } as const;

test('a container without a slot and a pool is stopped when one pool has its agent', async () => {
  await rig.start(one);
  await rig.until('idle', ['0']);
  const agent = await rig.azure.findAgent(rig.poolId, 'box-0');
  addStray();
  await rig.azure.createAgent(rig.poolId, {
    name: 'box-9',
    version: '4.275.0',
    osDescription: 'Linux',
    systemCapabilities: {},
    userCapabilities: agent?.userCapabilities ?? {},
    publicKey: { exponent: 'AQAB', modulus: 'AQAB' },
  });
  await expect.poll(() => rig.docker.get('box-9')).toBeUndefined();
});

test('without such an agent it is reported and left alone, and the slots take jobs', async () => {
  await rig.start(one);
  await rig.until('idle', ['0']);
  addStray();
  const finding = async () =>
    (await rig.status()).health.findings.find(({ code }) => code === 'container.no-pool');
  await expect.poll(finding).toBeDefined();
  expect(await finding()).toMatchObject({
    severity: 'warn',
    what: expect.stringContaining('container box-9') as string,
    next: expect.stringContaining('docker stop box-9') as string,
  });
  const first = rig.docker.get('box-0')?.id;
  rig.beginJob('box-0');
  await rig.until('busy', ['0']);
  rig.endJob('box-0');
  await expect.poll(() => rig.docker.get('box-0')?.id).not.toBe(first);
  await rig.until('idle', ['0']);
  expect(rig.docker.get('box-9')?.state).toBe('running');
});

test('a container that cannot be observed is reported and left alone, and the other slots take jobs', async () => {
  let broken = '';
  rig.engineOf = (engine) => ({
    ...engine,
    listOwn: async (filter) =>
      (await engine.listOwn(filter)).map((container) =>
        container.id === broken ? { ...container, labels: brokenLabels(container) } : container,
      ),
  });
  await rig.start();
  await rig.until('idle');
  broken = rig.docker.get('box-1')?.id ?? '';
  const problems = async () => (await rig.status()).problems.map(({ what }) => what);
  await expect.poll(problems).toContainEqual(expect.stringContaining('slot 1 cannot be checked'));
  expect(await rig.slot('1')).toMatchObject({ state: 'idle', code: 'manager.failed' });
  rig.beginJob('box-0');
  await rig.until('busy', ['0']);
  rig.endJob('box-0');
  await rig.until('idle', ['0']);
  expect(rig.docker.get('box-1')?.id).toBe(broken);
  broken = '';
  await expect.poll(problems).toEqual([]);
});

/** Returns labels whose reader fails at one of them. */
function brokenLabels({ labels }: OwnContainer): OwnContainer['labels'] {
  const get = (): never => {
    throw new TypeError('the label cannot be read');
  };
  return Object.create(labels, { [Labels.imageDigest]: { get } }) as OwnContainer['labels'];
}
