import { expect, test } from 'vitest';
import { givenUpAt, stillAssigned } from '../../../../src/shared/azure/job-requests.ts';

const clock = { scaled: (ms: number) => ms };

test.each([
  ['five minutes after its lock', '2026-11-21T02:10:00.1234567Z', '2026-11-21T02:15:00Z'],
  ['not known without a lock', undefined, undefined],
  ['null', null as never, undefined],
])('the server gives a job up: %s', (_, lockedUntil, until) => {
  expect(givenUpAt(lockedUntil === undefined ? {} : { lockedUntil }, clock)).toBe(until);
});

test('the job of an ended agent is reported with the time at which the server gives it up', () => {
  expect(stillAssigned('box-0', { requestId: 7 }, '2026-11-21T02:15:00Z').what).toBe(
    'the server still counts job 7 as running on agent box-0; it gives it up at 2026-11-21T02:15:00Z',
  );
  expect(stillAssigned('box-0', { requestId: 7, jobName: 'train' }, undefined).what).toMatch(
    /job train .* within about 15 minutes$/,
  );
  expect(stillAssigned('box-0', undefined, undefined).what).toMatch(
    /still counts a job as running on agent box-0/,
  );
});

test('the next action says that canceling a job without its agent does nothing', () => {
  const { next } = stillAssigned('box-0', { requestId: 7 }, '2026-11-21T02:15:00Z');
  expect(next).toMatch(/^wait until then: canceling the job ends it no sooner, because its agent has ended/);
});
