import { styleText } from 'node:util';

import { progress } from '../lab/say.ts';

const bold = (text: string): string => styleText('bold', text, { stream: process.stdout });
const dim = (text: string): string => styleText('dim', text, { stream: process.stdout });

/** Shows the lab's own progress below the heading of a part. */
export function reportSteps(): void {
  progress.report = (line, seconds) => {
    process.stdout.write(`  ${line} ${dim(`(${seconds} s)`)}\n`);
  };
}

export function heading(text: string): void {
  process.stdout.write(`\n${bold(`── ${text} ${'─'.repeat(Math.max(0, 74 - text.length))}`)}\n\n`);
}

export function command(text: string): void {
  process.stdout.write(`${bold(`$ ${text}`)}\n`);
}

export function line(text: string): void {
  process.stdout.write(`${text}\n`);
}
