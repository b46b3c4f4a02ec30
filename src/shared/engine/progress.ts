import { Readable } from 'node:stream';
import { foreignJson, foreignLine, foreignLines } from '../base/foreign-text.ts';
import { isObject } from '../base/objects.ts';
import { answer, text } from './answers.ts';
import { Lines, longestMessage } from './frames.ts';

/** A failed pull or build. `message` is one line; `output` is the output of its last step, at most a screen. */
export class WorkFailure extends Error {
  readonly output: readonly string[];
  constructor(said: string, output: readonly string[]) {
    super(
      brief(
        said,
        output.filter((line) => !isHeading(line)),
      ),
    );
    this.output = output;
  }
}

/** Shortens a message: Docker quotes the whole text of a failed command; its last output line names the cause. */
function brief(said: string, output: readonly string[]): string {
  const code = /returned a non-zero code: (\d+)\s*$/.exec(said)?.[1];
  const last = output.at(-1);
  return code === undefined || last === undefined ? said : `${last} (exit code ${code})`;
}

/** Reads a pull or build to its end, one line for each step; an error inside the stream is a WorkFailure. */
export async function followProgress(
  stream: NodeJS.ReadableStream,
  onProgress?: (line: string) => void,
): Promise<void> {
  const lines = new Lines(longestMessage);
  let written = '';
  let last = '';
  const read = (line: string): void => {
    const { text, raw, error } = progressMessage(line);
    written = (written + raw).slice(-mostWritten);
    if (error !== undefined)
      throw new WorkFailure(error, stepOutput(foreignLines(written, Number.POSITIVE_INFINITY)));
    if (text === '' || text === last) return;
    last = text;
    onProgress?.(text);
  };
  for await (const chunk of stream) {
    for (const line of lines.push(typeof chunk === 'string' ? Buffer.from(chunk) : chunk)) read(line);
  }
  for (const line of lines.end()) read(line);
}

/** Characters kept of the output of a build. */
const mostWritten = 16_384;
const mostLines = 12;
const mostWidth = 200;

/** Returns the heading and the last lines of the current step of a build. */
function stepOutput(written: string): readonly string[] {
  const lines = written
    .split(/[\r\n]+/)
    .map((line) => line.trim().slice(0, mostWidth))
    .filter((line) => line !== '' && !/^(?:--->|Removing intermediate)/.test(line));
  const step = lines.slice(Math.max(0, lines.findLastIndex(isHeading)));
  const [first, ...rest] = step;
  return first === undefined ? [] : [first, ...rest.slice(-mostLines)];
}

function isHeading(line: string): boolean {
  return /^Step \d+\/\d+ : /.test(line);
}

/** Parses one JSON line of the engine's progress, without byte counters and colors. */
export function progressMessage(line: string): {
  /** One step to show, or empty. */
  readonly text: string;
  /** Raw output of a build step: perhaps part of a line. */
  readonly raw: string;
  readonly error: string | undefined;
} {
  const message = line.trim() === '' ? {} : foreignJson(line);
  if (!isObject(message))
    return { text: '', raw: '', error: `Docker answers with invalid JSON: ${foreignLine(line, 200)}` };
  const raw = text(message['stream']);
  const status = text(message['status']);
  const step = status === '' ? raw : [text(message['id']), status].filter((part) => part !== '').join(': ');
  const wrong = text(answer(message['errorDetail'])['message']) || text(message['error']);
  const failed = wrong !== '' || message['error'] !== undefined;
  return {
    text: foreignLine(step).trim(),
    raw,
    error: failed ? foreignLines(wrong || 'Docker reports an error without a message') : undefined,
  };
}

/** Returns a build context as a stream, as dockerode needs it. */
export function contextStream(context: Buffer): NodeJS.ReadableStream {
  return Readable.from([context]);
}
