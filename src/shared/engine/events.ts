import type Docker from 'dockerode';
import { foreignJson } from '../base/foreign-text.ts';
import { Labels } from '../contract/paths.ts';
import { answer, text, textsByName } from './answers.ts';
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

const types = ['container', 'image', 'daemon'] as const;

/** One line of the stream; what is not an event of a known type is passed over. */
export function parseEvent(line: string): EngineEvent | undefined {
  const { Type: told, Action: action, Actor: actor } = answer(foreignJson(line));
  const type = types.find((known) => known === told);
  if (type === undefined || typeof action !== 'string') return undefined;
  const { ID: id, Attributes: labels } = answer(actor);
  return { type, action, id: text(id), labels: textsByName(labels) };
}
