// Printed text (screens, help, man page, docs, messages) contains none of the phrases in phrases.json.
import { globSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';

import { sourceStrings } from '../support/source-strings.ts';
import allowed from './phrases-allowed.json' with { type: 'json' };
import phrases from './phrases.json' with { type: 'json' };

const patterns = phrases.map(({ phrase, write }) => ({
  pattern: new RegExp(String.raw`(?<![\w'’-])(?:${phrase.replaceAll(' ', String.raw`\s+`)})(?![\w-])`, 'giu'),
  write,
}));

/** Returns each phrase that a text contains, with the words around it and what to write instead. */
function found(text: string): readonly string[] {
  return patterns.flatMap(({ pattern, write }) =>
    [...text.matchAll(pattern)].map(({ 0: phrase, index }) => {
      const around = text.slice(Math.max(0, index - 40), index + phrase.length + 30);
      return `${phrase.replaceAll(/\s+/g, ' ')} (write: ${write}): ${around.replaceAll(/\s+/g, ' ')}`;
    }),
  );
}

/** Returns a page without the test titles that it quotes. */
function printed(page: string): string {
  return readFileSync(page, 'utf8').replaceAll(/“[^”]*”/g, '');
}

const pages = globSync([
  '*.md',
  'docs/**/*.{md,txt}',
  'dockeragent/README.md',
  'examples/**/*.{md,tf,yaml}',
  'inventory.example.yaml',
  'man/azp-fleet.1',
  'test/unit/cli/screens/**/*.txt',
]);
const sources = globSync('src/**/*.ts');

test('at most 30 phrases are listed', () => {
  expect(phrases.length).toBeLessThanOrEqual(30);
});

test.each([
  ['it is as\nwanted', 1],
  ["Somebody's job goes on", 2],
  ['it is secure, recommended and a-new', 0],
])('%s', (text, count) => {
  expect(found(text)).toHaveLength(count);
});

describe('none is in', () => {
  test.each([...pages, ...sources].filter((file) => !allowed.some((prefix) => file.startsWith(prefix))))(
    '%s',
    (file) => {
      expect(found(file.endsWith('.ts') ? sourceStrings(file).join('\n¶\n') : printed(file))).toEqual([]);
    },
  );
});
