import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ManagerConfig } from '../../../src/shared/contract/config.ts';
import type { SlotSpec } from '../../../src/shared/contract/slots.ts';
import { ManagerRig } from '../../support/manager-rig.ts';
import { fault } from '../../support/fault.ts';

// Slots with own pools and images; the daemon as in daemon.test.ts.
let rig: ManagerRig;
let other: number;
beforeEach(async () => {
  rig = await ManagerRig.create(500);
  other = (await rig.azure.ensurePool('gpu-training')).pool.id;
});
afterEach(() => rig.close());

const slot = (own: Partial<SlotSpec> = {}): SlotSpec => ({
  gpus: [],
  share: false,
  limits: {},
  capabilities: [],
  mode: 'container',
  ...own,
});
const slots = (...all: readonly Partial<SlotSpec>[]): Partial<ManagerConfig> => ({
  agents: { kind: 'slots', slots: all.map(slot) },
});
const agentsIn = async (pool: number): Promise<string[]> =>
  (await rig.azure.listAgents(pool)).map(({ name }) => name).sort();
const remembered = (): unknown =>
  (JSON.parse(readFileSync(join(rig.directory, 'state', 'manager.json'), 'utf8')) as { pools: unknown })
    .pools;
const imageOf = (name: string): string | undefined =>
  rig.docker.images.find(({ id }) => id === rig.docker.get(name)?.body.Image)?.reference;

describe('pools', () => {
  test('each agent is registered in the pool of its slot, which the status shows', async () => {
    await rig.start(slots({}, { pool: 'GPU-Training' }));
    await rig.until('idle');
    expect([await agentsIn(rig.poolId), await agentsIn(other)]).toEqual([['box-0'], ['box-1']]);
    const status = await rig.status();
    const at = expect.any(String) as string;
    expect(status.pools).toEqual([
      { name: 'gpu-lab', id: rig.poolId, up: true, at },
      { name: 'GPU-Training', id: other, up: true, at },
    ]);
    expect(status.slots.map(({ pool }) => pool)).toEqual(['gpu-lab', 'GPU-Training']);
  });

  fault('pool-missing', 'a missing pool affects only its slots', async () => {
    await rig.start(slots({}, { pool: 'nowhere' }));
    await rig.until('idle', ['0']);
    await rig.until('waiting', ['1']);
    const { problems, pools } = await rig.status();
    expect(problems.map(({ what }) => what)).toEqual([
      'there is no agent pool nowhere, or the credential may not see it',
    ]);
    expect(pools?.map(({ up }) => up)).toEqual([true, false]);
    await rig.azure.ensurePool('nowhere');
    await rig.until('idle');
  });

  test('a slot that moves finishes its job first; then its agent in the old pool is removed', async () => {
    await rig.start(slots({}, {}));
    await rig.until('idle');
    rig.beginJob('box-1');
    await rig.until('busy', ['1']);
    await rig.stop();
    const [before] = rig.docker.containers.keys();
    await rig.start(slots({}, { pool: 'gpu-training' }));
    await expect.poll(() => [...rig.docker.containers.keys()].includes(before ?? '')).toBe(true);
    await rig.until('busy', ['1']);
    expect(await agentsIn(other)).toEqual([]);
    rig.endJob('box-1');
    await rig.until('idle');
    await expect.poll(() => agentsIn(rig.poolId)).toEqual(['box-0']);
    expect(await agentsIn(other)).toEqual(['box-1']);
  });

  test('an idle agent is disabled in its old pool before it is stopped; a pool without slots is forgotten', async () => {
    await rig.start(slots({}));
    await rig.until('idle', ['0']);
    await expect.poll(remembered).toEqual([rig.poolId]);
    await rig.stop();
    const { id } = (await rig.azure.findAgent(rig.poolId, 'box-0')) ?? {};
    const before = (await rig.control.requests()).at(-1)?.n ?? 0;
    await rig.start(slots({ pool: 'gpu-training' }));
    await expect.poll(() => agentsIn(other)).toEqual(['box-0']);
    expect(await agentsIn(rig.poolId)).toEqual([]);
    const changes = (await rig.control.requests(before)).filter(
      ({ method, path }) => method !== 'GET' && path.includes(`/pools/${rig.poolId}/agents/${id}`),
    );
    expect(changes.map(({ method, path }) => `${method} ${path.split('/').at(-1)}`)).toEqual([
      'PUT usercapabilities',
      `PATCH ${id}`,
      `DELETE ${id}`,
    ]);
    await expect.poll(remembered).toEqual([other]);
    await rig.until('idle', ['0']);
  });

  test('the agent of a slot that was removed with its pool is removed from it', async () => {
    await rig.start(slots({}, { pool: 'gpu-training' }));
    await rig.until('idle');
    await expect.poll(remembered).toEqual([rig.poolId, other]);
    await rig.stop();
    await rig.start(slots({}));
    await expect.poll(() => rig.docker.get('box-1')).toBeUndefined();
    await expect.poll(() => agentsIn(other)).toEqual([]);
    expect(await agentsIn(rig.poolId)).toEqual(['box-0']);
  });
});

