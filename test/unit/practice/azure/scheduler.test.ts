// The fake server's own rules, by whatever order things happen in: what the soak test relies on.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Rules } from '../../../../practice/azure/world/fake.ts';
import { assignedRequest, finish, queueJob } from '../../../../practice/azure/world/queue.ts';
import { advance, endSession, sessionOf } from '../../../../practice/azure/world/scheduler.ts';
import { bareWorld } from './bare-world.ts';

const agents = 3;
const world = () => bareWorld(agents);

type Step = readonly [
  'queue' | 'come' | 'go' | 'receive' | 'complete' | 'enable' | 'wait',
  agent: number,
  minutes: number,
];

function apply(fake: ReturnType<typeof world>, [kind, id, minutes]: Step): void {
  const session = sessionOf(fake, id);
  const request = assignedRequest(fake, id);
  const agent = fake.state.agents.find((each) => each.id === id);
  if (kind === 'queue') queueJob(fake, { poolId: 1, project: 'vision', name: 'j', demands: [], script: '' });
  if (kind === 'come' && session === undefined) {
    const base = { id: `${fake.time}-${id}-${Math.random()}`, agentId: id, ownerName: '', key: '' };
    fake.state.sessions.push({ ...base, lastSeen: fake.time, messages: [], shuttingDown: false });
  }
  if (kind === 'go' && session !== undefined) endSession(fake, session);
  if (
    kind === 'receive' &&
    session !== undefined &&
    request !== undefined &&
    request.receiveTime === undefined
  ) {
    request.receiveTime = fake.time;
    request.runs.push({ agent: `a-${id}`, agentId: id, session: session.id, container: '', at: fake.time });
  }
  if (kind === 'complete' && request?.receiveTime !== undefined) finish(fake, request, 'succeeded');
  if (kind === 'enable' && agent !== undefined) agent.enabled = !agent.enabled;
  if (kind === 'wait') fake.time += minutes * 60_000;
  fake.changed();
}

const steps = fc.array(
  fc.tuple(
    fc.constantFrom('queue', 'come', 'go', 'receive', 'complete', 'enable', 'wait'),
    fc.integer({ min: 1, max: agents }),
    fc.integer({ min: 1, max: 8 }),
  ) as fc.Arbitrary<Step>,
  { maxLength: 60 },
);

test('a job is begun at most once, an agent has at most one, and nothing ends twice', () => {
  fc.assert(
    fc.property(steps, (all) => {
      const fake = world();
      const ended = new Map<number, string>();
      for (const step of all) {
        const assignedBefore = new Set(
          fake.state.requests.filter(({ agentId }) => agentId).map((r) => r.requestId),
        );
        apply(fake, step);
        for (const request of fake.state.requests) {
          expect(request.runs.length).toBeLessThanOrEqual(1);
          const before = ended.get(request.requestId);
          if (before !== undefined) expect(request.result).toBe(before);
          if (request.result !== undefined) ended.set(request.requestId, request.result);
          const isNew = request.agentId !== undefined && !assignedBefore.has(request.requestId);
          const agent = fake.state.agents.find(({ id }) => id === request.agentId);
          if (isNew)
            expect([agent?.enabled, sessionOf(fake, agent?.id ?? 0)]).toEqual([true, expect.anything()]);
        }
        for (const { id } of fake.state.agents) {
          const open = fake.state.requests.filter((r) => r.agentId === id && r.result === undefined);
          expect(open.length).toBeLessThanOrEqual(1);
        }
      }
    }),
    { numRuns: 200 },
  );
});

test('whatever was begun ends: done by its agent, or given up 14 minutes after its last sign of life', () => {
  fc.assert(
    fc.property(steps, (all) => {
      const fake = world();
      for (const step of all) apply(fake, step);
      fake.time += Rules.lock + Rules.lockGrace;
      advance(fake);
      const begun = fake.state.requests.filter(({ receiveTime }) => receiveTime !== undefined);
      expect(begun.filter(({ result }) => result === undefined)).toEqual([]);
    }),
    { numRuns: 100 },
  );
});
