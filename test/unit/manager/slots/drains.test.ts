import { expect, test } from 'vitest';
import type { UndrainOrder } from '../../../../src/shared/contract/drain.ts';
import {
  readDrains,
  type DrainEntries,
  drainsOf,
  drainOn,
  withDrain,
  withoutDrain,
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
  ['no entry', { host: null, slots: { 1: null } }, none],
])('read from disk: %s', (_, found, entries) => {
  expect(readDrains(found)).toEqual(entries);
});
