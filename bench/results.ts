import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { machine } from './machine.ts';
import { type Measured, type Part, speedChart, speedPage } from './page.ts';
import { readFloors, type Seen } from './floor.ts';

const file = new URL('RESULTS.md', import.meta.url);
const measuredFile = new URL('measured.json', import.meta.url);

const preface = `# Measurements

Written by \`npm run bench\`, \`npm run soak -- --record\` and \`npm run test:mutants -- --record\`, each section by its own
run. The machines are the lab's: containers with systemd on one computer, stand-in GPUs, a practice Azure DevOps beside
them; all share the processors.
`;

function readMeasured(): Measured {
  return JSON.parse(readFileSync(measuredFile, 'utf8')) as Measured;
}

/** Returns the files of docs that show the rows, by name. */
export function speedDocs(): Readonly<Record<string, string>> {
  const [floors, measured] = [readFloors(), readMeasured()];
  return { 'speed.md': speedPage(floors, measured), 'speed.svg': speedChart(floors, measured) };
}

/** The text with the section of that name put in, or replaced. Pure. */
export function withSection(text: string, name: string, body: string): string {
  const section = `## ${name}\n\n${body.trim()}\n`;
  const parts = text.split(/^(?=## )/mu);
  const at = parts.findIndex((part) => part.startsWith(`## ${name}\n`));
  const kept = parts.map((part, index) => (index === at ? section : `${part.trimEnd()}\n`));
  return (at === -1 ? [...kept, section] : kept).join('\n');
}

/** As Markdown. Pure. */
export function table(
  head: readonly string[],
  rows: readonly (readonly (string | number | undefined)[])[],
): string {
  return [head, head.map(() => '---'), ...rows]
    .map((cells) => `| ${cells.map((cell) => cell ?? '').join(' | ')} |`)
    .join('\n');
}

let isRecording = true;

/** From now on figures are printed and not kept. */
export function stopRecording(): void {
  isRecording = false;
}

/** The rows of this process's parts, by name of the part. */
const recorded: Record<string, Part> = {};

/** Returns the rows that this process has measured. */
export function seenNow(): Seen {
  return Object.assign({}, ...Object.values(recorded).map(({ rows }) => rows)) as Seen;
}

/**
 * Prints figures and keeps them, with the day and the machine, in bench/RESULTS.md; rows of bench/floor.json also in
 * bench/measured.json. A part that records several sections names itself in `more`.
 */
export function recordResults(
  name: string,
  title: string,
  body: string,
  more?: { readonly rows: Seen; readonly part?: string; readonly beside?: string },
): void {
  process.stdout.write(`${name}: ${title}\n${body}\n`);
  const on = new Date().toISOString().slice(0, 10);
  const beside = more?.beside === undefined ? '' : `; ${more.beside}`;
  const section = `${title}\n\n${on}; ${machine()}${beside}.\n\n${body}`;
  if (more !== undefined) {
    const { part = name, rows, ...rest } = more;
    recorded[part] = { on, machine: machine(), ...rest, rows: { ...recorded[part]?.rows, ...rows } };
  }
  if (!isRecording) return;
  writeFileSync(file, withSection(existsSync(file) ? readFileSync(file, 'utf8') : preface, name, section));
  const measured = { ...readMeasured() };
  for (const [part, now] of Object.entries(recorded)) {
    // A quick run measures fewer rows: those of the last whole run stay.
    measured[part] = { ...now, rows: { ...measured[part]?.rows, ...now.rows } };
  }
  writeFileSync(measuredFile, measuredText(measured));
}

/** As JSON with a row a line, in four digits. Pure. */
function measuredText(measured: Measured): string {
  const rounded = (_key: string, value: unknown): unknown =>
    typeof value === 'number' ? Number(value.toPrecision(4)) : value;
  const text = JSON.stringify(measured, rounded, 2);
  return `${text.replaceAll(/\[[^\]]*\]/gu, (list) => list.replaceAll(/\s+/gu, ' '))}\n`;
}
