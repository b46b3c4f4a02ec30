import { globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { calls } from '../../../../src/shared/azure/calls.ts';
import { negotiate } from '../../../../practice/azure/discovery/api-version.ts';
import { locationOf } from '../../../../practice/azure/discovery/locations.ts';
import { apiVersion } from '../../../../src/shared/azure/http/rest.ts';
import { lines, samples, withAzureTables } from '../../../../scripts/azure-page.ts';

const page = readFileSync('docs/azure.md', 'utf8');

test('docs/azure.md explains every error code, and none that does not exist', () => {
  const files = globSync(['src/shared/azure/**/*.ts', 'src/fleet/apply/*.ts']);
  const sources = files.filter((file) => !file.startsWith('practice/azure/'));
  const text = sources.map((file) => readFileSync(file, 'utf8')).join('\n');
  const codes = (from: string, quote: string) =>
    new Set(
      [...from.matchAll(new RegExp(`${quote}(azure\\.[a-z-]+)${quote}`, 'gu'))].map(([, code]) => code),
    );
  expect(codes(page, '`')).toEqual(codes(text, "'"));
});

test('docs/azure.md has the tables of calls and facts as they are written', () => {
  expect(page).toBe(withAzureTables(page));
  const rows = page.split('\n').filter((line) => /^\| `(?:GET|POST|PUT|PATCH|DELETE) /u.test(line));
  expect(rows).toHaveLength(Object.keys(calls).length);
});

test('a page without its markers is not written', () => {
  expect(() => withAzureTables('# Azure DevOps')).toThrow('has no markers');
});

test('every fact has a source and a test, and every test is there', () => {
  for (const { about, fact, source, tests } of lines) {
    if (about !== undefined) continue;
    expect(source, fact).toMatch(/\w{4}/u);
    expect(tests, fact).not.toEqual([]);
    for (const test of tests ?? []) {
      const [file = '', words = ''] = test.split(/: (.*)/su);
      expect(file).toMatch(/^test\/(?:unit\/.*\.test|lab\/.*\.test|support\/node-client\/[\w-]+)\.ts$/u);
      expect(readFileSync(file, 'utf8'), test).toContain(words);
      expect(words, test).not.toBe('');
    }
  }
});

test.each(Object.entries(samples))('%s asks for a version that the service has', (_, call) => {
  const location = locationOf(call.path);
  if (location === undefined) throw new Error(`no resource of the service is at ${call.path}`);
  const asked = call.apiVersion ?? apiVersion;
  expect(negotiate(location, call.method, asked)).toEqual({ version: asked });
});
