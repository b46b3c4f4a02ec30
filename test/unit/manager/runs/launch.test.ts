import { expect, test } from 'vitest';
import type { OwnContainer } from '../../../../src/shared/engine/engine.ts';
import { removeUnstarted } from '../../../../src/manager/runs/launch.ts';

test.each<{ state: OwnContainer['state']; isRemoved: boolean; because: string }>([
  { state: 'created', isRemoved: true, because: 'it never ran' },
  { state: 'running', isRemoved: false, because: 'it may have a job' },
  { state: 'exited', isRemoved: false, because: 'it may have had one, and is collected' },
])('$state after a start without an answer: $because', async ({ state, isRemoved }) => {
  const removed: string[] = [];
  const container = { id: 'c1', name: 'box-0', state, labels: {}, image: '', created: 0 };
  const engine = {
    listOwn: async () => [container],
    removeUnlessRunning: async (id: string) => {
      removed.push(id);
      return 'removed' as const;
    },
  };
  await removeUnstarted(engine, 'c1', 'r1');
  expect(removed).toEqual(isRemoved ? ['c1'] : []);
});