describe('images', () => {
  const own = 'registry.example/training:7';

  test('each slot runs its own image, which the status shows', async () => {
    await rig.start(slots({}, { image: own }));
    await rig.until('idle');
    expect([imageOf('box-0'), imageOf('box-1')]).toEqual(['registry.example/agent:1', own]);
    const { image, images, slots: shown } = await rig.status();
    expect(image.reference).toBe('registry.example/agent:1');
    expect(images?.map(({ reference, state, slots: by }) => [reference, state, by])).toEqual([
      ['registry.example/agent:1', 'ready', ['0']],
      [own, 'ready', ['1']],
    ]);
    expect(shown.map((each) => each.image)).toEqual(['registry.example/agent:1', own]);
  });

  test("the host's image is not pulled when all slots have an own one", async () => {
    const image = { kind: 'registry', reference: 'registry.example/unused:1' } as const;
    await rig.start({ ...slots({ image: own }), image });
    await rig.until('idle', ['0']);
    expect(rig.docker.images.map(({ reference }) => reference)).not.toContain(image.reference);
    expect((await rig.status()).image).toMatchObject({ reference: own, state: 'ready' });
  });

  test('a new image is tried by one of its slots, and other slots do not roll', async () => {
    await rig.start(slots({}, { image: own }, { image: own }));
    await rig.until('idle', ['0', '1', '2']);
    const first = rig.docker.get('box-0')?.id;
    await rig.stop();
    await rig.start(
      slots({}, { image: 'registry.example/training:8' }, { image: 'registry.example/training:8' }),
    );
    await expect
      .poll(() => [imageOf('box-1'), imageOf('box-2')])
      .toEqual(['registry.example/training:8', 'registry.example/training:8']);
    expect(rig.docker.get('box-0')?.id).toBe(first);
  });

  test('an image that crash-loops is rolled back on its slots only', async () => {
    await rig.start(slots({}, { image: own }));
    await rig.until('idle');
    await rig.stop();
    const bad = rig.docker.addImage('registry.example/training:bad');
    rig.docker.onStart = (container) =>
      container.body.Image === bad.id ? rig.docker.end(container.id, 127) : rig.listen(container);
    await rig.start(slots({}, { image: bad.reference }));
    await expect.poll(async () => (await rig.status()).problems[0]?.code).toBe('image.rejected');
    await rig.until('idle');
    expect([imageOf('box-0'), imageOf('box-1')]).toEqual(['registry.example/agent:1', own]);
  });

  test('a pulled image is removed once it is unused; images from before stay', async () => {
    const theirs = rig.docker.addImage('registry.example/training:theirs');
    await rig.start(slots({}, { image: theirs.reference }));
    await rig.until('idle');
    await rig.stop();
    await rig.start(slots({}, { image: own }));
    await expect.poll(() => imageOf('box-1')).toBe(own);
    await rig.until('idle');
    await rig.stop();
    await rig.start(slots({}));
    rig.disk = { freeBytes: 45 * 1024 ** 3, totalBytes: 1e12, freeInodes: 1 };
    await expect
      .poll(() => rig.docker.images.map(({ reference }) => reference).sort())
      .toEqual(['registry.example/agent:1', theirs.reference]);
  });
});
