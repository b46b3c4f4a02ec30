import { describe, expect, test } from 'vitest';

import type { Problem } from '../../../../src/shared/base/errors.ts';
import { type Remark, Repeats, restLines } from '../../../../src/cli/render/progress.ts';

const note = (host: string | undefined, text: string): Remark =>
  host === undefined ? { kind: 'note', text } : { kind: 'note', host, text };
const problem = (host: string): Remark => {
  const value: Problem = {
    code: 'bug',
    host,
    what: `${host} has no free space`,
    next: `azp-fleet ssh ${host}`,
  };
  return { kind: 'problem', problem: value };
};

describe('equal remarks of several hosts', () => {
  test('are printed at once for the first host, and together for the others', () => {
    const repeats = new Repeats();
    const hosts = Array.from({ length: 300 }, (_, index) => `gpu-${String(index).padStart(3, '0')}`);
    const printed = hosts.filter((host) => repeats.isNew(problem(host)));
    expect(printed).toEqual(['gpu-000']);
    expect(repeats.rest()).toEqual([
      {
        remark: {
          kind: 'problem',
          problem: {
            code: 'bug',
            host: 'gpu-[001-299]',
            what: '{host} has no free space',
            next: 'azp-fleet ssh {host}',
          },
        },
      },
    ]);
    expect(repeats.rest()).toEqual([]);
  });

  test('of one other host are unchanged', () => {
    const repeats = new Repeats();
    for (const host of ['gpu-1', 'gpu-2']) repeats.isNew(note(host, `a new key of ${host}`));
    expect(restLines(repeats, 80)).toEqual(['gpu-2: a new key of gpu-2']);
  });

  test('of hosts whose names do not fold names them below', () => {
    const repeats = new Repeats();
    for (let index = 0; index < 40; index += 1) repeats.isNew(note(`n${index ** 2}`, 'a new key'));
    const lines = restLines(repeats, 80);
    expect(lines[0]).toBe('39 hosts: a new key');
    expect(lines[1]).toMatch(/^ {2}n\[1,4,9,/);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80);
  });
});

test('one host may repeat a remark, and remarks without a host are always printed', () => {
  const repeats = new Repeats();
  const remarks = [note('a', 'x'), note('a', 'x'), note(undefined, 'x'), note(undefined, 'x')];
  expect(remarks.filter((remark) => !repeats.isNew(remark))).toEqual([]);
  expect(repeats.rest()).toEqual([]);
});
