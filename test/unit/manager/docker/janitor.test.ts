// The janitor's list of pulled images: these have no label of azp-fleet, so the state lists them.
import { describe, expect, test } from 'vitest';

import type { DiskSpace } from '../../../../src/manager/machine/disk.ts';
import { Helpers, Janitor } from '../../../../src/manager/docker/janitor.ts';
import type { PulledImage } from '../../../../src/manager/model.ts';
import { silentLogger } from '../../../../src/shared/base/log.ts';
import { StillClock } from '../../../support/clock.ts';
import { config } from '../../../support/manager-config.ts';

const gib = 1024 ** 3;

/** Runs one round with images pulled in this order. `stuck`: images that Docker does not remove. */
async function round(
  ids: readonly string[],
  needed: readonly string[],
  { stuck = [], freeGib = 500 }: { readonly stuck?: readonly string[]; readonly freeGib?: number } = {},
) {
  const removed: string[] = [];
  const state = {
    value: { pulled: ids.map((id, at): PulledImage => ({ id, at })) },
    note: async (
      change: (known: { pulled: readonly PulledImage[] }) => { pulled: readonly PulledImage[] },
    ) => {
      state.value = { pulled: [...change(state.value).pulled] };
    },
  };
  const engine = {
    info: async () => ({ rootDir: '/var/lib/docker', storage: { driver: 'overlay2', byContainerd: false } }),
    listOwn: async () => [],
    listOwnImages: async () => [],
    removeImage: async (id: string) => {
      if (stuck.includes(id)) throw new Error('in use');
      removed.push(id);
    },
  };
  const space = { freeBytes: freeGib * gib, totalBytes: 1000 * gib, freeInodes: 1 };
  const tools = {
    engine,
    state,
    config: config({}),
    clock: new StillClock(),
    log: silentLogger,
    helpers: new Helpers(),
    diskSpace: async () => space,
  };
  await new Janitor(tools as unknown as ConstructorParameters<typeof Janitor>[0]).round(needed);
  return { removed, listed: state.value.pulled.map(({ id }) => id) };
}

test('a pulled image that nothing needs is removed, and the list forgets it', async () => {
  expect(await round(['a', 'b', 'c', 'd'], ['d'])).toEqual({ removed: ['a'], listed: ['b', 'c', 'd'] });
});

test('on a disk that is nearly full all go that nothing needs, and the list forgets the last one, too', async () => {
  expect(await round(['a', 'b'], [], { freeGib: 1 })).toEqual({ removed: ['a', 'b'], listed: [] });
});

test('a pulled image that is needed stays on the host and in the list', async () => {
  expect(await round(['a', 'b', 'c', 'd'], ['a', 'd'])).toEqual({
    removed: [],
    listed: ['a', 'b', 'c', 'd'],
  });
});

test('a pulled image that Docker does not remove stays in the list', async () => {
  expect(await round(['a', 'b', 'c', 'd'], ['d'], { stuck: ['a'] })).toEqual({
    removed: [],
    listed: ['a', 'b', 'c', 'd'],
  });
});

describe("the disks of Docker and of containerd's store", () => {
  const spaceOf = (freeGib: number): DiskSpace => ({
    freeBytes: freeGib * gib,
    totalBytes: 1000 * gib,
    freeInodes: 1,
  });
  /** The janitor after a round, with this space on each disk in GiB. */
  async function measured(docker: number, store: number, { byContainerd = true, root = '/store' } = {}) {
    const tools = {
      engine: {
        info: async () => ({ rootDir: '/docker', storage: { driver: 'overlayfs', byContainerd } }),
        listOwn: async () => [],
      },
      config: config({}),
      clock: new StillClock(),
      log: silentLogger,
      helpers: new Helpers(),
      diskSpace: async (path: string) => spaceOf(path === '/docker' ? docker : store),
      containerdRoot: async () => (root === '' ? undefined : root),
    };
    const janitor = new Janitor(tools as unknown as ConstructorParameters<typeof Janitor>[0]);
    await janitor.round(undefined);
    return [janitor.cause?.what, (janitor.space?.freeBytes ?? 0) / gib];
  }

  test.each<[string, Promise<unknown[]>, string | undefined, number]>([
    ['a full store', measured(500, 1), 'the disk of Docker (/store) is full: 1.0 GiB free', 1],
    ['a full Docker', measured(1, 500), 'the disk of Docker (/docker) is full: 1.0 GiB free', 1],
    ['space on both: the smaller one is reported', measured(500, 400), undefined, 400],
    ['images in Docker', measured(500, 1, { byContainerd: false }), undefined, 500],
    ["dockerd's own containerd", measured(500, 1, { root: '' }), undefined, 500],
  ])('%s', async (_, found, what, free) => {
    expect(await found).toEqual([what, free]);
  });
});
