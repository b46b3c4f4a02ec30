import { styleText } from 'node:util';

import { interruptionLine } from '../apply/interruption.ts';
import { isBad, type HostOutcome } from '../apply/outcome.ts';

/** One line a host, what needs attention last, then the sum. */
export function outcomeText(outcomes: readonly HostOutcome[], color: boolean): string {
  const sorted = [...outcomes].sort((left, right) => rank(left) - rank(right));
  const width = Math.max(...sorted.map(({ host }) => host.length));
  const lines = sorted.map((outcome) => {
    const word = label(outcome);
    const style = isBad(outcome)
      ? 'red'
      : word === 'degraded' || outcome.state === 'skipped'
        ? 'yellow'
        : 'green';
    const state = word.padEnd(11);
    const painted = color ? styleText(style, state, { validateStream: false }) : state;
    return `${outcome.host.padEnd(width)}  ${painted}  ${detail(outcome)}`.trimEnd();
  });
  return `${[...lines, '', sum(outcomes)].join('\n')}\n`;
}

/** Healthy, degraded, … where a proof was made; otherwise how the host ended. */
function label({ state, changes, interrupted, verdict }: HostOutcome): string {
  if (state === 'skipped') return changes === 0 && interrupted === undefined ? state : 'interrupted';
  if (state === 'failed' || state === 'unreachable') return state;
  return verdict?.state ?? state;
}

function detail({ state, changes, problem, verdict, interrupted }: HostOutcome): string {
  const made = changes === 0 ? 'no changes' : `${changes} ${changes === 1 ? 'change' : 'changes'}`;
  if (problem !== undefined) return changes === 0 ? problem.what : `${made}, then: ${problem.what}`;
  if (state === 'skipped') return interruptionLine(changes, interrupted);
  return verdict === undefined || verdict.cause === ''
    ? made
    : `${made}; ${verdict.cause}; next: ${verdict.next}`;
}

function rank(outcome: HostOutcome): number {
  if (isBad(outcome)) return 2;
  return outcome.state === 'skipped' || label(outcome) === 'degraded' ? 1 : 0;
}

function sum(outcomes: readonly HostOutcome[]): string {
  const counts = new Map<string, number>();
  for (const outcome of outcomes) counts.set(label(outcome), (counts.get(label(outcome)) ?? 0) + 1);
  const parts = [...counts].map(([word, count]) => `${count} ${word}`);
  const nothing = outcomes.every(({ changes, state }) => changes === 0 && state === 'ok');
  return `${outcomes.length} ${outcomes.length === 1 ? 'host' : 'hosts'}: ${parts.join(', ')}${nothing ? ' · no changes' : ''}`;
}
