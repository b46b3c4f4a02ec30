import { styleText } from 'node:util';

import { type Change, type Marker, reboots, type Shape } from '../../../fleet/steps/change.ts';

type Style = Parameters<typeof styleText>[0];
export type Paint = (style: Style, text: string) => string;

const marks = {
  add: ['green', '+'],
  change: ['yellow', '~'],
  remove: ['red', '-'],
} as const satisfies Record<Marker, readonly [Style, string]>;

export function painter(color: boolean): Paint {
  return (style, text) => (color ? styleText(style, text, { validateStream: false }) : text);
}

/** What stands before a line: `+` comes, `~` changes, `-` goes. */
export function mark(marker: Marker | undefined, paint: Paint): string {
  const [style, sign] = marks[marker ?? 'add'];
  return paint(style, sign);
}

/** The same before a change: `!` where it reboots, `?` where it is not known yet. */
export function changeMark(change: Change | Shape, paint: Paint): string {
  if (!change.known) return unknownMark(paint);
  return reboots(change) ? paint(['bold', 'magenta'], '!') : mark(change.marker, paint);
}

export function unknownMark(paint: Paint): string {
  return paint('cyan', '?');
}
