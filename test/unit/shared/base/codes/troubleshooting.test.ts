// docs/troubleshooting.md: each code by what a user reads.
import { globSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';

import { composedTexts } from '../../../../../scripts/composed-texts.ts';
import { errorCodes } from '../../../../../scripts/errors-page.ts';
import { allTexts, troubleshootingPage } from '../../../../../scripts/troubleshooting-page.ts';
import { FleetError } from '../../../../../src/shared/base/errors.ts';
import { commands } from '../../../../../src/cli/commands.ts';
import { parseArguments } from '../../../../../src/cli/parse.ts';

const page = readFileSync('docs/troubleshooting.md', 'utf8');
const texts = allTexts();

describe('docs/troubleshooting.md', () => {
  test('is what "npm run docs" writes', () => {
    expect(page).toBe(troubleshootingPage(texts));
  });

  test('has an entry for each code, with words to look for', () => {
    expect(errorCodes.filter((code) => (texts.get(code) ?? []).length === 0)).toEqual([]);
    const entries = [...page.matchAll(/^\| \S.* \| \S.* \| \S.* \| `([a-z.-]+)` \|$/gm)].map(
      ([, code]) => code,
    );
    expect(new Set(entries)).toEqual(new Set(errorCodes));
    expect(entries).toHaveLength(errorCodes.length);
  });

  test('finds a message by the words that a user got', () => {
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
});

describe('texts that the source composes', () => {
  const source = globSync('{src,practice}/**/*.ts')
    .filter((file) => !file.startsWith('src/shared/base/codes/'))
    .map((file) => readFileSync(file, 'utf8'))
    .join('\n');

  test('are written by hand, and are still said', () => {
    const gone = Object.values(composedTexts).flatMap((texts) =>
      texts.flatMap((text) => text.split('…').filter((piece) => !source.includes(piece.trim()))),
    );
    expect(gone).toEqual([]);
  });

  test('are not those that can be read from it', () => {
    const twice = [...texts.values()].filter((each) => new Set(each).size < each.length);
    expect(twice).toEqual([]);
  });
});
