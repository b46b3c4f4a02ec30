// The record of a run whose job the server still shows.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { plainSlot as slot } from '../../../support/slot.ts';
import { silentLogger } from '../../../../src/shared/base/log.ts';
import { RunStore } from '../../../../src/manager/runs/run-store.ts';
import { SlotBook } from '../../../../src/manager/slots/memory.ts';
import { noteUnfinished } from '../../../../src/manager/runs/collect.ts';
import { StillClock } from '../../../support/clock.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'unfinished-'));
});
afterEach(() => rm(folder, { recursive: true }));

test.each([
  ['kept', true, 'azp-fleet logs HOST/SLOT --diag'],
  ['not kept', false, 'azp-fleet logs HOST/SLOT)'],
])("the agent's own logs are named only if they were kept: %s", async (_, kept, named) => {
  const clock = new StillClock();
  const runStore = new RunStore(folder);
  await runStore.add({
    schema: 1,
    run: 'r1',
    slot: '0',
    agent: 'box-0',
    image: 'i',
    gpus: [],
    startedAt: '',
    finishedAt: '',
    exitCode: 0,
    oomKilled: false,
    result: 'succeeded',
    log: [],
  });
  if (kept) await runStore.keepDiagnostics('0', 'r1', []);
  const book = new SlotBook(clock);
  book.of('0').lastRun = { run: 'r1', endedAt: 0 };
  const pools = {
    of: () => ({
      at: 60_000,
      agent: () => ({
        id: 1,
        name: 'box-0',
        status: 'offline' as const,
        enabled: true,
        assignedRequest: { requestId: 7, jobName: 'train' },
      }),
    }),
  };
  await noteUnfinished({ clock, runStore, log: silentLogger }, pools, book, [slot], []);
  const [run] = await runStore.list('0');
  expect(run).toMatchObject({ unfinished: { job: 'train' }, cause: { code: 'run.result-missing' } });
  expect(run?.cause?.next).toContain(named);
});
