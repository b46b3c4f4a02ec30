import type { Change, Detail, Shape } from '../../../fleet/steps/change.ts';
import { wrap } from '../lines/wrap.ts';
import { actionLines } from './action-lines.ts';
import { diffLines } from './diff-lines.ts';
import { changeMark, mark, type Paint } from './marks.ts';

export interface ChangeLineOptions {
  /** The exact scripts and file contents below each change. */
  readonly scripts: boolean;
  /** What becomes of the text of each file below the change that writes it. */
  readonly diff: boolean;
  /** Columns; longer lines are broken. */
  readonly width: number;
}

const disturbance = {
  nothing: undefined,
  'new-containers': 'for a moment no container can start; running jobs go on',
  agents: 'ends our agents, which are drained first; nothing else is disturbed',
  containers: 'disturbs running containers: our agents are drained first',
  machine: 'disturbs the whole machine: our agents are drained first',
} as const;

/** Below the titles. */
const indent = ' '.repeat(13);

/** A change: its title, why, line by line what it consists of, and what it disturbs. */
export function changeLines(change: Change | Shape, options: ChangeLineOptions, paint: Paint): string[] {
  const why = change.known ? change.why : (change.why ?? until(change));
  const disturbs = disturbance[change.disturbs];
  const diffs = options.diff ? (change.texts ?? []).flatMap((text) => diffLines(text, paint)) : [];
  const scripts = change.known && options.scripts ? change.actions.flatMap(actionLines) : [];
  const [title = '', ...more] = wrap(change.title, options.width, indent.length, indent.length);
  return [
    `  ${changeMark(change, paint)} ${paint('dim', change.step.padEnd(8))} ${title}`,
    ...more,
    ...wrap(why, options.width - indent.length, 0, 0).map((line) => `${indent}${paint('dim', line)}`),
    ...(change.details ?? []).flatMap((detail) => detailLines(detail, options.width, paint)),
    ...(disturbs === undefined ? [] : [`${indent}${paint('yellow', disturbs)}`]),
    ...[...diffs, ...scripts].map((line) => `${indent}${paint('dim', '│')} ${line}`),
  ];
}

function until({ until: step }: Shape): string {
  return `not known before "${step}" has run; at most this`;
}

function detailLines({ marker, text, effect }: Detail, width: number, paint: Paint): string[] {
  const room = width - indent.length - 2;
  const [first = '', ...more] = wrap(text, room, 0, 0);
  const follows = effect === undefined ? [] : wrap(effect, room - 2, 0, 0);
  return [
    `${indent}${mark(marker, paint)} ${first}`,
    ...more.map((line) => `${indent}  ${line}`),
    ...follows.map((line) => `${indent}    ${line}`),
  ];
}
