import { expect, test } from 'vitest';
import { SlotBook } from '../../../../src/manager/slots/memory.ts';
import { StillClock } from '../../../support/clock.ts';

// Seen on a busy machine: the engine's list, asked for before a container was started, was answered after its agent had
// taken a job; the container looked as if it had never been started and was thrown away with the job.
test('what was seen of a slot is old as soon as an operation on it has ended', () => {
  const book = new SlotBook(new StillClock());
  book.of('0').operations += 1;
  const hasChanged = book.mark();
  expect(hasChanged('0')).toBe(false);
  book.of('0').operations += 1;
  book.of('new').operations += 1;
  expect(['0', '1', 'new'].map(hasChanged)).toEqual([true, false, true]);
});
