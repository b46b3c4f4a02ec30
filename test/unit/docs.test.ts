import { globSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';

import { withScreens } from '../../scripts/screens-in-pages.ts';
import { sourceStrings } from '../support/source-strings.ts';

const root = join(import.meta.dirname, '../..');
const pages = globSync(['*.md', 'docs/*.md', 'dockeragent/*.md', 'examples/**/*.md'], { cwd: root });

function exists(path: string): boolean {
  if (path.includes('*')) return globSync(path, { cwd: root }).length > 0;
  return statSync(join(root, path), { throwIfNoEntry: false }) !== undefined;
}

test('the pages are found', () => {
  expect(pages).toEqual(
    expect.arrayContaining(['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'docs/ssh.md']),
  );
});

test.each(pages)('%s names only files and folders that exist', (page) => {
  const text = readFileSync(join(root, page), 'utf8');
  const inText = [
    ...text.matchAll(/(?<![\w/.-])(?:src|practice|test|docs|scripts|bench|units|dockeragent)\/[\w./*-]*\w/g),
  ]
    .map(([path]) => path)
    // NAME stands for the reader's own.
    .filter((path) => !/[A-Z]{4}/.test(path));
  const links = [...text.matchAll(/\]\((?!https?:|#)([^)#]+)/g)].map(([, to = '']) =>
    join(dirname(page), to),
  );
  const missing = [...inText, ...links].filter((path) => !exists(path) && !exists(join(dirname(page), path)));
  expect(missing).toEqual([]);
});

/** The anchor that GitHub gives a heading. */
function anchor(heading: string): string {
  const plain = heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1');
  return plain
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(/\s/g, '-');
}

/** The lines of a page outside its blocks of code. */
function proseLines(page: string): readonly string[] {
  return readFileSync(join(root, page), 'utf8')
    .replaceAll(/^```[\s\S]*?^```/gm, '')
    .split('\n');
}

function anchorsOf(page: string): ReadonlySet<string> {
  return new Set(proseLines(page).flatMap((line) => /^#+ (.*)$/.exec(line)?.slice(1).map(anchor) ?? []));
}

test.each(pages)('%s links only to headings that exist', (page) => {
  const prose = proseLines(page).join('\n');
  const missing = [...prose.matchAll(/\]\((?!https?:)([^)#\s]*)#([^)\s]+)\)/g)]
    .filter(([, to = '', name = '']) => {
      const target = to === '' ? page : join(dirname(page), to);
      return target.endsWith('.md') && !(exists(target) && anchorsOf(target).has(name));
    })
    .map(([link]) => link);
  expect(missing).toEqual([]);
});

test.each(pages)('%s quotes titles of tests that exist', (page) => {
  const text = readFileSync(join(root, page), 'utf8');
  const missing = [...text.matchAll(/\]\(([^)\s]+\.test\.ts)\)[^“\n]*“([^”]+)”/g)].filter(
    ([, path = '', title = '']) => {
      const source = readFileSync(join(root, dirname(page), path), 'utf8').replaceAll(String.raw`\'`, "'");
      return !['"', "'", '`'].some((quote) => source.includes(`${quote}${title}${quote}`));
    },
  );
  expect(missing.map(([, path, title]) => `${path}: ${title}`)).toEqual([]);
});

test.each(['docs/faults.md', 'docs/hostile-servers.md'])(
  '%s has different rows, each with a test',
  (page) => {
    const rows = proseLines(page).filter((line) => line.startsWith('| '));
    const cells = rows.slice(2).map((line) => line.split(' | '));
    expect(cells.length).toBeGreaterThan(45);
    expect(new Set(cells.map(([first]) => first)).size).toBe(cells.length);
    const incomplete = cells.filter(([, seen, shownBy]) => !seen || !shownBy?.includes('.test.ts)'));
    expect(incomplete).toEqual([]);
  },
);

test('the README links to the index, and the index to every page', () => {
  expect(readFileSync(join(root, 'README.md'), 'utf8')).toContain('](docs/README.md)');
  const index = readFileSync(join(root, 'docs/README.md'), 'utf8');
  const docs = pages.filter((page) => page.startsWith('docs/') && page !== 'docs/README.md');
  expect(docs.filter((page) => !index.includes(`](${page.slice('docs/'.length)})`))).toEqual([]);
});

const generated = ['docs/commands.md', 'docs/errors.md', 'docs/findings.md'];
const read = pages.filter((page) => page.startsWith('docs/') && !generated.includes(page));

test.each(read)('%s has fewer than 250 lines', (page) => {
  expect(readFileSync(join(root, page), 'utf8').split('\n').length).toBeLessThan(250);
});

test.each(read.filter((page) => page !== 'docs/README.md'))('%s begins with a command', (page) => {
  const begin = readFileSync(join(root, page), 'utf8').split('\n').slice(0, 20).join('\n');
  expect(begin).toMatch(/^(?: {4}|\$ )?(?:azp-fleet|npm|az|curl|terraform|git|systemctl) /m);
});

test.each(pages)('%s shows screens as "npm run docs" writes them', (page) => {
  const text = readFileSync(join(root, page), 'utf8');
  expect(text).toBe(withScreens(text));
});

describe('one style', () => {
  // The changelog has its own style, by releases.
  const styled = pages.filter((page) => page !== 'CHANGELOG.md');

  test.each(styled)('%s has one title, headings with a line around them, and tables of one style', (page) => {
    const lines = proseLines(page);
    expect(lines[0]).toMatch(/^# \S/);
    expect(lines.filter((line) => line.startsWith('# '))).toHaveLength(1);
    const wrong = lines.filter((line, index) => {
      const before = lines[index - 1] ?? '';
      if (/^#+ /.test(line)) return before !== '' || (lines[index + 1] ?? '') !== '' || /[.:]$/.test(line);
      return /^\|[-\s|:]+\|$/.test(line) && /-\||\|-/.test(line);
    });
    expect(wrong).toEqual([]);
  });
});

test('the unit links to no web page', () => {
  for (const unit of globSync('units/*', { cwd: root }))
    expect(readFileSync(join(root, unit), 'utf8')).not.toMatch(/https?:/);
});

test('the changelog lists releases from the newest to the first', () => {
  const text = readFileSync(join(root, 'CHANGELOG.md'), 'utf8');
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
  const headings = [...text.matchAll(/^## (.*)$/gm)].map(([, heading = '']) => heading);
  const unreleased = headings[0] === 'Unreleased';
  const releases = unreleased ? headings.slice(1) : headings;
  expect(releases.filter((release) => !/^\d+\.\d+\.\d+ - 20\d\d-[01]\d-[0-3]\d$/.test(release))).toEqual([]);
  const versions = releases.map((release) => release.split(' ')[0] ?? '');
  if (!unreleased) expect(versions[0]).toBe(version);
  const newestFirst = new Intl.Collator('en', { numeric: true });
  expect(newestFirst.compare(version, versions[0] ?? '')).toBeGreaterThanOrEqual(0);
  expect(versions).toEqual([...new Set(versions)].toSorted((a, b) => newestFirst.compare(b, a)));
});

test('the changelog has one line for each change', () => {
  const lines = readFileSync(join(root, 'CHANGELOG.md'), 'utf8').split('\n');
  expect(
    lines.filter((line) => line.startsWith(' ') || (line.startsWith('- ') && line.length > 120)),
  ).toEqual([]);
});

describe('output that a page shows without a marker', () => {
  const phrases = globSync('src/**/*.ts', { cwd: root })
    .flatMap((file) => sourceStrings(join(root, file)))
    .flatMap((text) => text.split('…'))
    .map((text) => text.replaceAll(/\s+/g, ' ').trim())
    .filter((text) => text.length > 3);
  const blocks = pages.flatMap((page) =>
    [...readFileSync(join(root, page), 'utf8').matchAll(/^```text\n([^]*?)^```/gm)].map(
      ([, block = '']) => [page, block] as const,
    ),
  );

  test.each(blocks)('%s has only words that the program prints', (_, block) => {
    // Behind │ are the words of a host.
    const shown = block.replaceAll(/^.*│.*$/gm, '').replaceAll(/\s+/g, ' ');
    const printed = new Set<number>();
    for (const phrase of new Set(phrases))
      for (let at = shown.indexOf(phrase); at !== -1; at = shown.indexOf(phrase, at + 1))
        for (const index of Array(phrase.length).keys()) printed.add(at + index);
    const words = [...shown.matchAll(/(?<![\w@-])[a-z]{4,}(?![\w-])/g)];
    expect(words.filter(({ index }) => !printed.has(index)).map(([word]) => word)).toEqual([]);
  });
});
