import { expect, test } from 'vitest';
import { mountsBelow, shortfalls } from '../../../../src/manager/docker/shortfalls.ts';
import { plainSlot } from '../../../support/slot.ts';

const datasets = ['/data/i', '/data/m'].map((host) => ({
  name: host.slice(-1).toUpperCase(),
  host,
  container: host,
  requireMount: false,
}));
const none = { below: [], sizes: undefined, uncounted: false };

test('what is mounted below a dataset is found, and nothing beside it', () => {
  const points = ['/', '/data/i', '/data/i2', '/data/i/b', '/data/i/a', '/data'];
  expect(mountsBelow(datasets, points)).toEqual([{ name: 'I', mounts: ['/data/i/a', '/data/i/b'] }]);
});

test('mounts that an older engine leaves open are named', () => {
  const [found] = shortfalls([plainSlot], {
    ...none,
    below: [{ name: 'I', mounts: ['/data/i/a', '/data/i/b'] }],
  });
  expect(found).toMatchObject({ code: 'dataset.writable-below', severity: 'warn' });
  expect(found?.what).toContain(
    'dataset I: what is mounted below it (/data/i/a and 1 more) is not read-only',
  );
});

test('sizes that are held, or that nobody asks for, are no word worth', () => {
  const sized = { ...plainSlot, limits: { disk: '1g' } };
  expect(shortfalls([plainSlot], { ...none, sizes: 'no' })).toEqual([]);
  expect(shortfalls([sized], none)).toEqual([]);
});

test('straight on the host nothing can be held to a size', () => {
  const bare = { ...plainSlot, name: 'bare', mode: 'host', limits: { disk: '1g' } } as const;
  expect(shortfalls([bare, plainSlot], none).map(({ what }) => what)).toEqual([
    'limits.disk does nothing straight on the host (bare)',
  ]);
});

test('sizes that were given and are no longer counted are said to be not held', () => {
  const sized = { ...plainSlot, limits: { disk: '1g' } };
  expect(shortfalls([plainSlot], { ...none, uncounted: true })).toEqual([]);
  expect(shortfalls([sized], { ...none, uncounted: true })).toMatchObject([
    {
      code: 'slot.no-size-limit',
      what: 'limits.disk is not held (0): btrfs has stopped counting what containers hold',
      next: expect.stringContaining('btrfs quota rescan') as unknown,
    },
  ]);
});
