import { Readable } from 'node:stream';
import { Lines } from './frames.ts';

/** Reads a pull or build to its end: each new step as one line; an error inside the stream is thrown. */
export async function followProgress(
  stream: NodeJS.ReadableStream,
  onProgress?: (line: string) => void,
): Promise<void> {
  const lines = new Lines();
  let last = '';
  const read = (line: string): void => {
    const text = progressLine(line);
    if (text === '' || text === last) return;
    last = text;
    onProgress?.(text);
  };
  for await (const chunk of stream) {
    for (const line of lines.push(typeof chunk === 'string' ? Buffer.from(chunk) : chunk)) read(line);
  }
  for (const line of lines.end()) read(line);
}

/** What one JSON line of the engine's progress says; byte counters are left out. */
export function progressLine(line: string): string {
  if (line.trim() === '') return '';
  const message = JSON.parse(line) as {
    stream?: string;
    status?: string;
    id?: string;
    error?: string;
    errorDetail?: { message?: string };
  };
  if (message.error !== undefined) throw new Error(message.errorDetail?.message ?? message.error);
  if (message.stream !== undefined) return message.stream.trim();
  if (message.status === undefined) return '';
  return message.id === undefined ? message.status : `${message.id}: ${message.status}`;
}

/** dockerode takes a build context as a stream. */
export function contextStream(context: Buffer): NodeJS.ReadableStream {
  return Readable.from([context]);
}
