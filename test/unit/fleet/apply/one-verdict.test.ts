import fc from 'fast-check';
import { expect, it } from 'vitest';

import type { AzureAgent } from '../../../../src/shared/azure/client.ts';
import type { SlotStatus } from '../../../../src/shared/contract/status.ts';
import { before, current, expectOneVerdict, iso, none, online, prove, slot } from './proofs.ts';

const causes = fc.constantFrom(
  {},
  { code: 'agent.name-held', cause: 'held', next: 'adopt' },
  { code: 'dataset.unusable', cause: 'missing', next: 'make it' },
  { code: 'agent.session-conflict', cause: 'a session', next: 'wait' },
  { code: 'agent.session-left', cause: 'left', next: 'wait' },
  { code: 'agent.login-refused', cause: 'refused', next: 'wait' },
  { code: 'pool.unknown', cause: 'looked up', next: 'wait' },
  { code: 'drained', cause: 'drained', next: 'undrain' },
);
const states = fc.constantFrom(
  'starting',
  'idle',
  'busy',
  'stopping',
  'backing-off',
  'drained',
  'quarantined',
  'waiting',
);
const anySlot = (name: string): fc.Arbitrary<SlotStatus> =>
  fc
    .record({
      state: states,
      cause: causes,
      run: fc.constantFrom(current, before, undefined),
      since: fc.integer({ min: -200_000, max: 0 }),
      away: fc.option(fc.integer({ min: -200_000, max: 0 }), { nil: undefined }),
    })
    .map(({ state, cause, run, since, away }) =>
      slot(name, {
        ...(run === undefined ? none : { run }),
        state,
        since: iso(since),
        ...cause,
        ...(away === undefined ? {} : { awaySince: iso(away) }),
      }),
    );
const anyAgent = (name: string): fc.Arbitrary<AzureAgent[]> =>
  fc
    .record({
      id: fc.constantFrom(7, 8),
      status: fc.constantFrom('online' as const, 'offline' as const),
      enabled: fc.boolean(),
      owner: fc.constantFrom('us', 'them'),
      there: fc.boolean(),
    })
    .map(({ owner, there, ...shown }) =>
      there ? [online(name, { ...shown, userCapabilities: { 'azp-fleet.owner': owner } })] : [],
    );
const problem = { code: 'azure.unreachable', what: 'no answer', next: 'look' };

it('the proof and status never have different verdicts', async () => {
  const sights = fc.record({
    slots: fc.tuple(anySlot('0'), anySlot('1')),
    agents: fc.tuple(anyAgent('0'), anyAgent('1')),
    problems: fc.constantFrom([], [], [problem]),
    image: fc.constantFrom('ready' as const, 'ready' as const, 'building' as const, 'failed' as const),
    written: fc.constantFrom('hash', 'hash', 'another'),
  });
  await fc.assert(
    fc.asyncProperty(sights, async ({ slots, agents, problems, image, written }) => {
      const proof = await prove({
        manager: () => ({ slots, problems, image: { state: image } }),
        agents: agents.flat(),
        written,
      });
      expectOneVerdict(proof);
      expect(proof.tookMs).toBeLessThanOrEqual(120_000);
    }),
    { numRuns: 150 },
  );
});
