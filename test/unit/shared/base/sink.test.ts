// Only a few files may write past the output filter.
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '../../../..');

function filesWith(pattern: RegExp): string[] {
  return globSync('{src,practice/azure}/**/*.ts', { cwd: root })
    .filter((file) => !file.startsWith('practice/azure/'))
    .filter((file) => pattern.test(readFileSync(join(root, file), 'utf8')))
    .sort();
}

test('only the two programs use the streams of the process', () => {
  expect(filesWith(/\bconsole\.\w+\(|(?<!child|running|this\.#)\bprocess\.std(?:out|err)\.write/)).toEqual([
    'src/cli/main.ts',
    'src/manager/main.ts',
  ]);
});

test('only cursor movements and requested output bypass the filter', () => {
  expect(filesWith(/\.unfiltered\b|\bunfiltered\.|\bunfiltered \}/)).toEqual([
    'src/cli/ask.ts',
    'src/cli/main.ts',
    'src/cli/render/lines.ts',
    'src/cli/render/progress.ts',
    'src/cli/setup/terminal.ts',
    'src/cli/watch/terminal.ts',
  ]);
});
