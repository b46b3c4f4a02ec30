// The agent's console.
import { openTrace } from './trace.mjs';
import { wordsFor } from './words.mjs';

const words = wordsFor(process.env);
const trace = openTrace('Agent');

/** `2026-11-21 20:58:20Z` */
export const stamp = () =>
  new Date()
    .toISOString()
    .replace('T', ' ')
    .replace(/\.\d+Z$/u, 'Z');

/** Writes a line, and returns it. */
export function say(name, ...values) {
  const line = words[name](...values);
  trace(line);
  process.stdout.write(`${line}\n`);
  return line;
}

export function sayError(name, ...values) {
  const line = words[name](...values);
  trace(line, 'ERR');
  process.stderr.write(`${line}\n`);
}
