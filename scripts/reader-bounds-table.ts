import type { ReaderBound } from '../src/shared/base/reader-bounds.ts';

const written =
  /(<!-- Written by `npm run docs` from src\/shared\/base\/reader-bounds\.ts; a test holds the two together\. -->\n)[\s\S]*?(<!-- Until here\. -->)/;

/** Returns docs/security.md with the table of bounds between its two markers. */
export function withBoundsTable(page: string, bounds: Readonly<Record<string, ReaderBound>>): string {
  if (!written.test(page)) throw new Error('docs/security.md has no markers around the table of bounds');
  return page.replace(written, (_, start: string, end: string) => `${start}\n${table(bounds)}\n${end}`);
}

function table(bounds: Readonly<Record<string, ReaderBound>>): string {
  const rows = Object.values(bounds).map(
    ({ source, beyond, ...most }) =>
      `| ${source} | ${Object.entries(most).map(shown).join(', ')} | ${beyond} |`,
  );
  return ['| source | at most | beyond |', '| --- | --- | --- |', ...rows, ''].join('\n');
}

function shown([name, most]: readonly [string, unknown]): string {
  const count = Number(most);
  if (name === 'bytes') return sizeOf(count);
  if (name === 'headerBytes') return `${sizeOf(count)} of headers`;
  if (name === 'requestMs') return `${count / 1000} s`;
  return `${count.toLocaleString('en-US')} ${name}`;
}

function sizeOf(bytes: number): string {
  return bytes < 1024 ** 2 ? `${bytes / 1024} KiB` : `${bytes / 1024 ** 2} MiB`;
}
