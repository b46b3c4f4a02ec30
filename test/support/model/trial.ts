import fc from 'fast-check';
import type { ManagerConfig } from '../../../src/shared/contract/config.ts';
import { calm } from './calm.ts';
import { configs } from './configs.ts';
import { steps, type Step } from './steps.ts';
import { World } from './world.ts';

/** A world and what happens in it. */
export interface History {
  readonly seed: number;
  readonly config: ManagerConfig;
  readonly steps: readonly Step[];
}

/** What worlds have gone through. */
export interface Tally {
  worlds: number;
  /** Calls of the manager that were carried out or failed, and what else was done to a world. */
  steps: number;
  kills: number;
  /** How often a machine has powered itself off. */
  ends: number;
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
  return { worlds: 0, steps: 0, kills: 0, ends: 0, passes: 0, ms: 0, mostPasses: 0, mostMs: 0 };
}

/** An ambush into which the manager does not walk within this time is sprung. */
const ambushMs = 30_000;

/** Lives through a history and the calm after it; rejects with the first thing that the manager must not have done. */
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
        await undergo(world, step, isOver);
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
    tally.passes += world.passes;
    tally.ms += timeline.now;
  }
  if (isOver())
    throw new Error([...judge.violations, 'the log before:', ...world.logged.slice(-60)].join('\n'));
}

async function undergo(world: World, step: Step, isOver: () => boolean): Promise<void> {
  const { timeline, boundary } = world;
  if ('ms' in step.when) {
    await timeline.pass(step.when.ms, isOver);
    step.carryOut(world);
    return;
  }
  const { nth, moment } = step.when;
  const ambush = { left: nth, moment, act: () => step.carryOut(world) };
  boundary.ambushes.push(ambush);
  await timeline.pass(ambushMs, () => isOver() || !boundary.ambushes.includes(ambush));
  const at = boundary.ambushes.indexOf(ambush);
  if (at < 0) return;
  boundary.ambushes.splice(at, 1);
  step.carryOut(world);
}
