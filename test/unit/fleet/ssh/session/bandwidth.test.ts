import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { reserve, startOf } from '../../../../../src/fleet/ssh/session/upload.ts';

const rate = 1000;

/** Sends each piece at its time (in milliseconds) and returns how long each waits. */
function waits(pieces: readonly (readonly [at: number, bytes: number])[]): number[] {
  let line = startOf(rate, 0);
  return pieces.map(([at, bytes]) => {
    const turn = reserve(line, bytes, at);
    line = turn.line;
    return turn.waitMs;
  });
}

// 1000 bytes a second, with a burst of a quarter of a second.
describe('a line of 1000 bytes a second', () => {
  test.each([
    ['the first piece is sent at once', [[0, 500]], [0]],
    [
      'the next one waits until the first has passed',
      [
        [0, 500],
        [0, 500],
      ],
      [0, 500],
    ],
    [
      'a later piece waits for the rest only',
      [
        [0, 500],
        [300, 500],
      ],
      [0, 200],
    ],
    [
      'a piece that is late enough does not wait',
      [
        [0, 500],
        [500, 500],
      ],
      [0, 0],
    ],
    [
      'a pause restores a quarter of a second and no more',
      [
        [0, 100],
        [60_000, 250],
        [60_000, 100],
        [60_000, 100],
      ],
      [0, 0, 0, 100],
    ],
    [
      'all pieces share one line',
      [
        [0, 100],
        [0, 100],
        [0, 100],
        [0, 100],
      ],
      [0, 100, 200, 300],
    ],
  ] as const)('%s', (_case, pieces, expected) => {
    expect(waits(pieces)).toEqual(expected);
  });

  test('in any interval at most the rate, the burst and one piece are sent', () => {
    const piece = fc.tuple(fc.nat(400), fc.integer({ min: 1, max: 300 }));
    fc.assert(
      fc.property(fc.array(piece, { minLength: 1, maxLength: 60 }), (steps) => {
        let line = startOf(rate, 0);
        let now = 0;
        const sent = steps.map(([pause, bytes]) => {
          now += pause;
          const turn = reserve(line, bytes, now);
          line = turn.line;
          return { at: now + turn.waitMs, bytes };
        });
        for (const [index, first] of sent.entries()) {
          let bytes = 0;
          for (const one of sent.slice(index)) {
            bytes += one.bytes;
            expect(bytes - one.bytes).toBeLessThanOrEqual(((one.at - first.at) / 1000) * rate + 250 + 1e-6);
          }
        }
      }),
    );
  });
});
