// The record of a run whose job the server still shows.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { plainSlot as slot } from '../../../support/slot.ts';
import type { RunRecord } from '../../../../src/shared/contract/status.ts';
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

/** Returns the record of a run with this end, after a read of the pool that still shows its job. */
async function noted(ended: Partial<RunRecord>, areLogsKept: boolean): Promise<RunRecord | undefined> {
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
    log: [],
    ...ended,
  });
  if (areLogsKept) await runStore.keepDiagnostics('0', 'r1', []);
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
  return (await runStore.list('0'))[0];
}

test.each([
  ['kept', true, 'azp-fleet logs HOST/SLOT --diag'],
  ['not kept', false, 'azp-fleet logs HOST/SLOT)'],
])("the agent's own logs are named only if they were kept: %s", async (_, kept, named) => {
  const run = await noted({ result: 'succeeded' }, kept);
  expect(run).toMatchObject({ unfinished: { job: 'train' }, cause: { code: 'run.result-missing' } });
  expect(run?.cause?.next).toContain(named);
});

const cause = { code: 'run.out-of-memory', what: 'job exceeded its memory limit', next: 'raise it' };

test('a fault of the run stays its cause, with the missing result beside it', async () => {
  expect((await noted({ oomKilled: true, cause }, true))?.cause).toEqual({
    ...cause,
    what: expect.stringMatching(
      /^job exceeded its memory limit; the server still shows job train as running/,
    ),
  });
});

test('what happened in a job that succeeded does not hide that its result is missing', async () => {
  const run = await noted({ result: 'succeeded', cause: { ...cause, severity: 'info' } }, true);
  expect(run).toMatchObject({ result: 'succeeded', cause: { code: 'run.result-missing' } });
});
