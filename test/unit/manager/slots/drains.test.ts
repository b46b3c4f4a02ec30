import { expect, test } from 'vitest';
import type { UndrainOrder, UndrainOwnOrder } from '../../../../src/shared/contract/drain.ts';
import {
  readDrains,
  type DrainEntries,
  drainsOf,
  drainOn,
  withDrain,
  withoutDrain,
  withoutEnded,
  withoutOwnDrain,
} from '../../../../src/manager/slots/drains.ts';

const known = ['0', '1'];
const at = '2026-11-21T12:00:00.000Z';
const now = Date.parse(at);

const none: DrainEntries = { slots: {} };
const person = { reason: 'fan', at, owner: 'ann@laptop' };
const unnamed = { reason: 'fan', at };
const run = { reason: 'restart Docker', at, owner: 'bob@ci', run: 'r1' };
const nextRun = { ...run, run: 'r2' };
const ofPerson: DrainEntries = { host: person, slots: {} };
const ofRun: DrainEntries = { provision: run, slots: {} };
const ofBoth: DrainEntries = { host: person, provision: run, slots: {} };
const ofSlot: DrainEntries = { slots: { 1: person } };

test.each<
  [string, DrainEntries, Omit<typeof person, 'at'> & { run?: string; slots?: string[] }, DrainEntries]
>([
  ['a person, the host', none, person, ofPerson],
  ['a person, a slot', none, { ...person, slots: ['1'] }, ofSlot],
  ['a run', none, run, ofRun],
  ['a run, with the drain of a person', ofPerson, run, ofBoth],
  ['a person, with the drain of a run', ofRun, person, ofBoth],
  ['a run, with a drained slot', ofSlot, run, { ...ofRun, ...ofSlot }],
  ['the next run after an interrupted run', ofRun, nextRun, { provision: nextRun, slots: {} }],
  ['a person again, without a reason', ofPerson, { ...person, reason: '' }, ofPerson],
  ['a slot again, without a reason', ofSlot, { ...person, reason: '', slots: ['1'] }, ofSlot],
  ['the next run, with the drain of a person', ofBoth, nextRun, { ...ofBoth, provision: nextRun }],
])('drain: %s', (_, before, { reason, owner, ...order }, after) => {
  const { run: id, slots = [] } = order;
  const full = { slots, reason, owner, ...(id === undefined ? {} : { run: id }) };
  expect(withDrain(before, full, known, now)).toEqual(after);
});

const bob = { reason: 'cable', at, owner: 'bob@desk' };

test('a second person adds a drain, and the release before sees each drained place', () => {
  const order = { slots: [], reason: 'cable', owner: 'bob@desk' };
  const both = withDrain(ofPerson, order, known, now);
  expect(both).toEqual({ host: person, slots: {}, more: [bob] });
  expect(withDrain(ofSlot, { ...order, slots: ['0', '1'] }, known, now)).toEqual({
    slots: { 0: bob, 1: person },
    more: [{ slot: '1', ...bob }],
  });
  // Ann's drain ends: Bob's takes its place.
  expect(withoutOwnDrain(both, { slots: [], owner: 'ann@laptop' }, known, true)).toEqual({
    host: bob,
    slots: {},
  });
});

test('a login is one person on every machine, and an end is that of the last order', () => {
  const until = '2026-11-21T18:00:00.000Z';
  const order = { slots: [], reason: '', owner: 'ann@desk', until };
  const again = withDrain(ofPerson, order, known, now);
  expect(again).toEqual({ host: { ...person, owner: 'ann@desk', until }, slots: {} });
  const { until: _, ...open } = order;
  expect(drainsOf(withDrain(again, open, known, now))).toEqual([{ ...person, owner: 'ann@desk' }]);
});

test.each<[string, UndrainOwnOrder, readonly string[]]>([
  [
    'one’s own, from any machine, those of runs, and those without an owner',
    { slots: [], owner: 'ann@desk' },
    ['bob'],
  ],
  [
    'those of another person',
    { slots: [], owner: 'ann@desk', of: 'bob' },
    ['ann', 'run', 'nobody', 'ann on 0'],
  ],
  ['by the whole name', { slots: [], of: 'bob@desk' }, ['ann', 'run', 'nobody', 'ann on 0']],
  [
    'of nobody known',
    { slots: [], owner: 'ann@desk', of: 'cat' },
    ['ann', 'bob', 'run', 'nobody', 'ann on 0'],
  ],
  [
    'one’s own on a slot of a drained host',
    { slots: ['0'], owner: 'ann@desk' },
    ['ann', 'bob', 'run', 'nobody'],
  ],
])('undrain ends %s', (_, order, left) => {
  const all: DrainEntries = {
    host: { reason: 'ann', at, owner: 'ann@laptop' },
    provision: { ...run, reason: 'run' },
    slots: { 0: { reason: 'ann on 0', at, owner: 'ann@laptop' } },
    more: [
      { reason: 'bob', at, owner: 'bob@desk' },
      { reason: 'nobody', at },
    ],
  };
  const names = (entries: DrainEntries) => drainsOf(entries).map(({ reason }) => reason);
  expect(names(withoutOwnDrain(all, order, known, true)).sort()).toEqual([...left].sort());
  // While a run works on the host, its drain stays.
  const kept = names(withoutOwnDrain(all, order, known, false)).filter((reason) => reason !== 'run');
  expect(kept.sort()).toEqual(left.filter((reason) => reason !== 'run').sort());
});

