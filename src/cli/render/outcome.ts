import { styleText } from 'node:util';

import { interruptionLine, isBad, type HostOutcome } from '../../fleet/apply/outcome.ts';
import { alike, hostLabel, type HostLabel } from './alike.ts';
import { padded, widthOf, wrap } from './lines.ts';

interface Style {
  readonly color: boolean;
  /** Columns; longer sentences are broken. */
  readonly width: number;
}

/** Returns a line for each group of hosts with the same result, failures last, then the totals. */
export function outcomeText(outcomes: readonly HostOutcome[], style: Style): string {
  const sorted = [...outcomes].sort((left, right) => rank(left) - rank(right));
  const groups = alike(sorted.map((outcome) => ({ host: outcome.host, value: ending(outcome) })));
  const labelled = groups.map(({ hosts, value }) => ({ ...hostLabel(hosts), ...value }));
  const width = Math.max(...labelled.map(({ label }) => widthOf(label)));
  const lines = labelled.flatMap((each) => endingLines(each, width, style));
  return `${[...lines, '', sum(outcomes)].join('\n')}\n`;
}

interface Ending {
  readonly word: string;
  readonly tone: 'red' | 'yellow' | 'green';
  readonly text: string;
}

function ending(outcome: HostOutcome): Ending {
  const word = label(outcome);
  const isWarning = word === 'degraded' || outcome.state === 'skipped';
  return { word, tone: isBad(outcome) ? 'red' : isWarning ? 'yellow' : 'green', text: detail(outcome) };
}

function endingLines(
  { label, names, word, tone, text }: HostLabel & Ending,
  labelWidth: number,
  { color, width }: Style,
): string[] {
  const state = word.padEnd(11);
  const painted = color ? styleText(tone, state, { validateStream: false }) : state;
  const head = labelWidth + state.length + 4;
  const [first = '', ...more] = wrap(text, width, head, Math.min(head, Math.floor(width / 2)));
  return [
    `${padded(label, labelWidth)}  ${painted}  ${first}`.trimEnd(),
    ...more,
    ...(names === undefined ? [] : wrap(names, width - 4, 0, 0).map((line) => `    ${line}`)),
  ];
}

/** Returns healthy, degraded, … if the result was verified; otherwise the state of the run. */
function label({ state, changes, interrupted, verdict }: HostOutcome): string {
  if (state === 'skipped') return changes === 0 && interrupted === undefined ? state : 'interrupted';
  if (state === 'failed' || state === 'unreachable') return state;
  return verdict?.state ?? state;
}

function detail({ state, changes, problem, verdict, interrupted }: HostOutcome): string {
  const made = changes === 0 ? 'no changes' : `${changes} ${changes === 1 ? 'change' : 'changes'}`;
  if (problem !== undefined) {
    const what = [problem.what, verdict?.cause].filter((part) => part !== undefined).join('; ');
    return changes === 0 ? what : `${made}, then: ${what}`;
  }
  if (state === 'skipped') return interruptionLine(changes, interrupted);
  if (verdict === undefined) return made;
  const { state: how, cause, next, note, azureAsked } = verdict;
  // For other verdicts the missing answer of Azure DevOps makes no difference.
  const isClaim = how === 'healthy' || how === 'degraded';
  const unasked = azureAsked === false && isClaim ? 'Azure DevOps not checked' : [];
  return [made, unasked, cause === '' ? [] : `${cause}; next: ${next}`, note ?? []].flat().join('; ');
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
