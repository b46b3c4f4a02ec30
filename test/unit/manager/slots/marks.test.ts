import { expect, test } from 'vitest';

import { withDrain, withoutDrain } from '../../../../src/manager/slots/marks.ts';

const known = ['0', '1'];
const all = { slots: [], hostOnly: false };

test('what an admin drained by name stays drained when the host as a whole takes jobs again', () => {
  const byName = withDrain({ slots: {} }, { slots: ['1'], reason: 'fan' }, known, 0);
  const host = withDrain(byName, { slots: [], reason: 'driver update' }, known, 0);
  expect(withoutDrain(host, { slots: [], hostOnly: true }, known)).toEqual(byName);
});

test('undrain without names takes every mark back', () => {
  const drained = withDrain(
    withDrain({ slots: {} }, { slots: ['0'], reason: '' }, known, 0),
    { slots: [], reason: '' },
    known,
    0,
  );
  expect(withoutDrain(drained, all, known)).toEqual({ slots: {} });
});

test('a slot of a drained host cannot take jobs alone', () => {
  const host = withDrain({ slots: {} }, { slots: [], reason: '' }, known, 0);
  expect(() => withoutDrain(host, { slots: ['0'], hostOnly: false }, known)).toThrow(
    'the whole host is drained',
  );
});

test('an unknown slot is named', () => {
  expect(() => withDrain({ slots: {} }, { slots: ['7'], reason: '' }, known, 0)).toThrow(
    'there is no slot 7',
  );
});
