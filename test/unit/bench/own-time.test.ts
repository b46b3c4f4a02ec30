import { expect, test } from 'vitest';

import { type Recorded, refills } from '../../../bench/manager/own-time.ts';

const begin = (t: number, n: number, what: string): Recorded => ({ t, kind: 'begin', n, what });
const end = (t: number, n: number): Recorded => ({ t, kind: 'end', n });

test('own time is what no call covers; calls that overlap count once, streams not at all', () => {
  const lines: readonly Recorded[] = [
    begin(0, 1, 'GET /containers/aa/logs?follow=true&stdout=true'),
    { t: 100, kind: 'die', id: 'aa' },
    begin(110, 2, 'GET /containers/aa/json'),
    begin(115, 3, 'GET /containers/aa/logs?stdout=true'),
    end(120, 2),
    end(130, 3),
    begin(150, 4, 'POST /containers/create?name=a-0'),
    end(180, 4),
    begin(185, 5, 'POST /containers/bb/start'),
    end(500, 5),
  ];
  expect(refills(lines)).toEqual([{ wholeMs: 85, ownMs: 35 }]);
});

test('while Docker takes the dead container down, its output being followed to the end, the time is Docker’s', () => {
  const lines: readonly Recorded[] = [
    begin(0, 1, 'GET /containers/bb/logs?follow=true&stdout=true'),
    { t: 100, kind: 'die', id: 'aa' },
    begin(110, 2, 'GET /containers/aa/logs?stdout=true&follow=true'),
    end(190, 2),
    begin(200, 3, 'POST /containers/cc/start'),
  ];
  expect(refills(lines)).toEqual([{ wholeMs: 100, ownMs: 20 }]);
});

test('a container that is not followed by another is no refill', () => {
  expect(refills([{ t: 1, kind: 'die', id: 'aa' }])).toEqual([]);
});
