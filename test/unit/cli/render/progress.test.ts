import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import type { FleetEvent, HostState } from '../../../../src/fleet/apply/events.ts';
import { elapsed } from '../../../../src/shared/base/quantities.ts';
import { advance, emptyModel, frame } from '../../../../src/cli/render/progress-frame.ts';
import { eventLine } from '../../../../src/cli/render/progress.ts';

const after = (hosts: readonly string[], ...events: FleetEvent[]) =>
  events.reduce(advance, emptyModel(hosts));

describe('the live display', () => {
  const model = after(
    ['h200-1', 'rtx-box', 'old'],
    { kind: 'host-state', host: 'h200-1', state: 'applying' },
    { kind: 'change-start', host: 'h200-1', id: 'a', title: 'install Docker Engine 29.7.2', since: 1_000 },
    { kind: 'change-output', host: 'h200-1', id: 'a', line: '\u001b[32mUnpacking\u001b[0m docker-ce\r' },
    { kind: 'problem', problem: { code: 'ssh.refused', host: 'old', what: 'nothing listens on port 22' } },
    { kind: 'host-state', host: 'old', state: 'unreachable' },
  );

  test('shows active hosts first, with their change, its clock and its last line of output', () => {
    expect(frame(model, { columns: 60, rows: 20 }, 73_000)).toEqual([
      '⠋ h200-1   install Docker Engine 29.7.2          1 min 12 s',
      '           Unpacking docker-ce',
      '✗ old      nothing listens on port 22',
      '· rtx-box  waiting',
      '0 of 3 done · 1 failed · 1 waiting',
    ]);
  });

  test('shows what it waits for, for how long, and the limit', () => {
    const waiting = after(['h200-1'], {
      kind: 'host-state',
      host: 'h200-1',
      state: 'draining',
      text: 'waiting for job resnet50-nightly-4',
      wait: { since: 1_000, limitMs: 14_400_000 },
    });
    expect(frame(waiting, { columns: 80, rows: 20 }, 7_801_000)).toEqual([
      '⠋ h200-1  waiting for job resnet50-nightly-4            2 h 10 min, at most 4 h',
      '0 of 1 done',
    ]);
    expect(frame(waiting, { columns: 60, rows: 20 }, 7_801_000)[0]).toMatch(/ {2}2 h 10 min$/);
  });

  test('shows the limit of the present part of a change', () => {
    const sending = after(
      ['h200-1'],
      { kind: 'host-state', host: 'h200-1', state: 'applying' },
      { kind: 'change-start', host: 'h200-1', id: 'a', title: 'install the manager', since: 0 },
      { kind: 'change-limit', host: 'h200-1', id: 'a', since: 1_000, limitMs: 150_000 },
      { kind: 'change-output', host: 'h200-1', id: 'a', line: 'sending node: 30 %' },
    );
    expect(frame(sending, { columns: 80, rows: 20 }, 41_000)).toEqual([
      '⠋ h200-1  install the manager                          40 s, at most 2 min 30 s',
      '          sending node: 30 %',
      '0 of 1 done',
    ]);
  });

  test('is never taller or wider than the terminal, for any events', () => {
    const states: HostState[] = ['waiting', 'connecting', 'applying', 'ok', 'failed'];
    const event = (hosts: number): fc.Arbitrary<FleetEvent> =>
      fc.oneof(
        fc.record({
          kind: fc.constant('host-state' as const),
          host: fc.nat(hosts).map((n) => `host-${n}`),
          state: fc.constantFrom(...states),
          text: fc.string(),
        }),
        fc.record({
          kind: fc.constant('change-output' as const),
          host: fc.nat(hosts).map((n) => `host-${n}`),
          id: fc.string(),
          line: fc.string({ unit: 'binary' }),
        }),
      );
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 60 }),
        fc.array(event(60), { maxLength: 80 }),
        fc.integer({ min: 40, max: 200 }),
        fc.integer({ min: 3, max: 60 }),
        (count, events, columns, rows) => {
          const hosts = Array.from({ length: count }, (_, n) => `host-${n}`);
          const lines = frame(after(hosts, ...events), { columns, rows }, 5_000);
          expect(lines.length).toBeLessThanOrEqual(rows);
          for (const line of lines) {
            expect(line.length).toBeLessThanOrEqual(columns);
            expect(line).not.toMatch(/\p{Cc}/u);
          }
        },
      ),
      { numRuns: 60 },
    );
  });
});

describe('the line display', () => {
  test.each<[FleetEvent, string | undefined]>([
    [{ kind: 'host-state', host: 'a', state: 'ok', text: 'no changes' }, 'a: ok: no changes'],
    [{ kind: 'host-state', host: 'a', state: 'connecting' }, undefined],
    [{ kind: 'host-state', host: 'a', state: 'proving' }, undefined],
    [
      { kind: 'host-state', host: 'a', state: 'proving', text: 'waiting for a-0: is still starting' },
      'a: waiting for a-0: is still starting',
    ],
    [{ kind: 'change-start', host: 'a', id: '1', title: 'install Docker', since: 0 }, 'a: install Docker …'],
    [
      {
        kind: 'change-end',
        host: 'a',
        id: '1',
        title: 'install Docker',
        ok: true,
        durationMs: 9_300,
        resumed: true,
      },
      'a: install Docker: done in 9.3 s (started by an earlier run)',
    ],
    [{ kind: 'note', text: 'new host key' }, 'new host key'],
    [
      { kind: 'host-state', host: 'a', state: 'asking', text: 'simulating the package changes' },
      'a: simulating the package changes',
    ],
  ])('%j', (event, line) => {
    expect(eventLine(event, 80)).toBe(line);
  });

  test.each([
    [0, '0 s'],
    [61_000, '1 min 1 s'],
    [120_000, '2 min'],
    [7_800_000, '2 h 10 min'],
    [14_400_000, '4 h'],
  ])('%d ms is shown as %s', (milliseconds, text) => {
    expect(elapsed(milliseconds)).toBe(text);
  });
});
