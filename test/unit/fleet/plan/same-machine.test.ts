import { describe, expect, test } from 'vitest';

import { sameMachines } from '../../../../src/fleet/plan/same-machine.ts';

const seen = (name: string, machineId: string, bootId = name) => ({
  host: { name },
  facts: { machineId, bootId },
});
const problems = (...hosts: ReturnType<typeof seen>[]) =>
  [...sameMachines(hosts)].map(([name, { what }]) => `${name}: ${what}`);

describe('names of one machine', () => {
  test('separate hosts have no problem', () => {
    expect(problems(seen('a', '1'), seen('b', '2'))).toEqual([]);
  });

  test('hosts without a machine-id have no problem', () => {
    expect(problems(seen('a', ''), seen('b', ''))).toEqual([]);
  });

  test('each name of one machine reports the other', () => {
    expect(problems(seen('a', '1', 'boot'), seen('b', '2'), seen('c', '1', 'boot'))).toEqual([
      'a: it is the same machine as c',
      'c: it is the same machine as a',
    ]);
  });

  test('copies of one disk are reported with the command that makes them two', () => {
    const found = sameMachines([seen('a', '1'), seen('b', '1')]);
    expect([...found].map(([name, { what }]) => `${name}: ${what}`)).toEqual([
      'a: it has the same machine-id as b, like a copy of its disk',
      'b: it has the same machine-id as a, like a copy of its disk',
    ]);
    expect(found.get('a')?.next).toContain('systemd-machine-id-setup');
  });

  test('the same machine is reported before a copy of it', () => {
    expect(problems(seen('a', '1', 'x'), seen('b', '1', 'x'), seen('c', '1', 'y'))).toEqual([
      'a: it is the same machine as b',
      'b: it is the same machine as a',
      'c: it has the same machine-id as a, b, like a copy of its disk',
    ]);
  });
});
