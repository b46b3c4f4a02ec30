// Two managers on one engine by mistake: one of another machine, or with another state.
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { StandInContainer } from '../../../support/docker/state.ts';
import { ManagerRig } from '../../../support/manager-rig.ts';

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

test('idle agents of another manager are neither stopped nor counted', async () => {
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
