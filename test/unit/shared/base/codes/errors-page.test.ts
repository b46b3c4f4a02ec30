// docs/errors.md: each code with its cause, its fix and its messages.
import { globSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';

import { composedTexts } from '../../../../../scripts/composed-texts.ts';
import { allTexts, errorCodes, errorsPage, ruleCodes } from '../../../../../scripts/errors-page.ts';
import { FleetError } from '../../../../../src/shared/base/errors.ts';
import { findings } from '../../../../../src/shared/base/codes/tables.ts';
import { commands } from '../../../../../src/cli/commands.ts';
import { parseArguments } from '../../../../../src/cli/parse.ts';

const page = readFileSync('docs/errors.md', 'utf8');
const texts = allTexts();

describe('docs/errors.md', () => {
  test('is what "npm run docs" writes', () => {
    expect(page).toBe(errorsPage(texts));
  });

  test('has one row for each code, with cause and fix, and each code has a message', () => {
    expect(errorCodes.filter((code) => (texts.get(code) ?? []).length === 0)).toEqual([]);
    const rows = [...page.matchAll(/^\| `([a-z.-]+)` \| \S.* \| \S.* \| .*\|$/gm)].map(
      ([, code = '']) => code,
    );
    const inHealthPage = (code: string): boolean => ruleCodes.has(code);
    const all = [...errorCodes, ...Object.keys(findings.entries).filter((code) => !inHealthPage(code))];
    expect(rows.toSorted()).toEqual(all.toSorted());
  });

  test('has the message that a user sees', () => {
    let read = '';
    try {
      const silent = () => undefined;
      parseArguments(['nope'], commands, { out: silent, err: silent, env: {}, version: '0', columns: 80 });
    } catch (error) {
      if (error instanceof FleetError) read = error.message;
    }
    expect(read).toBe('there is no command "nope"');
    expect(page).toContain('there is no command "…"');
  });

  test('leaves out a message that repeats its cause', () => {
    const written = errorsPage(
      new Map([['ssh.dns', ['the name … cannot be resolved', 'no DNS server answers']]]),
    );
    expect(written).not.toContain('the name … cannot');
    expect(written).toContain('| no DNS server answers |');
  });
});

describe('texts that the source composes', () => {
  const source = globSync('{src,practice}/**/*.ts')
    .filter((file) => !file.startsWith('src/shared/base/codes/'))
    .map((file) => readFileSync(file, 'utf8'))
    .join('\n');

  test('are in the source', () => {
    const gone = Object.values(composedTexts).flatMap((texts) =>
      texts.flatMap((text) => text.split('…').filter((piece) => !source.includes(piece.trim()))),
    );
    expect(gone).toEqual([]);
  });

  test('are not read from the source as well', () => {
    const twice = [...texts.values()].filter((each) => new Set(each).size < each.length);
    expect(twice).toEqual([]);
  });
});
