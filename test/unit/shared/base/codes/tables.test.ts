import { globSync, readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { describe, expect, test } from 'vitest';

import { errorCodes } from '../../../../../scripts/errors-page.ts';
import { findingsPage } from '../../../../../scripts/findings-page.ts';
import { findings } from '../../../../../src/shared/base/codes/tables.ts';

const files = globSync('{src,practice}/**/*.ts').filter((file) => !file.startsWith('src/shared/base/codes/'));
const source = files.map((file) => readFileSync(file, 'utf8')).join('\n');
const page = readFileSync('docs/findings.md', 'utf8');

describe('docs/errors.md', () => {
  test('has every table of codes, each code once', async () => {
    const modules = await Promise.all(
      globSync('src/shared/base/codes/*.ts').map(
        (file) => import(pathToFileURL(file).href) as Promise<Record<string, object>>,
      ),
    );
    const tables = modules.flatMap((exported) =>
      Object.entries(exported).flatMap(([name, table]) => (name.endsWith('Codes') ? [table] : [])),
    );
    const codes = tables.flatMap((table) => Object.keys(table));
    expect(codes).toContain('ssh.refused');
    const all = [...errorCodes, ...Object.keys(findings.entries)];
    expect(all.toSorted()).toEqual(codes.toSorted());
    expect(new Set(all).size).toBe(all.length);
  });

  test('has no code that the source does not use', () => {
    // The code of this finding is built from the state of a slot.
    const states = /trouble\(`agents\.\$\{state\}`/.test(source)
      ? ['backing-off', 'idle', 'quarantined', 'starting', 'stopping', 'waiting']
      : [];
    const said = new Set([
      ...[...source.matchAll(/'([a-z-]+(?:\.[a-z-]+)?)'/g)].map(([, code]) => code),
      ...states.map((state) => `agents.${state}`),
    ]);
    expect(errorCodes.filter((code) => !said.has(code))).toEqual([]);
  });
});

describe('docs/findings.md', () => {
  test('is what "npm run docs" writes', () => {
    expect(page).toBe(findingsPage());
  });

  test('has each code of a finding about GPUs, and the source uses each', () => {
    const codes = Object.keys(findings.entries);
    expect(codes.filter((code) => !page.includes(`| \`${code}\` |`))).toEqual([]);
    expect(codes.filter((code) => !source.includes(`'${code}'`))).toEqual([]);
  });

  test('has a different title for each finding', () => {
    const titles = [...page.matchAll(/^\| `[^|]* \| ([^|]*) \|/gm)].map(([, title]) => title);
    expect(titles.length).toBeGreaterThan(100);
    expect(titles.filter((title, at) => titles.indexOf(title) !== at)).toEqual([]);
  });
});
