// The janitor's list of pulled images: these have no label of azp-fleet, so the state lists them.
import { expect, test } from 'vitest';

import { Helpers, Janitor } from '../../../../src/manager/docker/janitor.ts';
import type { PulledImage } from '../../../../src/manager/model.ts';
import { silentLogger } from '../../../../src/shared/base/log.ts';
import { StillClock } from '../../../support/clock.ts';
import { config } from '../../../support/manager-config.ts';

const gib = 1024 ** 3;

/** Runs one round with images pulled in this order. `stuck`: images that Docker does not remove. */
async function round(ids: readonly string[], needed: readonly string[], stuck: readonly string[] = []) {
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
    info: async () => ({ rootDir: '/var/lib/docker' }),
    listOwn: async () => [],
    listOwnImages: async () => [],
    removeImage: async (id: string) => {
      if (stuck.includes(id)) throw new Error('in use');
      removed.push(id);
    },
  };
  const space = { freeBytes: 500 * gib, totalBytes: 1000 * gib, freeInodes: 1 };
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

test('a pulled image that is needed stays on the host and in the list', async () => {
  expect(await round(['a', 'b', 'c', 'd'], ['a', 'd'])).toEqual({
    removed: [],
    listed: ['a', 'b', 'c', 'd'],
  });
});

test('a pulled image that Docker does not remove stays in the list', async () => {
  expect(await round(['a', 'b', 'c', 'd'], ['d'], ['a'])).toEqual({
    removed: [],
    listed: ['a', 'b', 'c', 'd'],
  });
});
