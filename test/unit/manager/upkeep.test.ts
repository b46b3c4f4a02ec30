import { expect, test } from 'vitest';
import { diskCause, diskState, prunable } from '../../../src/manager/machine/disk.ts';
import { gpuOrder } from '../../../src/manager/gpus/remembered.ts';
import { dueAt, orphansIn } from '../../../src/manager/pool/sweeper.ts';

const gib = 1024 ** 3;
const space = (freeGiB: number, totalGiB = 1000, freeInodes = 1) => ({
  freeBytes: freeGiB * gib,
  totalBytes: totalGiB * gib,
  freeInodes,
});

test.each([
  ['plenty', space(500), 'fine', 'fine'],
  ['below 50 GiB', space(45), 'fine', 'tight'],
  ['below 10 GiB', space(9), 'fine', 'full'],
  ['slightly more again', space(11), 'full', 'full'],
  ['a quarter more again', space(13), 'full', 'tight'],
  ['a small disk, by percentage', space(2, 40), 'fine', 'tight'],
  ['a small disk that is full', space(1.5, 40), 'fine', 'full'],
  ['no inodes', space(500, 1000, 0.01), 'fine', 'full'],
] as const)('disk: %s', (_, now, before, state) => {
  expect(diskState(now, before)).toBe(state);
});

test('the cause of a full disk has the numbers', () => {
  expect(diskCause(space(1.5), '/var/lib/docker').what).toBe(
    'the disk of Docker (/var/lib/docker) is full: 1.5 GiB free',
  );
});

const image = (id: string, created: number, tags: readonly string[] = [id]) => ({
  id,
  created,
  tags,
  labels: {},
  bytes: 1,
});
const running = (used: string) => ({
  id: 'c',
  name: 'n',
  state: 'running' as const,
  labels: {},
  image: used,
  created: 0,
});

test('used, desired and proven images are never removed; of the others the newest two stay while there is space', () => {
  const images = ['a', 'b', 'c', 'd', 'e', 'f'].map((id, at) => image(id, at));
  const ids = (tight: boolean) =>
    prunable(images, [running('a')], ['f', undefined, 'b'], tight).map(({ id }) => id);
  expect(ids(false)).toEqual(['c']);
  expect(ids(true)).toEqual(['c', 'd', 'e']);
});

test('leftovers of a build are removed at once', () => {
  expect(prunable([image('stage', 1, []), image('x', 2)], [], ['x'], false).map(({ id }) => id)).toEqual([
    'stage',
  ]);
});

const agent = (changes: object = {}) => ({
  id: 1,
  name: 'box-9',
  enabled: true,
  status: 'offline' as const,
  userCapabilities: { 'azp-fleet.owner': 'us' },
  ...changes,
});
const ours = { owner: 'us', names: new Set(['box-0']) };

test.each([
  ["this host's, offline, without a slot", agent(), true],
  ['of a slot', agent({ name: 'BOX-0' }), false],
  ["another host's", agent({ userCapabilities: { 'azp-fleet.owner': 'them' } }), false],
  ['registered by hand', agent({ userCapabilities: {} }), false],
])('an agent that is %s counts as one without a slot: %s', (_, found, removed) => {
  expect(orphansIn([found], ours, undefined, 0).size).toBe(removed ? 1 : 0);
});

const plain = (ms: number) => ms;
test('an agent without a slot is read again after 30 s, then every 30 s while a lost job may end, then seldom', () => {
  const [orphan] = orphansIn([agent()], ours, undefined, 1000).values();
  if (orphan === undefined) throw new Error('it is not found');
  const again = orphansIn([agent()], ours, new Map([[1, orphan]]), 25_000);
  expect(again.get(1)).toBe(orphan);
  expect(dueAt(orphan, plain)).toBe(31_000);
  expect(dueAt({ ...orphan, triedAt: 31_000 }, plain)).toBe(61_000);
  expect(dueAt({ ...orphan, triedAt: 20 * 60_000 }, plain)).toBe(20 * 60_000 + 30_000);
  expect(dueAt({ ...orphan, triedAt: 21 * 60_000 }, plain)).toBe(26 * 60_000);
});

const known = { boot: 'x', addresses: ['1', '2', '3'] };
test.each([
  ['first check', undefined, ['1', '2'], 'x', undefined, ['1', '2']],
  ['a GPU fell off the bus', known, ['1', '3'], 'x', undefined, ['1', '2', '3']],
  ['a GPU is missing after a reboot', known, ['1', '3'], 'y', undefined, ['1', '3']],
  [
    'a GPU is missing after a reboot, and the inventory has three',
    known,
    ['1', '3'],
    'y',
    3,
    ['1', '2', '3'],
  ],
  ['another card was plugged in', known, ['1', '3', '4'], 'y', 3, ['1', '3', '4']],
])('slots by GPU: %s', (_, before, present, boot, expected, addresses) => {
  expect(gpuOrder(before, present, boot, expected).addresses).toEqual(addresses);
});
