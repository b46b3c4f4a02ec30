// A ladder is checked from the outside in: it stops at what failed or is unknown, and nothing unknown counts as ok.
import { describe, expect, test } from 'vitest';

import {
  broken,
  type Check,
  climb,
  ok,
  overall,
  type Rung,
  skipped,
  unknown,
} from '../../../../src/fleet/doctor/ladder.ts';
import type { Finding } from '../../../../src/shared/health/verdict.ts';

type Seen = Partial<Record<'a' | 'b' | 'c' | 'd', Check>>;
const rung = (id: keyof Seen, ...dependsOn: (keyof Seen)[]): Rung<keyof Seen, Seen> => ({
  id,
  title: id.toUpperCase(),
  dependsOn,
  check: (seen) => seen[id] ?? ok(),
});
/** Two chains from a: b and c, and d. */
const rungs = [rung('a'), rung('b', 'a'), rung('c', 'b'), rung('d', 'a')];
const failed = broken({ code: 'ssh.dns', what: 'it failed', next: 'repair it' });
const warning: Finding = { code: 'agents.offline', severity: 'warn', what: 'one is away', next: 'wait' };
const states = (seen: Seen) => climb(rungs, seen).map(({ state }) => state);

test.each<[string, Seen, readonly string[]]>([
  ['all is well', {}, ['ok', 'ok', 'ok', 'ok']],
  ['the first rung stops all chains', { a: failed }, ['broken', 'blocked', 'blocked', 'blocked']],
  ['a rung stops its own chain', { b: failed }, ['ok', 'broken', 'blocked', 'ok']],
  ['what is unknown stops it, too', { b: unknown('no answer') }, ['ok', 'unknown', 'blocked', 'ok']],
  ['what has nothing to check does not', { b: skipped('no GPU') }, ['ok', 'skipped', 'ok', 'ok']],
  ['two chains may fail', { c: failed, d: failed }, ['ok', 'ok', 'broken', 'broken']],
  ['a warning stops nothing', { a: { ...ok(), findings: [warning] } }, ['ok', 'ok', 'ok', 'ok']],
])('%s', (_, seen, expected) => {
  expect(states(seen)).toEqual(expected);
});

test('what is not checked names the rung that failed, not the one between', () => {
  const [, b, c] = climb(rungs, { a: failed });
  expect([b, c]).toMatchObject([
    { because: 'a', why: 'not checked, because A failed' },
    { because: 'a', why: 'not checked, because A failed' },
  ]);
  expect(climb(rungs, { b: unknown('no answer') })[2]).toMatchObject({
    why: 'not checked, because B is unknown',
  });
});

test('rungs may depend on those of another ladder', () => {
  const below = climb(rungs, { d: failed });
  const [above] = climb([rung('b', 'd')], {}, below);
  expect(above).toMatchObject({ state: 'blocked', because: 'd' });
});

describe('the whole ladder', () => {
  test.each<[string, Seen, string]>([
    ['is ok', {}, 'ok'],
    ['is ok where there is nothing to check', { c: skipped('none') }, 'ok'],
    ['is ok with a warning', { a: { ...ok(), findings: [warning] } }, 'ok'],
    ['is unknown, not ok, where one rung is', { c: unknown('no answer') }, 'unknown'],
    ['failed, whatever else is unknown', { c: unknown('no answer'), d: failed }, 'broken'],
    [
      'failed with a finding that fails',
      { a: { ...ok(), findings: [{ ...warning, severity: 'fail' }] } },
      'broken',
    ],
  ])('%s', (_, seen, expected) => {
    expect(overall(climb(rungs, seen))).toBe(expected);
  });
});
