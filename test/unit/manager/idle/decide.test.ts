import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  decideIdle,
  powerOffMs,
  failedPowerOffMs,
  type IdleView,
  drainMs,
  type Phase,
  shortLoginMs,
} from '../../../../src/manager/idle/watch.ts';
import type { Use } from '../../../../src/manager/idle/uses.ts';

const minute = 60_000;
const afterMs = 30 * minute;
const use = (kind: Use['kind'], key = 'a'): Use => ({ key, kind, what: `${kind} ${key}`, next: 'end it' });
const view = (changes: Partial<IdleView> = {}): IdleView => ({
  now: 100 * minute,
  afterMs,
  usedAt: 0,
  phase: 'on',
  phaseAt: 0,
  failed: false,
  uses: [],
  closed: false,
  scaled: (ms) => ms,
  ...changes,
});
const seen = (kind: Use['kind'], ago: number) => [{ ...use(kind), seenAt: 100 * minute - ago }];
const leaving = { phase: 'leaving', phaseAt: 99 * minute } as const;
const ending = { phase: 'ending', phaseAt: 99 * minute } as const;

test.each<[string, Partial<IdleView>, string]>([
  ['just started', { usedAt: 100 * minute }, 'wait'],
  ['idle, not for long enough', { usedAt: 100 * minute - afterMs + 1 }, 'wait'],
  ['idle for long enough', { usedAt: 100 * minute - afterMs }, 'leave'],
  ['in use', { uses: seen('use', 0) }, 'used'],
  ['in use, and not for long', { uses: seen('use', 0), usedAt: 100 * minute }, 'used'],
  ['somebody looks, it is not time yet', { uses: seen('visit', 0), usedAt: 100 * minute }, 'wait'],
  ['somebody looks when it is time', { uses: seen('visit', 0) }, 'visited'],
  ['somebody has been logged in for long', { uses: seen('visit', shortLoginMs) }, 'used'],
  ['agents on their way out', leaving, 'leave'],
  ['agents gone', { ...leaving, closed: true }, 'end'],
  ['agents gone, a job came', { ...leaving, closed: true, uses: seen('use', 0) }, 'used'],
  ['agents gone, somebody logged in', { ...leaving, closed: true, uses: seen('visit', 0) }, 'visited'],
  ['agents gone, nobody asked them to', { closed: true }, 'leave'],
  ['agents that do not go', { phase: 'leaving', phaseAt: 100 * minute - drainMs }, 'give-up'],
  ['told to end', ending, 'wait'],
  ['told to end, somebody logged in', { ...ending, uses: seen('visit', shortLoginMs) }, 'wait'],
  [
    'told to end, which failed',
    { ...ending, phaseAt: 100 * minute - failedPowerOffMs + 1, failed: true },
    'wait',
  ],
  [
    'told to end, which failed a minute ago',
    { ...ending, phaseAt: 100 * minute - failedPowerOffMs, failed: true },
    'give-up',
  ],
  ['told to end, and still here', { phase: 'ending', phaseAt: 100 * minute - powerOffMs }, 'give-up'],
])('%s: %s → %s', (_, changes, kind) => {
  expect(decideIdle(view(changes)).kind).toBe(kind);
});

describe('whatever happens', () => {
  const looks = fc.array(
    fc.record({
      pauseMs: fc.integer({ min: 1, max: 20 * minute }),
      uses: fc.subarray([use('use', 'job'), use('visit', 'ann'), use('visit', 'bob')]),
      closed: fc.boolean(),
    }),
    { maxLength: 60 },
  );

  test('it powers off only after the idle time, without users, and after its agents stopped', () => {
    fc.assert(
      fc.property(looks, fc.integer({ min: 1, max: 20 }), (sequence, speed) => {
        const wanted = afterMs / speed;
        const scaled = (ms: number): number => ms / speed;
        let [now, usedAt, phaseAt]: [number, number, number] = [0, 0, 0];
        let phase: Phase = 'on';
        let firstSeen = new Map<string, number>();
        let lastUse = 0;
        for (const look of sequence) {
          now += look.pauseMs / speed;
          firstSeen = new Map(look.uses.map(({ key }) => [key, firstSeen.get(key) ?? now]));
          const uses = look.uses.map((each) => ({ ...each, seenAt: firstSeen.get(each.key) ?? now }));
          const closed = phase === 'leaving' && look.closed;
          const step = decideIdle({
            now,
            afterMs: wanted,
            usedAt,
            phase,
            phaseAt,
            failed: false,
            uses,
            closed,
            scaled,
          });
          const isUsed = uses.some(
            ({ kind, seenAt }) => kind === 'use' || now - seenAt >= scaled(shortLoginMs),
          );
          if (step.kind === 'end') {
            expect(look.uses).toEqual([]);
            expect(now - lastUse).toBeGreaterThanOrEqual(wanted);
            expect(closed).toBe(true);
          }
          if (step.kind === 'leave') expect(look.uses).toEqual([]);
          // What it was told cannot be taken back.
          if (phase === 'ending') expect(['wait', 'give-up']).toContain(step.kind);
          else if (isUsed) expect(step.kind).toBe('used');
          const next: Phase = {
            used: 'on',
            visited: 'on',
            wait: phase,
            leave: 'leaving',
            end: 'ending',
            'give-up': 'on',
          }[step.kind] as Phase;
          if (next !== phase) [phase, phaseAt] = [next, now];
          if (step.kind === 'used' || step.kind === 'give-up') usedAt = now;
          if (isUsed) lastUse = now;
        }
      }),
      { numRuns: 2000 },
    );
  });

  test('an idle machine powers off', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1000, max: minute }), (everyMs) => {
        let [phase, phaseAt, now]: [Phase, number, number] = ['on', 0, 0];
        const steps = new Set<string>();
        while (now < 2 * afterMs && !steps.has('end')) {
          now += everyMs;
          const step = decideIdle(view({ now, usedAt: 0, phase, phaseAt, closed: phase === 'leaving' }));
          steps.add(step.kind);
          if (step.kind === 'leave' && phase === 'on') [phase, phaseAt] = ['leaving', now];
        }
        expect([...steps]).toEqual(['wait', 'leave', 'end']);
      }),
    );
  });
});
