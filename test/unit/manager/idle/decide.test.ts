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
const draining = { phase: 'draining', phaseAt: 99 * minute } as const;
const poweringOff = { phase: 'powering-off', phaseAt: 99 * minute } as const;

test.each<[string, Partial<IdleView>, string]>([
  ['just started', { usedAt: 100 * minute }, 'wait'],
  ['idle, but not long enough', { usedAt: 100 * minute - afterMs + 1 }, 'wait'],
  ['idle long enough', { usedAt: 100 * minute - afterMs }, 'drain'],
  ['in use', { uses: seen('use', 0) }, 'used'],
  ['in use for a short time', { uses: seen('use', 0), usedAt: 100 * minute }, 'used'],
  ['a short login before the idle time has passed', { uses: seen('visit', 0), usedAt: 100 * minute }, 'wait'],
  ['a short login after the idle time', { uses: seen('visit', 0) }, 'visited'],
  ['a long login', { uses: seen('visit', shortLoginMs) }, 'used'],
  ['agents are draining', draining, 'drain'],
  ['agents stopped', { ...draining, closed: true }, 'power-off'],
  ['agents stopped, new job', { ...draining, closed: true, uses: seen('use', 0) }, 'used'],
  ['agents stopped, short login', { ...draining, closed: true, uses: seen('visit', 0) }, 'visited'],
  ['no agents, not drained', { closed: true }, 'drain'],
  ['agents do not stop', { phase: 'draining', phaseAt: 100 * minute - drainMs }, 'give-up'],
  ['power-off command run', poweringOff, 'wait'],
  ['power-off command run, long login', { ...poweringOff, uses: seen('visit', shortLoginMs) }, 'wait'],
  [
    'power-off command failed',
    { ...poweringOff, phaseAt: 100 * minute - failedPowerOffMs + 1, failed: true },
    'wait',
  ],
  [
    'power-off command failed a minute ago',
    { ...poweringOff, phaseAt: 100 * minute - failedPowerOffMs, failed: true },
    'give-up',
  ],
  [
    'power-off command run, machine still on',
    { phase: 'powering-off', phaseAt: 100 * minute - powerOffMs },
    'give-up',
  ],
])('%s: %s → %s', (_, changes, kind) => {
  expect(decideIdle(view(changes)).kind).toBe(kind);
});

describe('in any sequence of checks', () => {
  const checks = fc.array(
    fc.record({
      pauseMs: fc.integer({ min: 1, max: 20 * minute }),
      uses: fc.subarray([use('use', 'job'), use('visit', 'ann'), use('visit', 'bob')]),
      closed: fc.boolean(),
    }),
    { maxLength: 60 },
  );

  test('it powers off only after the idle time, without users, and after its agents stopped', () => {
    fc.assert(
      fc.property(checks, fc.integer({ min: 1, max: 20 }), (sequence, speed) => {
        const idleMs = afterMs / speed;
        const scaled = (ms: number): number => ms / speed;
        let [now, usedAt, phaseAt]: [number, number, number] = [0, 0, 0];
        let phase: Phase = 'on';
        let firstSeen = new Map<string, number>();
        let lastUse = 0;
        for (const check of sequence) {
          now += check.pauseMs / speed;
          firstSeen = new Map(check.uses.map(({ key }) => [key, firstSeen.get(key) ?? now]));
          const uses = check.uses.map((each) => ({ ...each, seenAt: firstSeen.get(each.key) ?? now }));
          const closed = phase === 'draining' && check.closed;
          const step = decideIdle({
            now,
            afterMs: idleMs,
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
          if (step.kind === 'power-off') {
            expect(check.uses).toEqual([]);
            expect(now - lastUse).toBeGreaterThanOrEqual(idleMs);
            expect(closed).toBe(true);
          }
          if (step.kind === 'drain') expect(check.uses).toEqual([]);
          // The power-off command cannot be undone.
          if (phase === 'powering-off') expect(['wait', 'give-up']).toContain(step.kind);
          else if (isUsed) expect(step.kind).toBe('used');
          const next: Phase = {
            used: 'on',
            visited: 'on',
            wait: phase,
            drain: 'draining',
            'power-off': 'powering-off',
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
        while (now < 2 * afterMs && !steps.has('power-off')) {
          now += everyMs;
          const step = decideIdle(view({ now, usedAt: 0, phase, phaseAt, closed: phase === 'draining' }));
          steps.add(step.kind);
          if (step.kind === 'drain' && phase === 'on') [phase, phaseAt] = ['draining', now];
        }
        expect([...steps]).toEqual(['wait', 'drain', 'power-off']);
      }),
    );
  });
});
