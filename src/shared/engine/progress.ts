import { Readable } from 'node:stream';
import { foreignJson, foreignLine, foreignLines } from '../base/foreign-text.ts';
import { isObject } from '../base/objects.ts';
import { answer, text } from './answers.ts';
import { Lines, longestMessage } from './frames.ts';

/** A pull or build that failed. `message` is one line; `output` what its last step wrote, at most a screenful. */
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

/** Characters of a build's output that are kept meanwhile. */
const mostWritten = 16_384;
const mostLines = 12;
const mostWidth = 200;

/** What the present step of a build has written: its heading, then its last lines. */
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

/** One JSON line of the engine's progress. Byte counters and colours are left out. */
export function progressMessage(line: string): {
  /** What to show: one step of the work, or nothing. */
  readonly text: string;
  /** What a build's step wrote, as it came: perhaps part of a line. */
  readonly raw: string;
  readonly error: string | undefined;
} {
  const message = line.trim() === '' ? {} : foreignJson(line);
  if (!isObject(message))
    return { text: '', raw: '', error: `Docker says what is no JSON: ${foreignLine(line, 200)}` };
  const raw = text(message['stream']);
  const status = text(message['status']);
  const step = status === '' ? raw : [text(message['id']), status].filter((part) => part !== '').join(': ');
  const wrong = text(answer(message['errorDetail'])['message']) || text(message['error']);
  const failed = wrong !== '' || message['error'] !== undefined;
  return {
    text: foreignLine(step).trim(),
    raw,
    error: failed ? foreignLines(wrong || 'Docker does not say what went wrong') : undefined,
  };
}

/** dockerode takes a build context as a stream. */
export function contextStream(context: Buffer): NodeJS.ReadableStream {
  return Readable.from([context]);
}
