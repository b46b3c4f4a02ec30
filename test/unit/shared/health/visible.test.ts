// A finding whose cause is another one that is found is not shown.
import { describe, expect, test } from 'vitest';

import { codeTables, findingEntry, findings } from '../../../../src/shared/base/codes/tables.ts';
import { foreignCode } from '../../../../src/shared/base/codes/code.ts';
import type { Finding } from '../../../../src/shared/health/verdict.ts';
import { divide } from '../../../../src/shared/health/visible.ts';

const found = (code: string, more: Partial<Finding> = {}): Finding => ({
  code: foreignCode(code),
  severity: findingEntry(code)?.severity ?? 'fail',
  what: code,
  next: 'fix it',
  ...more,
});
const shown = (...all: readonly Finding[]) => divide(all).shown.map(({ code }) => code);

const declared = [findings, ...codeTables].flatMap(({ entries }) =>
  Object.entries(entries).flatMap(([code, [, , finding]]) =>
    finding === undefined ? [] : [{ code, dependsOn: finding.dependsOn ?? [] }],
  ),
);
const pairs = declared.flatMap(({ code, dependsOn }) => dependsOn.map((cause) => [code, cause] as const));

describe('each declared dependency', () => {
  test.each(pairs)('%s is hidden behind %s, and shown beside another finding', (code, cause) => {
    const caused = found(code);
    expect(divide([caused, found(cause, { severity: 'fail' })])).toEqual({
      shown: [found(cause, { severity: 'fail' })],
      hidden: [{ ...caused, behind: cause }],
    });
    expect(shown(caused, found('gpu.count'))).toEqual([code, 'gpu.count']);
  });

  test('names findings that exist', () => {
    const codes = new Set(declared.map(({ code }) => code));
    expect(pairs.filter(([, cause]) => !codes.has(cause))).toEqual([]);
  });

  test('is no part of a circle, which would hide all', () => {
    const hides = (code: string, seen: readonly string[]): boolean =>
      seen.includes(code) ||
      (findingEntry(code)?.dependsOn ?? []).some((next) => hides(next, [...seen, code]));
    expect(declared.filter(({ code }) => hides(code, []))).toEqual([]);
  });
});

describe('a finding stays', () => {
  test.each<[string, Finding, Finding]>([
    [
      'beside a lesser one',
      found('driver.no-uvm', { severity: 'fail' }),
      found('driver.not-loaded', { severity: 'warn' }),
    ],
    [
      'beside one about another GPU',
      found('gpu.missing', { gpu: 'a' }),
      found('gpu.init-failed', { gpu: 'b' }),
    ],
    ['if another version reports it', found('gpu.of-a-later-version'), found('driver.not-loaded')],
    ['if it is an XID', found('xid.79'), found('driver.not-loaded')],
  ])('%s', (_, one, other) => {
    expect(shown(one, other)).toEqual([one.code, other.code]);
  });
});

test('a finding about one GPU is hidden behind one about that GPU, or about the host', () => {
  const missing = found('gpu.missing', { gpu: 'a' });
  expect(shown(missing, found('gpu.init-failed', { gpu: 'a' }))).toEqual(['gpu.init-failed']);
  expect(shown(missing, found('driver.not-loaded'))).toEqual(['driver.not-loaded']);
});
