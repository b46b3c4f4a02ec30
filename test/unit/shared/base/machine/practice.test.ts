import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

import { clockVariable, practiceOf, rootVariable } from '../../../../../src/shared/base/machine/practice.ts';

describe('where nothing is said', () => {
  test.each([{}, { [clockVariable]: '', [rootVariable]: '' }, { [clockVariable]: '1', [rootVariable]: '/' }])(
    'time is real, and so is the machine: %j',
    (env) => {
      const { clock, root, note } = practiceOf(env);
      expect(clock.scaled(60_000)).toBe(60_000);
      expect(root.prefix).toBe('');
      expect(note).toBeUndefined();
    },
  );
});

test('practice is as fast as said, finds GPUs where said, and says so', () => {
  const { clock, root, note } = practiceOf({ [clockVariable]: '20', [rootVariable]: '/opt/stand-in/' });
  expect(clock.scaled(60_000)).toBe(3000);
  expect(root.prefix).toBe('/opt/stand-in');
  expect(note).toBe(
    'practice: clock 20 times as fast (AZP_FLEET_PRACTICE_CLOCK); GPUs below /opt/stand-in (AZP_FLEET_PRACTICE_ROOT)',
  );
});

test.each([
  [clockVariable, 'fast'],
  [clockVariable, '0'],
  [clockVariable, '-3'],
  [clockVariable, '0.5'],
  [clockVariable, 'Infinity'],
  [rootVariable, 'opt/stand-in'],
  [rootVariable, '/opt/it is'],
  [rootVariable, '/opt/$(reboot)'],
  [rootVariable, '/opt//stand-in'],
])('%s=%s cannot be meant', (name, value) => {
  expect(() => practiceOf({ [name]: value })).toThrow(
    expect.objectContaining({
      exitCode: 2,
      problem: expect.objectContaining({
        code: 'usage.practice',
        what: `${name} cannot be used`,
        seen: value,
      }) as unknown,
    }),
  );
});

describe('the clock and the root come from the entry points', () => {
  const root = join(import.meta.dirname, '../../../../../..');
  const sources = globSync('src/**/*.ts', { cwd: root }).map((file) => ({
    file,
    text: readFileSync(join(root, file), 'utf8').replaceAll(/^\s*(\/\*\*|\*|\/\/).*$/gm, ''),
  }));
  const files = (pattern: RegExp) => sources.filter(({ text }) => pattern.test(text)).map(({ file }) => file);

  test("one file reads the machine's clocks", () => {
    expect(files(/\bDate\.now\b|\bnew Date\(\)|\bperformance\.|\bhrtime\b/)).toEqual([
      'src/shared/base/machine/clock.ts',
    ]);
  });

  test('three files look whether this is practice', () => {
    expect(files(/\bpracticeOf\(process\.env\)/).toSorted()).toEqual([
      'practice/azure/main.ts',
      'src/cli/main.ts',
      'src/manager/main.ts',
    ]);
    expect(files(/AZP_FLEET_PRACTICE/).toSorted()).toEqual([
      'practice/azure/main.ts',
      'src/shared/base/machine/practice.ts',
    ]);
  });
});