test('a drain ends at its time', () => {
  const until = '2026-11-21T18:00:00.000Z';
  const entries = { host: { ...person, until }, slots: { 1: person }, more: [bob] };
  expect(withoutEnded(entries, Date.parse(until) - 1)).toBe(entries);
  expect(withoutEnded(entries, Date.parse(until))).toEqual({ host: bob, slots: { 1: person } });
  const odd = { host: { ...person, until: 'soon' }, slots: {} };
  expect(withoutEnded(odd, Date.parse(until))).toBe(odd);
});

test('an entry has no owner if the request names none', () => {
  expect(withDrain(none, { slots: [], reason: 'fan' }, known, now)).toEqual({ host: unnamed, slots: {} });
});

const all: UndrainOrder = { slots: [] };
const ofR1: UndrainOrder = { slots: [], run: 'r1' };

test.each<[string, DrainEntries, UndrainOrder, DrainEntries]>([
  ['a person ends every drain', { ...ofBoth, slots: { 1: person } }, all, none],
  ['a person ends the drain of an interrupted run', ofRun, all, none],
  ['a person, one slot', { slots: { 0: person, 1: person } }, { ...all, slots: ['0'] }, ofSlot],
  ['a run ends its own drain', ofRun, ofR1, none],
  ['a run keeps the drain of a person', ofBoth, ofR1, ofPerson],
  ['a run keeps drained slots', { ...ofRun, slots: { 1: person } }, ofR1, ofSlot],
  ['a run keeps the drain of another run', ofRun, { ...ofR1, run: 'r2' }, ofRun],
  ['a run whose entry was removed', ofPerson, ofR1, ofPerson],
])('undrain: %s', (_, before, order, after) => {
  expect(withoutDrain(before, order, known)).toEqual(after);
});

test.each([
  [ofPerson, 'the whole host is drained by ann@laptop: fan'],
  [ofRun, 'the whole host is drained by run r1 of bob@ci: restart Docker'],
])(
  'a slot of a drained host cannot be undrained alone, and the message names who drained the host',
  (before, what) => {
    expect(() => withoutDrain(before, { ...all, slots: ['0'] }, known)).toThrow(what);
  },
);

test('an unknown slot is reported', () => {
  expect(() => withDrain(none, { slots: ['7'], reason: '' }, known, 0)).toThrow('there is no slot 7');
});

test('a run cannot drain single slots', () => {
  expect(() => withDrain(none, { slots: ['0'], reason: '', run: 'r1' }, known, 0)).toThrow(
    'a run drains the whole host',
  );
});

test.each<[string, DrainEntries, unknown]>([
  ['no entry', none, undefined],
  ['the slot’s own entry', ofSlot, { slot: '1', ...person }],
  ['provision before the slot’s own entry', { ...ofRun, ...ofSlot }, run],
  ['a person before provision', ofBoth, person],
])('the drain of slot 1: %s', (_, entries, entry) => {
  expect(drainOn(entries, '1')).toEqual(entry);
});

test('every entry is listed once, by priority', () => {
  expect(drainsOf({ ...ofBoth, slots: { 1: unnamed } })).toEqual([person, run, { slot: '1', ...unnamed }]);
  expect(drainsOf(ofRun)).toEqual([run]);
});

test.each<[string, unknown, DrainEntries]>([
  ['no drains', undefined, none],
  ['a host without an owner', { host: unnamed, slots: {} }, { host: unnamed, slots: {} }],
  ['a slot without an owner', { slots: { 1: unnamed } }, { slots: { 1: unnamed } }],
  ['this version', ofBoth, ofBoth],
  ['a later version', { ...ofPerson, team: 1, slots: {} }, { ...ofPerson, team: 1 } as DrainEntries],
  ['an entry that cannot be read', { host: true }, { host: { reason: '', at: '' }, slots: {} }],
  [
    'persons on one place',
    { host: person, more: [bob, { slot: '1', ...bob }] },
    { host: person, slots: {}, more: [bob, { slot: '1', ...bob }] },
  ],
  ['a further entry that cannot be read', { more: [true] }, { slots: {}, more: [{ reason: '', at: '' }] }],
  ['no entry', { host: null, slots: { 1: null } }, none],
])('read from disk: %s', (_, found, entries) => {
  expect(readDrains(found)).toEqual(entries);
});
