import type { GatheredFacts } from '../../fleet/facts/facts.ts';
import { rebootedSinceDrain } from '../../fleet/plan/wave-fleet.ts';
import { rebootChange } from '../../fleet/steps/change.ts';
import type { Planned } from '../../fleet/steps/step.ts';
import type { Context } from '../../shared/base/context.ts';
import type { CommandInput } from '../command.ts';
import type { Result } from '../result.ts';
import { carryOut } from '../run/own-plan.ts';

/** Reboots hosts in waves. */
export async function run(context: Context, input: CommandInput): Promise<Result> {
  const now = context.clock.wall();
  const before = input.options.moment('bootedBefore', now);
  return carryOut(context, input, {
    command: 'reboot',
    question: (where) => `Reboot ${where}?`,
    unasked: 'review the plan with --dry-run, then run again with --yes',
    changes: (seen, first) => rebootOf(seen, first, before === undefined ? 0 : now - before),
    again: (since) => `run it again with --booted-before ${since}: it skips hosts rebooted since`,
  });
}

/**
 * Returns the reboot; none if the host has rebooted since, or if an earlier run rebooted it without verifying it.
 * `upForMs`: the host must have been up for longer than this. Pure.
 */
export function rebootOf(now: GatheredFacts, before: GatheredFacts, upForMs: number): readonly Planned[] {
  const upMs = (before.uptimeS ?? Number.POSITIVE_INFINITY) * 1000;
  const done = now.bootId !== before.bootId || rebootedSinceDrain(before);
  return done || upMs < upForMs ? [] : [rebootChange('command', 'requested with `azp-fleet reboot`')];
}
