import { systemClock } from '../../../../src/shared/base/clock.ts';
import type { Fake } from '../../../../practice/azure/world/fake.ts';
import { emptyState, hostedAgent } from '../../../../practice/azure/world/new-organization.ts';
import { advance } from '../../../../practice/azure/world/scheduler.ts';
import type { FakeAgent } from '../../../../practice/azure/world/state.ts';

/** Returns the fake without its server: agents without a process in pool 1, and a clock that stands still. */
export function bareWorld(agents: number): Fake & { time: number } {
  const agent = (id: number): FakeAgent => ({
    ...hostedAgent(0),
    id,
    poolId: 1,
    name: `a-${id}`,
  });
  const state = emptyState(['vision'], 0);
  state.agents = Array.from({ length: agents }, (_, index) => agent(index + 1));
  const fake = {
    state,
    organization: 'lab',
    clock: systemClock(1),
    time: 0,
    now: () => fake.time,
    tokens: () => [],
    tokenState: 'valid' as const,
    bearers: new Map<string, number>(),
    applications: [],
    machine: {},
    usedAssertions: new Set<string>(),
    denied: new Set<never>(),
    pipelines: new Map<number, never>(),
    faults: [],
    settleMs: 0,
    ignoresDemands: false,
    hidesUnmatched: false,
    stale: new Map<string, never>(),
    requestLog: [],
    polls: new Map<string, never>(),
    changed: () => advance(fake),
  };
  return fake;
}
