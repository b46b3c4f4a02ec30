import { foreignLine, foreignLines } from '../../base/foreign-text.ts';

const longestInstructions = 2_000;
const mostLines = 20;
const longestPrompt = 300;

/**
 * What a server wants to know before it has let anybody in. Every line of it says who asks, and none can push that off
 * its place, so that nobody gives one machine the password of another.
 */
export function serverQuestion(who: string, instructions: string, prompt: string): string {
  const said = foreignLines(instructions, longestInstructions)
    .split('\n')
    .map(closed)
    .filter((line) => line !== '');
  const lines = said.length > mostLines ? [...said.slice(0, mostLines), '…'] : said;
  return [
    ...lines.map((line) => `${who} says: ${line}`),
    `${who}: ${closed(foreignLine(prompt, longestPrompt))}`,
  ].join('\n');
}

/** Many spaces would look like the end of the line. */
function closed(line: string): string {
  return line.replaceAll(/\s+/g, ' ').trim();
}
