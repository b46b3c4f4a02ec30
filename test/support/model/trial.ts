import fc from 'fast-check';
import type { ManagerConfig } from '../../../src/shared/contract/config.ts';
import { calm } from './calm.ts';
import { configs } from './configs.ts';
import { steps, type Step } from './steps.ts';
import { World } from './world.ts';

/** A world and the steps that happen in it. */
export interface History {
  readonly seed: number;
  readonly config: ManagerConfig;
  readonly steps: readonly Step[];
}

/** Totals over all worlds. */
export interface Tally {
  worlds: number;
  /** Calls of the manager that were carried out or failed, and steps of histories. */
  steps: number;
  kills: number;
  /** Number of power-offs because a machine was idle. */
  ends: number;
  /** Removals of containers that took time, and pauses. */
  removals: number;
  pauses: number;
  /** State files that were deleted, and answers that asked for a pause. */
  deletions: number;
  requestedPauses: number;
  passes: number;
  /** Milliseconds of the worlds. */
  ms: number;
  /** The slowest recovery. */
  mostPasses: number;
  mostMs: number;
}

export const histories = (longest: number): fc.Arbitrary<History> =>
  fc.record({
    seed: fc.noShrink(fc.integer({ min: 0, max: 2 ** 31 - 1 })),
    config: configs,
    steps: fc.array(steps, { minLength: 1, maxLength: longest, size: 'max' }),
  });

export function newTally(): Tally {
  return {
    worlds: 0,
    steps: 0,
    kills: 0,
    ends: 0,
    removals: 0,
    pauses: 0,
    deletions: 0,
    requestedPauses: 0,
    passes: 0,
    ms: 0,
    mostPasses: 0,
    mostMs: 0,
  };
}

/** A scheduled act that the manager does not trigger within this time runs anyway. */
const waitMs = 30_000;

/** Runs a history and the recovery after it; rejects with the first violation by the manager. */
export async function tryOut({ seed, config, steps: history }: History, tally: Tally): Promise<void> {
  const world = new World(seed, config);
  const { judge, timeline, boundary } = world;
  const isOver = (): boolean => judge.violations.length > 0;
  try {
    await world.run(async () => {
      world.start();
      await timeline.pass(2_000, isOver);
      for (const step of history) {
        if (isOver()) break;
        await runStep(world, step, isOver);
      }
      if (!isOver()) await timeline.pass(5_000, isOver);
      if (isOver()) return;
      const { passes, ms } = await calm(world);
      tally.mostPasses = Math.max(tally.mostPasses, passes);
      tally.mostMs = Math.max(tally.mostMs, ms);
    });
  } finally {
    tally.worlds += 1;
    tally.steps += boundary.calls + history.length;
    tally.kills += world.kills;
    tally.ends += world.ends;
    tally.removals += world.dockerd.removals;
    tally.pauses += world.dockerd.pauses;
    tally.deletions += world.deletions;
    tally.requestedPauses += world.server.pauses;
    tally.passes += world.passes;
    tally.ms += timeline.now;
  }
  if (isOver())
    throw new Error([...judge.violations, 'the log before:', ...world.logged.slice(-60)].join('\n'));
}

async function runStep(world: World, step: Step, isOver: () => boolean): Promise<void> {
  const { timeline, boundary } = world;
  if ('ms' in step.when) {
    await timeline.pass(step.when.ms, isOver);
    step.carryOut(world);
    return;
  }
  const { nth, moment } = step.when;
  const scheduled = { left: nth, moment, act: () => step.carryOut(world) };
  boundary.scheduledActs.push(scheduled);
  await timeline.pass(waitMs, () => isOver() || !boundary.scheduledActs.includes(scheduled));
  const at = boundary.scheduledActs.indexOf(scheduled);
  if (at < 0) return;
  boundary.scheduledActs.splice(at, 1);
  step.carryOut(world);
}
