import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { clockVariable, practiceOf } from '../../../../src/shared/base/practice.ts';

describe('by default', () => {
  test.each([{}, { [clockVariable]: '' }, { [clockVariable]: '1' }])('time is real: %j', (env) => {
    const { clock, note } = practiceOf(env);
    expect(clock.scaled(60_000)).toBe(60_000);
    expect(note).toBeUndefined();
  });
});

test('practice runs at the chosen speed and prints it', () => {
  const { clock, note } = practiceOf({ [clockVariable]: '20' });
  expect(clock.scaled(60_000)).toBe(3000);
  expect(note).toBe('practice: clock 20 times as fast (AZP_FLEET_PRACTICE_CLOCK)');
});

test.each(['fast', '0', '-3', '0.5', 'Infinity'])('a speed of %s is a usage error', (value) => {
  expect(() => practiceOf({ [clockVariable]: value })).toThrow(
    expect.objectContaining({
      exitCode: 2,
      problem: expect.objectContaining({
        code: 'usage.practice',
        what: `${clockVariable} cannot be used`,
        seen: value,
      }) as unknown,
    }),
  );
});

describe('the clock comes from the entry points', () => {
  const root = join(import.meta.dirname, '../../../..');
  const sources = globSync('src/**/*.ts', { cwd: root }).map((file) => ({
    file,
    text: readFileSync(join(root, file), 'utf8').replaceAll(/^\s*(\/\*\*|\*|\/\/).*$/gm, ''),
  }));
  const files = (pattern: RegExp) => sources.filter(({ text }) => pattern.test(text)).map(({ file }) => file);

  test("one file reads the machine's clocks", () => {
    expect(files(/\bDate\.now\b|\bnew Date\(\)|\bperformance\.|\bhrtime\b/)).toEqual([
      'src/shared/base/clock.ts',
    ]);
  });

  test('only entry points read the practice variable', () => {
    expect(files(/\bpracticeOf\(process\.env\)/).toSorted()).toEqual([
      'src/cli/main.ts',
      'src/manager/main.ts',
    ]);
    expect(files(/AZP_FLEET_PRACTICE/)).toEqual(['src/shared/base/practice.ts']);
  });
});
