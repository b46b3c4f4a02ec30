// docs/faults.md names a test for each fault. A test of that title must exist.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const docs = join(import.meta.dirname, '../../../docs');
const rows = readFileSync(join(docs, 'faults.md'), 'utf8')
  .split('\n')
  .filter((line) => line.startsWith('| ') && !line.startsWith('| ---'))
  .slice(1)
  .map((line) => line.split(' | '));

test('the page has a row for each known fault', () => {
  expect(rows.length).toBeGreaterThan(45);
  const faults = rows.map(([fault = '']) => fault);
  expect(new Set(faults).size).toBe(faults.length);
});

test.each(rows.map(([fault = '', seen = '', shownBy = '']) => ({ fault, seen, shownBy })))(
  '$fault',
  ({ seen, shownBy }) => {
    expect(seen).not.toBe('');
    const [, path = ''] = /\]\(([^)]+)\)/u.exec(shownBy) ?? [];
    const source = readFileSync(join(docs, path), 'utf8').replaceAll("\\'", "'");
    const [, title = 'test'] = /“(.*)”/u.exec(shownBy) ?? [];
    expect(source).toContain(title);
  },
);
