import { foreignLine, foreignLines } from '../../../shared/base/foreign-text.ts';
import type { Question } from '../ask.ts';
import type { ConnectionOptions } from '../config/connection-options.ts';
import { where } from '../failures.ts';

const longestInstructions = 2_000;
const mostLines = 20;
const longestPrompt = 300;

/** What a server wants to know before it has let anybody in: that it asks is said in our words, the rest is its own. */
export function serverQuestion(
  options: Pick<ConnectionOptions, 'name' | 'user' | 'hostname' | 'port'>,
  instructions: string,
  { prompt, echo }: { readonly prompt: string; readonly echo?: boolean | undefined },
): Question {
  const lines = foreignLines(instructions, longestInstructions)
    .split('\n')
    .map(closed)
    .filter((line) => line !== '');
  const shown = lines.length > mostLines ? [...lines.slice(0, mostLines), '…'] : lines;
  return {
    host: options.name,
    text: `${where(options)} asks, in its own words:`,
    said: [...shown, closed(foreignLine(prompt, longestPrompt))].join('\n'),
    hidden: echo !== true,
  };
}

/** Many spaces would look like the end of the line. */
function closed(line: string): string {
  return line.replaceAll(/[\s\u2800]+/g, ' ').trim();
}
