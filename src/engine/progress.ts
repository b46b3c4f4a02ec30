import { Readable } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { Lines } from './frames.ts';

/** A pull or build that failed. `message` is one line; `output` what its last step wrote, at most a screenful. */
export class WorkFailure extends Error {
  readonly output: readonly string[];
  constructor(said: string, output: readonly string[]) {
    super(brief(said, output.slice(1)));
    this.output = output;
  }
}

/** Of a command that failed Docker quotes all of its text; what tells the cause is the last thing that it wrote. */
function brief(said: string, output: readonly string[]): string {
  const code = /returned a non-zero code: (\d+)\s*$/.exec(said)?.[1];
  const last = output.at(-1);
  return code === undefined || last === undefined ? said : `${last} (exit code ${code})`;
}

/** Reads a pull or build to its end: each new step as one line; an error inside the stream is a WorkFailure. */
export async function followProgress(
  stream: NodeJS.ReadableStream,
  onProgress?: (line: string) => void,
): Promise<void> {
  const lines = new Lines();
  const step = new StepOutput();
  let last = '';
  const read = (line: string): void => {
    const text = progressLine(line, step.lines);
    if (text === '' || text === last) return;
    last = text;
    step.take(text);
    onProgress?.(text);
  };
  for await (const chunk of stream) {
    for (const line of lines.push(typeof chunk === 'string' ? Buffer.from(chunk) : chunk)) read(line);
  }
  for (const line of lines.end()) read(line);
}

const mostLines = 12;
const mostWidth = 200;

/** What the present step of a build has written: its heading, then its last lines. */
class StepOutput {
  #lines: readonly string[] = [];

  get lines(): readonly string[] {
    return this.#lines;
  }

  take(text: string): void {
    const fresh = text.split('\n').map((line) => line.trim().slice(0, mostWidth));
    const heading = fresh.find((line) => /^Step \d+\/\d+ : /.test(line));
    if (heading !== undefined) this.#lines = [heading];
    const said = fresh.filter(
      (line) => line !== '' && line !== heading && !/^(?:--->|Removing intermediate)/.test(line),
    );
    const [first, ...rest] = [...this.#lines, ...said];
    this.#lines = first === undefined ? [] : [first, ...rest.slice(-mostLines)];
  }
}

/** What one JSON line of the engine's progress says; byte counters and colours are left out. */
export function progressLine(line: string, output: readonly string[] = []): string {
  if (line.trim() === '') return '';
  const message = JSON.parse(line) as {
    stream?: string;
    status?: string;
    id?: string;
    error?: string;
    errorDetail?: { message?: string };
  };
  if (message.error !== undefined)
    throw new WorkFailure(message.errorDetail?.message ?? message.error, output);
  if (message.stream !== undefined) return stripVTControlCharacters(message.stream).trim();
  if (message.status === undefined) return '';
  return message.id === undefined ? message.status : `${message.id}: ${message.status}`;
}

/** dockerode takes a build context as a stream. */
export function contextStream(context: Buffer): NodeJS.ReadableStream {
  return Readable.from([context]);
}
