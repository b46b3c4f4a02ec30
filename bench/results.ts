import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { machine } from './machine.ts';

const file = new URL('RESULTS.md', import.meta.url);

const preface = `# Measurements

Written by \`npm run bench\`, \`npm run soak -- --record\` and \`npm run test:mutants -- --record\`, each section by its own
run. The machines are the lab's: containers with systemd on one computer, stand-in GPUs, a practice Azure DevOps beside
them; all share the processors.
`;

/** The text with the section of that name put in, or replaced. Pure. */
export function withSection(text: string, name: string, body: string): string {
  const section = `## ${name}\n\n${body.trim()}\n`;
  const parts = text.split(/^(?=## )/mu);
  const at = parts.findIndex((part) => part.startsWith(`## ${name}\n`));
  const kept = parts.map((part, index) => (index === at ? section : `${part.trimEnd()}\n`));
  return (at === -1 ? [...kept, section] : kept).join('\n');
}

/** Prints figures and keeps them, with the day and the machine, in bench/RESULTS.md. */
export function recordResults(name: string, title: string, body: string): void {
  process.stdout.write(`${name}: ${title}\n${body}\n`);
  const day = new Date().toISOString().slice(0, 10);
  const section = `${title}\n\n${day}; ${machine()}.\n\n${body}`;
  writeFileSync(file, withSection(existsSync(file) ? readFileSync(file, 'utf8') : preface, name, section));
}
