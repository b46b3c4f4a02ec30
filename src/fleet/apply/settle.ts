import { foldNames } from '../inventory/fold-names.ts';
import type { EventSink } from './events.ts';
import { interruptionLine } from './interruption.ts';
import type { HostOutcome } from './outcome.ts';

/** Tells how a host has ended. What it shares with others is told once, elsewhere. */
export function settle(outcome: HostOutcome, emit: EventSink): void {
  const { host, problem, verdict, changes, interrupted } = outcome;
  const shared = problem?.step === 'pool' || isNotBegun(outcome);
  if (problem !== undefined && !shared) emit({ kind: 'problem', problem });
  const unwell = verdict !== undefined && verdict.state !== 'healthy' ? verdict : undefined;
  const cut = outcome.state === 'skipped' ? interruptionLine(changes, interrupted) : undefined;
  const text =
    problem?.what ?? cut ?? (unwell === undefined ? undefined : `${unwell.state}: ${unwell.cause}`);
  const state = unwell !== undefined && unwell.state !== 'degraded' ? 'failed' : outcome.state;
  emit({ kind: 'host-state', host, state, ...(text === undefined ? {} : { text }) });
}

/** Tells of hosts that were not begun, all with the same reason together. */
export function settleNotBegun(outcomes: readonly HostOutcome[], emit: EventSink): void {
  const left = outcomes.filter(isNotBegun);
  for (const outcome of left) settle(outcome, emit);
  const alike = Map.groupBy(left, ({ problem }) => JSON.stringify([problem?.what, problem?.next]));
  for (const same of alike.values()) {
    const problem = same[0]?.problem;
    const host = foldNames(same.map((each) => each.host));
    if (problem !== undefined) emit({ kind: 'problem', problem: { ...problem, host } });
  }
}

function isNotBegun({ problem }: HostOutcome): boolean {
  return problem?.code === 'wave.stopped' || problem?.code === 'wave.held';
}
