import { execFileSync } from 'node:child_process';

import fc from 'fast-check';
import { expect, test } from 'vitest';

import { frameScript, parseFrames } from '../../../../../src/fleet/ssh/session/frames.ts';

function run(script: string): string {
  return execFileSync('/bin/sh', [], { input: script, encoding: 'utf8' });
}

test('the output of probes is separated, whatever they write and however they end', () => {
  const frames = parseFrames(
    run(
      frameScript(
        [
          { name: 'lines', script: "printf 'a\\n\\nb\\n'; echo e >&2" },
          { name: 'silent', script: ':' },
          { name: 'code', script: 'exit 42' },
          { name: 'lookalike', script: 'printf "frames 0\\n\\nend 0 1 2 3\\n"' },
          { name: 'long', script: 'head -c 5000 /dev/zero | tr "\\0" x; echo e >&2' },
          { name: 'last', script: 'echo last' },
        ],
        1000,
      ),
    ),
  );
  expect(frames.get('lines')).toMatchObject({ code: 0, stdout: 'a\n\nb\n', stderr: 'e\n', timedOut: false });
  expect(frames.get('silent')).toMatchObject({ code: 0, stdout: '', stderr: '' });
  expect(frames.get('code')?.code).toBe(42);
  expect(frames.get('long')).toMatchObject({ code: 0, stdout: 'x'.repeat(1000), stderr: 'e\n' });
  expect(frames.get('last')?.stdout).toBe('last\n');
  expect(frames.get('lookalike')?.stdout).toBe('frames 0\n\nend 0 1 2 3\n');
});

test('noise around the frames is ignored; without frames the map is empty', () => {
  const text = run(frameScript([{ name: 'one', script: 'echo 1' }], 1000));
  expect(parseFrames(`Welcome!\n${text}`).get('one')?.stdout).toBe('1\n');
  expect(parseFrames('bash: command not found').size).toBe(0);
});

test('any text that a probe writes is returned exactly', () => {
  const text = fc.string({ unit: 'grapheme', maxLength: 40 }).filter((value) => !value.includes('\0'));
  fc.assert(
    fc.property(fc.array(text, { minLength: 1, maxLength: 4 }), (texts) => {
      const probes = texts.map((value, index) => ({
        name: `p${index}`,
        script: `printf %s '${value.replaceAll("'", `'\\''`)}'`,
      }));
      const frames = parseFrames(run(frameScript(probes, 100_000)));
      expect(texts.map((_value, index) => frames.get(`p${index}`)?.stdout)).toEqual(texts);
    }),
    { numRuns: 5 },
  );
});
