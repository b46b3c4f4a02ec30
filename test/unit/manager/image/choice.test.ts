import { expect, test } from 'vitest';
import { imagesOf } from '../../../../src/shared/contract/config.ts';
import type { SlotSpec } from '../../../../src/shared/contract/slots.ts';
import { isUnproven, provenImages, recordOf, withRecord } from '../../../../src/manager/image/choice.ts';
import { resolveSlots } from '../../../../src/manager/slots/resolve.ts';
import { config } from '../../../support/manager-config.ts';

const spec = (own: Partial<SlotSpec> = {}): SlotSpec => ({
  gpus: [],
  share: false,
  limits: {},
  capabilities: [],
  mode: 'container',
  ...own,
});
const withSlots = (...own: readonly Partial<SlotSpec>[]) =>
  config({ agents: { kind: 'slots', slots: own.map(spec) } });

test.each([
  ['agents without a list of slots', config(), ['registry.example/agent:1']],
  ['slots without an own image', withSlots({}, {}), ['registry.example/agent:1']],
  [
    'some slots with an own image',
    withSlots({ image: 'a' }, {}, { image: 'a' }),
    ['registry.example/agent:1', 'a'],
  ],
  [
    "a slot that names the host's image",
    withSlots({ image: 'registry.example/agent:1' }, {}),
    ['registry.example/agent:1'],
  ],
  ['all slots with an own image', withSlots({ image: 'b' }, { image: 'a' }), ['b', 'a']],
  [
    'mode: host, whose image only the probe needs',
    withSlots({ mode: 'host', image: 'a' }),
    ['registry.example/agent:1'],
  ],
])('images of %s', (_, host, references) => {
  expect(imagesOf(host)).toEqual(references.map((reference) => ({ kind: 'registry', reference })));
});

const host = withSlots({}, { image: 'a' }, { image: 'a' }, { image: 'b' });
const slots = resolveSlots(host, []);
const all = { slots, hostImage: host.image };
const [shared, a1, a2, b] = slots;
const records = { image: { proven: 'i0' }, slotImages: { '1': { proven: 'i1' }, '9': { proven: 'i9' } } };

test('an image that one slot has proved counts for all slots of its source only', () => {
  if (shared === undefined || a1 === undefined || a2 === undefined || b === undefined)
    throw new Error('no slots');
  expect(slots.map((slot) => recordOf(records, slot, host.image))).toEqual([
    { proven: 'i0' },
    { proven: 'i1' },
    {},
    {},
  ]);
  expect([isUnproven(records, shared, all, 'i0'), isUnproven(records, a1, all, 'i1')]).toEqual([false, true]);
  const after = { ...records, ...withRecord(records, a1, all, { proven: 'i2' }) };
  expect(after.slotImages).toEqual({ '1': { proven: 'i2' }, '2': { proven: 'i2' }, '3': {} });
  expect(isUnproven(after, a2, all, 'i2')).toBe(false);
  expect(withRecord(records, shared, all, { proven: 'i3' })).toEqual({ image: { proven: 'i3' } });
  expect(provenImages(after, all)).toEqual(['i0', 'i0', 'i2', 'i2']);
});
