import { expect, test } from 'vitest';

import type { UndrainOrder } from '../../../../src/shared/contract/drain.ts';
import { readMarks, type DrainMarks } from '../../../../src/manager/drain-marks.ts';
import { drainsOf, markOn, withDrain, withoutDrain } from '../../../../src/manager/slots/marks.ts';

const known = ['0', '1'];
const at = '2026-11-21T12:00:00.000Z';
const now = Date.parse(at);

const none: DrainMarks = { slots: {} };
const person = { reason: 'fan', at, owner: 'ann@laptop' };
const nobody = { reason: 'fan', at };
const run = { reason: 'restart Docker', at, owner: 'bob@ci', run: 'r1' };
const nextRun = { ...run, run: 'r2' };
const ofPerson: DrainMarks = { host: person, slots: {} };
const ofRun: DrainMarks = { host: run, provision: run, slots: {} };
const ofBoth: DrainMarks = { host: person, provision: run, slots: {} };
const ofSlot: DrainMarks = { slots: { 1: person } };

test.each<[string, DrainMarks, Omit<typeof person, 'at'> & { run?: string; slots?: string[] }, DrainMarks]>([
  ['a person, the host', none, person, ofPerson],
  ['a person, a slot', none, { ...person, slots: ['1'] }, ofSlot],
  ['a run', none, run, ofRun],
  ['a run beside a person', ofPerson, run, ofBoth],
  ['a person beside a run', ofRun, person, ofBoth],
  ['a run beside a slot', ofSlot, run, { ...ofRun, ...ofSlot }],
  [
    'the next run after one that was interrupted',
    ofRun,
    nextRun,
    { host: nextRun, provision: nextRun, slots: {} },
  ],
  ['a person again, without a reason', ofPerson, { ...person, reason: '' }, ofPerson],
  ['a slot again, without a reason', ofSlot, { ...person, reason: '', slots: ['1'] }, ofSlot],
  ['the next run beside a person', ofBoth, nextRun, { ...ofBoth, provision: nextRun }],
])('drain: %s', (_, before, { reason, owner, ...order }, after) => {
  const { run: id, slots = [] } = order;
  const given = { slots, reason, owner, ...(id === undefined ? {} : { run: id }) };
  expect(withDrain(before, given, known, now)).toEqual(after);
});

test('a mark of a version that kept no names has none', () => {
  expect(withDrain(none, { slots: [], reason: 'fan' }, known, now)).toEqual({ host: nobody, slots: {} });
});

const all: UndrainOrder = { slots: [], hostOnly: false };
const ofR1: UndrainOrder = { slots: [], hostOnly: true, run: 'r1' };
const olderProvision: UndrainOrder = { slots: [], hostOnly: true };

test.each<[string, DrainMarks, UndrainOrder, DrainMarks]>([
  ['a person takes every mark back', { ...ofBoth, slots: { 1: person } }, all, none],
  ['a person takes back what an interrupted run left', ofRun, all, none],
  ['a person, one slot', { slots: { 0: person, 1: person } }, { ...all, slots: ['0'] }, ofSlot],
  ['a run takes its own back', ofRun, ofR1, none],
  ['a run leaves the person’s', ofBoth, ofR1, ofPerson],
  ['a run leaves the slots’', { ...ofRun, slots: { 1: person } }, ofR1, ofSlot],
  ['a run leaves the one of another run', ofRun, { ...ofR1, run: 'r2' }, ofRun],
  ['a run whose mark has gone', ofPerson, ofR1, ofPerson],
  [
    'a provision that names no run takes its nameless one back',
    { host: nobody, slots: {} },
    olderProvision,
    none,
  ],
  ['a provision that names no run leaves the person’s', ofPerson, olderProvision, ofPerson],
  ['a provision that names no run leaves a run’s', ofRun, olderProvision, ofRun],
  ['a provision that names no run leaves the slots’', { host: nobody, ...ofSlot }, olderProvision, ofSlot],
])('undrain: %s', (_, before, order, after) => {
  expect(withoutDrain(before, order, known)).toEqual(after);
});

