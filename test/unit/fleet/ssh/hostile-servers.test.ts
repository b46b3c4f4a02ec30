// docs/hostile-servers.md names the test that shows what each hostile server gets; the test exists under that title.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const docs = join(import.meta.dirname, '../../../../docs');
const rows = readFileSync(join(docs, 'hostile-servers.md'), 'utf8')
  .split('\n')
  .filter((line) => line.startsWith('| '))
  .slice(2)
  .map((line) => line.split(' | '));

test('the page has a row for each kind of hostile server', () => {
  expect(rows.length).toBeGreaterThan(45);
  const servers = rows.map(([server = '']) => server);
  expect(new Set(servers).size).toBe(servers.length);
});

test.each(rows.map(([server = '', got = '', shownBy = '']) => ({ server, got, shownBy })))(
  '$server',
  ({ got, shownBy }) => {
    expect(got).not.toBe('');
    const [, path = ''] = /\]\(([^)]+)\)/u.exec(shownBy) ?? [];
    expect(existsSync(join(docs, path))).toBe(true);
    const source = readFileSync(join(docs, path), 'utf8').replaceAll("\\'", "'");
    const [, title = ''] = /“(.*)”/u.exec(shownBy) ?? [];
    expect(title).not.toBe('');
    expect(source).toMatch(
      new RegExp(`['"\`]${title.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)}['"\`]`),
    );
  },
);
