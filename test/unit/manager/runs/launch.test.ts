import { expect, test } from 'vitest';
import type { OwnContainer } from '../../../../src/shared/engine/engine.ts';
import { removeUnstarted } from '../../../../src/manager/runs/launch.ts';

test.each<{ state: OwnContainer['state']; goes: boolean; because: string }>([
  { state: 'created', goes: true, because: 'nothing has run in it' },
  { state: 'running', goes: false, because: 'it may have a job' },
  { state: 'exited', goes: false, because: 'it may have had one: its key and its evidence are looked after' },
])('$state after a start without an answer: $because', async ({ state, goes }) => {
  const removed: string[] = [];
  const container = { id: 'c1', name: 'box-0', state, labels: {}, image: '', created: 0 };
  const engine = {
    listOwn: async () => [container],
    removeUnlessRunning: async (id: string) => void removed.push(id),
  };
  await removeUnstarted(engine, 'c1', 'r1');
  expect(removed).toEqual(goes ? ['c1'] : []);
});
