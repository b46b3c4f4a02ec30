import { globSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');
const pages = globSync(['*.md', 'docs/*.md', 'dockeragent/*.md'], { cwd: root });

function exists(path: string): boolean {
  if (path.includes('*')) return globSync(path, { cwd: root }).length > 0;
  return statSync(join(root, path), { throwIfNoEntry: false }) !== undefined;
}

test('there are pages to look at', () => {
  expect(pages).toEqual(
    expect.arrayContaining(['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'docs/ssh.md']),
  );
});

test.each(pages)('%s names no file and no folder of the repository that is not there', (page) => {
  const text = readFileSync(join(root, page), 'utf8');
  const inText = [
    ...text.matchAll(/(?<![\w/.-])(?:src|test|docs|scripts|bench|demo|units|dockeragent)\/[\w./*-]*\w/g),
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

test('the unit points at no page that we do not have', () => {
  for (const unit of globSync('units/*', { cwd: root }))
    expect(readFileSync(join(root, unit), 'utf8')).not.toMatch(/https?:/);
});

test('the changelog goes by releases, from what is unreleased or this version down to the first', () => {
  const text = readFileSync(join(root, 'CHANGELOG.md'), 'utf8');
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
  const headings = [...text.matchAll(/^## (.*)$/gm)].map(([, heading = '']) => heading);
  const releases = headings[0] === 'Unreleased' ? headings.slice(1) : headings;
  expect(releases.filter((release) => !/^\d+\.\d+\.\d+ - 20\d\d-[01]\d-[0-3]\d$/.test(release))).toEqual([]);
  const versions = releases.map((release) => release.split(' ')[0] ?? '');
  expect(versions[0]).toBe(version);
  const newestFirst = new Intl.Collator('en', { numeric: true });
  expect(versions).toEqual([...new Set(versions)].toSorted((a, b) => newestFirst.compare(b, a)));
});
