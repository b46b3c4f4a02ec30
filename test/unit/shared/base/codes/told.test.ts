import { globSync, readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { describe, expect, test } from 'vitest';

import { errorsPage, toldCodes } from '../../../../../scripts/errors-page.ts';
import { healthCodes } from '../../../../../src/shared/base/codes/health.ts';

const files = globSync('{src,practice}/**/*.ts').filter((file) => !file.startsWith('src/shared/base/codes/'));
const source = files.map((file) => readFileSync(file, 'utf8')).join('\n');
const health = readFileSync('docs/health.md', 'utf8');

describe('docs/errors.md', () => {
  test('is what "npm run docs" writes', () => {
    expect(readFileSync('docs/errors.md', 'utf8')).toBe(errorsPage());
  });

  test('tells every table of codes, each code once', async () => {
    const modules = await Promise.all(
      globSync('src/shared/base/codes/*.ts').map(
        (file) => import(pathToFileURL(file).href) as Promise<object>,
      ),
    );
    const tables = modules.flatMap((exported) => Object.values(exported) as unknown[]);
    const codes = tables
      .filter((table) => typeof table === 'object' && table !== null && !Array.isArray(table))
      .flatMap((table) => Object.keys(table as object));
    expect(codes).toContain('ssh.refused');
    expect(toldCodes.toSorted()).toEqual(codes.toSorted());
    expect(new Set(toldCodes).size).toBe(toldCodes.length);
  });

  test('tells no code that nothing says', () => {
    // The state of a slot makes the code of its finding.
    const states = /trouble\(`agents\.\$\{state\}`/.test(source)
      ? ['backing-off', 'idle', 'quarantined', 'starting', 'stopping', 'waiting']
      : [];
    const said = new Set([
      ...[...source.matchAll(/'([a-z-]+(?:\.[a-z-]+)?)'/g)].map(([, code]) => code),
      ...states.map((state) => `agents.${state}`),
    ]);
    expect(toldCodes.filter((code) => !said.has(code))).toEqual([]);
  });
});

test('docs/health.md tells each code of a finding about GPUs, and each is found by something', () => {
  const told = new Set([...health.matchAll(/`([a-z-]+\.[a-z-]+)`/g)].map(([, code]) => code));
  expect(healthCodes.filter((code) => !told.has(code))).toEqual([]);
  expect(healthCodes.filter((code) => !source.includes(`'${code}'`))).toEqual([]);
});
