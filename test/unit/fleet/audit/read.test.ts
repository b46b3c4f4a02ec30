import { describe, expect, test } from 'vitest';

import { auditEntry } from '../../../../src/fleet/audit/entry.ts';
import { type AuditLine, auditRecords, readAuditLines } from '../../../../src/fleet/audit/read.ts';

const entry = {
  host: 'h1',
  run: 'run-1',
  who: 'ann@laptop',
  command: 'azp-fleet provision',
  plan: '0123',
  changes: ['driver-install-1'],
};
const line = (given: Partial<AuditLine> = {}): AuditLine => ({
  at: '2026-11-28T14:00:00Z',
  event: 'begin',
  ...entry,
  ...given,
});
const seen = { login: 'lab', from: '192.0.2.7', key: 'SHA256:abc' };
const ended = line({ event: 'end', at: '2026-11-28T14:05:00Z', outcome: 'changed 1' });

test('an entry names the changes by their ids, and digests all that is announced', () => {
  const stages = [
    [{ kind: 'change' as const, id: 'driver-install-1' }, { kind: 'shape' as const }],
    [{ kind: 'change' as const, id: 'manager-start-2' }],
  ];
  const made = auditEntry(stages, { ...entry, command: 'x'.repeat(1000) });
  expect(made).toMatchObject({ host: 'h1', changes: ['driver-install-1', 'manager-start-2'] });
  expect(made.command).toHaveLength(300);
  expect(made.plan).toMatch(/^[0-9a-f]{16}$/);
  expect(auditEntry(stages.slice(0, 1), entry).plan).not.toBe(made.plan);
  const many = [Array.from({ length: 99 }, (_, at) => ({ kind: 'change' as const, id: `c-${at}` }))];
  expect(auditEntry(many, entry).changes.slice(-2)).toEqual(['c-29', '69 more']);
});

describe('the runs of a host', () => {
  test.each<[string, readonly AuditLine[], readonly AuditLine[] | undefined, object[]]>([
    ['in no file', [], [], []],
    [
      "in both: the host's clock, login and address count",
      [line({ at: '2026-11-28T13:59:58Z' }), ended],
      [line(seen), { ...ended, ...seen }],
      [{ at: '2026-11-28T14:00:00Z', in: 'both', outcome: 'changed 1', ...seen }],
    ],
    ['only on the host', [], [line(seen), ended], [{ in: 'host', outcome: 'changed 1' }]],
    ['only here, with an empty file of the host', [line(), ended], [], [{ in: 'lost' }]],
    [
      'only here, younger than the file of the host',
      [line(), ended],
      [line({ run: 'other', at: '2026-11-01T00:00:00Z' })],
      [
        { run: 'other', in: 'host' },
        { run: 'run-1', in: 'lost' },
      ],
    ],
    [
      'only here, older than the file of the host, which has been replaced since',
      [line(), ended],
      [line({ run: 'other', at: '2026-11-29T00:00:00Z' })],
      [{ run: 'other', in: 'host' }],
    ],
    ['of a host that was not read', [line(), ended], undefined, [{ in: 'here', outcome: 'changed 1' }]],
    [
      'whose connection was cut: the outcome that this machine knows',
      [line(), { ...ended, outcome: 'failed 0 ssh.connection-lost' }],
      [line(), line({ event: 'cut' })],
      [{ in: 'both', outcome: 'failed 0 ssh.connection-lost' }],
    ],
  ])('%s', (_, own, theirs, expected) => {
    const records = auditRecords('h1', own, theirs);
    expect(records).toMatchObject(expected);
    expect(records).toHaveLength(expected.length);
  });

  test('a run without an end has no outcome', () => {
    expect(auditRecords('h1', [], [line()])[0]).not.toHaveProperty('outcome');
  });

  test("a host's line cannot speak for another host", () => {
    expect(auditRecords('h1', [], [line({ host: 'h2' })])).toMatchObject([{ host: 'h1' }]);
  });
});

test.each<[string, string, number, number]>([
  ['a line', JSON.stringify(line()), 1, 0],
  ['a cut line', JSON.stringify(line()).slice(0, -9), 0, 1],
  ['a line with another event', JSON.stringify({ ...line(), event: 'x' }), 0, 1],
  ['a line without a time', JSON.stringify({ ...line(), at: 'today' }), 0, 1],
  ['a line with too many changes', JSON.stringify({ ...line(), changes: Array(99).fill('a') }), 0, 1],
  ['a deep line', `${'['.repeat(9999)}${']'.repeat(9999)}`, 0, 1],
  ['lines without number', `${JSON.stringify(line())}\n`.repeat(30_000), 20_000, 0],
])('%s', (_, text, read, invalid) => {
  const found = readAuditLines(text);
  expect([found.lines.length, found.invalid]).toEqual([read, invalid]);
});

test('texts of a host are cleaned and cut', () => {
  const evil = JSON.stringify(line({ who: `e\u001B[2Jv\u202Eil${'x'.repeat(9999)}`, command: 'a\nb' }));
  const [read] = readAuditLines(evil).lines;
  expect(read?.who.length).toBeLessThanOrEqual(301);
  expect(`${read?.who}${read?.command}`).not.toMatch(/[\u001B\u202E\n]/);
});
