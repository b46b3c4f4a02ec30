import type { FleetEvent } from '../../apply/events.ts';
import { foreignLine } from '../../base/foreign-text.ts';
import { problemLines } from '../problem.ts';
import { settled } from './model.ts';

/** One line an event, each with its host, for logs and pipes. Undefined: nothing worth a line. */
export function eventLine(event: FleetEvent): string | undefined {
  switch (event.kind) {
    case 'host-state':
      if (settled.has(event.state) || event.state === 'rebooting')
        return `${event.host}: ${[event.state, event.text].filter(Boolean).join(': ')}`;
      return undefined;
    case 'change-start':
      return `${event.host}: ${event.title} …`;
    case 'change-end':
      return `${event.host}: ${event.title}: ${event.ok ? 'done' : 'failed'} in ${seconds(event.durationMs)}${event.resumed ? ' (begun by an earlier run)' : ''}`;
    case 'note':
      return event.host === undefined ? event.text : `${event.host}: ${event.text}`;
    case 'problem':
      return problemLines(event.problem, 100).join('\n');
    case 'change-output':
      return `${event.host}:   ${foreignLine(event.line).trim()}`;
    default:
      return undefined;
  }
}

function seconds(milliseconds: number): string {
  return `${(milliseconds / 1000).toFixed(1)} s`;
}
