import type Docker from 'dockerode';
import { Labels } from '../contract/paths.ts';
import type { EngineEvent } from './engine.ts';
import { engineFault } from './fault.ts';
import { Lines, longestMessage } from './frames.ts';

/** The engine's event stream, only of what carries our labels. */
export async function* dockerEvents(docker: Docker, signal: AbortSignal): AsyncIterable<EngineEvent> {
  const lines = new Lines(longestMessage);
  try {
    const stream = await docker.getEvents({
      filters: { type: ['container'], label: [Labels.kind] },
      abortSignal: signal,
    });
    for await (const chunk of stream) {
      for (const line of lines.push(chunk as Buffer)) {
        const event = parseEvent(line);
        if (event !== undefined) yield event;
      }
    }
  } catch (error) {
    if (!signal.aborted) throw engineFault(error, 'listening to its events');
  }
}

/** One line of the stream; what is not an event of a known type is passed over. */
export function parseEvent(line: string): EngineEvent | undefined {
  if (line.trim() === '') return undefined;
  const raw: unknown = JSON.parse(line);
  if (typeof raw !== 'object' || raw === null || !('Type' in raw) || !('Action' in raw)) return undefined;
  if (raw.Type !== 'container' && raw.Type !== 'image' && raw.Type !== 'daemon') return undefined;
  const actor = 'Actor' in raw ? (raw.Actor as { ID?: string; Attributes?: Record<string, string> }) : {};
  return { type: raw.Type, action: String(raw.Action), id: actor.ID ?? '', labels: actor.Attributes ?? {} };
}