test.each([
  [ofPerson, 'the whole host is drained by ann@laptop: fan'],
  [ofRun, 'the whole host is drained by run r1 of bob@ci: restart Docker'],
])('a slot of a drained host cannot take jobs alone, and it is said who keeps it', (before, what) => {
  expect(() => withoutDrain(before, { ...all, slots: ['0'] }, known)).toThrow(what);
});

test('an unknown slot is named', () => {
  expect(() => withDrain(none, { slots: ['7'], reason: '' }, known, 0)).toThrow('there is no slot 7');
});

test('a run drains no single slots', () => {
  expect(() => withDrain(none, { slots: ['0'], reason: '', run: 'r1' }, known, 0)).toThrow(
    'a run drains the whole host',
  );
});

test.each<[string, DrainMarks, unknown]>([
  ['nobody', none, undefined],
  ['a slot’s own mark', ofSlot, person],
  ['provision before the slot’s own', { ...ofRun, ...ofSlot }, run],
  ['a person before provision', ofBoth, person],
])('who keeps slot 1 from taking jobs: %s', (_, marks, mark) => {
  expect(markOn(marks, '1')).toEqual(mark);
});

test('every mark is told once, the weightiest first', () => {
  expect(drainsOf({ ...ofBoth, slots: { 1: nobody } })).toEqual([person, run, { slot: '1', ...nobody }]);
  expect(drainsOf(ofRun)).toEqual([run]);
});

/** What a manager that knows neither owners nor runs sees in the same file, and what it leaves there. */
const older = {
  drains: ({ host, slots }: DrainMarks, slot: string) => (host ?? slots[slot])?.reason,
  drain: (marks: DrainMarks) => ({ ...marks, host: nobody }),
  undrain: () => ({ slots: {} }),
  undrainHost: ({ slots }: DrainMarks) => ({ slots }),
};

test.each<[string, DrainMarks, string | undefined]>([
  ['a person', ofPerson, 'fan'],
  ['a run', ofRun, 'restart Docker'],
  ['both', ofBoth, 'fan'],
  ['a slot', ofSlot, 'fan'],
  ['another slot', { slots: { 0: person } }, undefined],
])('an older manager keeps jobs away from what this one has drained: %s', (_, marks, reason) => {
  expect(older.drains(JSON.parse(JSON.stringify(marks)) as DrainMarks, '1')).toBe(reason);
});

test.each<[string, unknown, DrainMarks]>([
  ['no drain ever', undefined, none],
  ['a host, before marks had owners', { host: nobody, slots: {} }, { host: nobody, slots: {} }],
  ['a slot, before marks had owners', { slots: { 1: nobody } }, { slots: { 1: nobody } }],
  [
    'a drain by an older manager beside a run',
    older.drain(ofRun),
    { host: nobody, provision: run, slots: {} },
  ],
  ['an undrain by an older manager', older.undrain(), none],
  ['the end of a run on an older manager', older.undrainHost({ ...ofRun, ...ofSlot }), ofSlot],
  ['this version', ofBoth, ofBoth],
  ['a later version', { ...ofPerson, team: 1, slots: {} }, { ...ofPerson, team: 1 } as DrainMarks],
  ['a run’s copy without its original', { host: run }, ofRun],
  ['a mark that cannot be read', { host: true }, { host: { reason: '', at: '' }, slots: {} }],
  ['no mark', { host: null, slots: { 1: null } }, none],
  [
    'a run that drained a manager without names',
    { host: { reason: 'restart Docker (run r1 of bob@ci)', at }, slots: {} },
    ofRun,
  ],
])('read from disk: %s', (_, found, marks) => {
  expect(readMarks(found)).toEqual(marks);
});
