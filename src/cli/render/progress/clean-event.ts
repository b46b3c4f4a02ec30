import type { FleetEvent } from '../../../fleet/apply/events.ts';
import { foreignProblem } from '../../../shared/base/errors.ts';
import { foreignLine, foreignValue } from '../../../shared/base/foreign-text.ts';

/** An event as it may be drawn and logged: hosts speak in most of them, and each text has one line. */
export function cleanEvent(event: FleetEvent): FleetEvent {
  return event.kind === 'problem'
    ? { ...event, problem: foreignProblem(event.problem) }
    : foreignValue(event, (text) => foreignLine(text));
}
