import { expect, test } from 'vitest';
import { spansOf } from '../../../../src/manager/runs/spans.ts';

const life = { startedAt: '2026-11-21T02:00:00.5Z', finishedAt: '2026-11-21T02:01:00.5Z' };

test.each([
  [
    'a job of ten seconds after 49 s of waiting is no run of 60 s',
    life,
    { beganAt: '2026-11-21T02:00:49Z', endedAt: '2026-11-21T02:00:59Z' },
    { waitedS: 48.5, durationS: 10 },
  ],
  ['no job came', life, {}, { waitedS: 60 }],
  ['a job that was cut off', life, { beganAt: '2026-11-21T02:00:40Z' }, { waitedS: 39.5, durationS: 20.5 }],
  [
    'a stamp is cut to whole seconds: nothing is negative',
    life,
    { beganAt: '2026-11-21T02:00:00Z', endedAt: '2026-11-21T02:00:00Z' },
    { waitedS: 0, durationS: 0 },
  ],
  ['it never started', { startedAt: '0001-01-01T00:00:00Z', finishedAt: '0001-01-01T00:00:00Z' }, {}, {}],
  ['not a time', { startedAt: '', finishedAt: '' }, { beganAt: 'x' }, {}],
])('%s', (_, exit, stamps, spans) => {
  expect(spansOf(exit, stamps)).toEqual(spans);
});
