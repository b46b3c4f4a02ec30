// A finding whose cause is another one that is found is not shown.
import { describe, expect, test } from 'vitest';

import { codeTables, findingEntry, findings } from '../../../../src/shared/base/codes/tables.ts';
import { foreignCode } from '../../../../src/shared/base/codes/code.ts';
import type { Finding } from '../../../../src/shared/health/verdict.ts';
import { divide } from '../../../../src/shared/health/findings.ts';

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
    finding?.title === undefined
      ? []
      : [{ code, dependsOn: finding.dependsOn ?? [], lastsForS: finding.lastsForS }],
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
    const isXid = (code: string) => /^xid\.[1-9]\d{0,2}$/.test(code);
    expect(pairs.filter(([, cause]) => !codes.has(cause) && !isXid(cause))).toEqual([]);
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

describe('a GPU that is not listed and an XID', () => {
  const [one, other] = ['0000:83:00.0', '0000:84:00.0'];
  test.each<[string, Finding, readonly string[]]>([
    ['that it fell off the bus: that is the cause', found('xid.79', { gpu: one }), ['xid.79']],
    ['of another GPU that fell off the bus', found('xid.79', { gpu: other }), ['gpu.missing', 'xid.79']],
    ['of another number', found('xid.48', { gpu: one }), ['gpu.missing', 'xid.48']],
    ['that is less severe', found('xid.79', { gpu: one, severity: 'warn' }), ['gpu.missing', 'xid.79']],
  ])('%s', (_, xid, codes) => {
    const missing = found('gpu.missing', { gpu: one });
    expect(shown(missing, xid)).toEqual(codes);
    expect(shown(xid, missing).toSorted()).toEqual([...codes].toSorted());
  });
});

describe('a finding that often ends by itself', () => {
  const now = Date.parse('2026-11-20T10:00:00Z');
  const hot = (seconds: number) => found('gpu.hot', { since: new Date(now - seconds * 1000).toISOString() });

  test.each<[string, Finding, boolean]>([
    ['it has just begun', hot(0), false],
    ['it has not lasted long enough', hot(59), false],
    ['it has', hot(60), true],
    ['its host does not report since when', found('gpu.hot'), true],
    ['it begins later, as after a change of the clock', hot(-5), true],
    ['its time is no time', found('gpu.hot', { since: 'noon' }), true],
    ['it is another one, which is shown at once', { ...hot(0), code: 'gpu.persistence' }, true],
  ])('%s', (_, finding, isShown) => {
    expect(divide([finding], now).shown).toEqual(isShown ? [finding] : []);
    expect(divide([finding], now).hidden).toEqual(isShown ? [] : [finding]);
  });

  test('is shown where the age does not matter', () => {
    expect(divide([hot(0)]).shown).toEqual([hot(0)]);
  });

  test('hides what follows from it as well, and not what was there before', () => {
    const young = found('engine.unreachable', { since: new Date(now - 5000).toISOString() });
    const failed = (seconds?: number) =>
      found(
        'image.failed',
        seconds === undefined ? {} : { since: new Date(now - seconds * 1000).toISOString() },
      );
    expect(divide([young, failed()], now).shown).toEqual([]);
    expect(divide([young, failed(2)], now).shown).toEqual([]);
    expect(divide([young, failed(600)], now).shown).toEqual([failed(600)]);
  });

  test.each(declared.filter(({ lastsForS }) => lastsForS !== undefined))(
    '$code lasts for minutes at most',
    ({ lastsForS }) => {
      expect(lastsForS).toBeGreaterThan(0);
      expect(lastsForS).toBeLessThanOrEqual(300);
    },
  );
});
