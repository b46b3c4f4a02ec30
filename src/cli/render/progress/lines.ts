import type { FleetEvent } from '../../../fleet/apply/events.ts';
import { foreignLine } from '../../../shared/base/foreign-text.ts';
import { wrap } from '../lines/wrap.ts';
import { problemLines } from '../problem.ts';
import { settled } from './model.ts';
import type { Remark, Repeats } from './repeats.ts';

/** What is told beside the picture, and left behind. */
export function isRemark(event: FleetEvent): event is Remark {
  return event.kind === 'note' || event.kind === 'problem';
}

/** What was told of one host and is true of others. */
export function restLines(repeats: Repeats, width: number): string[] {
  return repeats.rest().flatMap(({ remark, names }) => {
    if (remark.kind === 'problem') return problemLines(remark.problem, width - 1, names);
    const listed = names === undefined ? [] : wrap(names, width - 3, 0, 0).map((line) => `  ${line}`);
    return [eventLine(remark, width) ?? '', ...listed];
  });
}

/** One line an event, each with its host, for logs and pipes. Undefined: nothing worth a line. */
export function eventLine(event: FleetEvent, width: number): string | undefined {
  switch (event.kind) {
    case 'host-state':
      if (settled.has(event.state) || event.state === 'rebooting')
        return `${event.host}: ${[event.state, event.text].filter(Boolean).join(': ')}`;
      return (event.state === 'proving' || event.state === 'asking') && event.text !== undefined
        ? `${event.host}: ${event.text}`
        : undefined;
    case 'change-start':
      return `${event.host}: ${event.title} …`;
    case 'change-end':
      return `${event.host}: ${event.title}: ${event.ok ? 'done' : 'failed'} in ${seconds(event.durationMs)}${event.resumed ? ' (begun by an earlier run)' : ''}`;
    case 'note':
      return event.host === undefined ? event.text : `${event.host}: ${event.text}`;
    case 'problem':
      return problemLines(event.problem, width - 1).join('\n');
    case 'change-output':
      return `${event.host}:   ${foreignLine(event.line).trim()}`;
    default:
      return undefined;
  }
}

function seconds(milliseconds: number): string {
  return `${(milliseconds / 1000).toFixed(1)} s`;
}
