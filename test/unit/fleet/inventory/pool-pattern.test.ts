import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { fillPool, mayBecome, placeholders } from '../../../../src/fleet/inventory/pool-pattern.ts';

describe('a name with braces', () => {
  test.each([
    ['gpu-lab', { arch: 'x64' }, 'gpu-lab'],
    ['{arch}-cuda{cuda}', { arch: 'x64', cuda: '13.0' }, 'x64-cuda13.0'],
    ['{arch}-cuda{cuda}', { arch: 'arm64' }, 'arm64-cuda{cuda}'],
    ['GPU lab ({group})', { group: 'hopper' }, 'GPU lab (hopper)'],
    ['{host}', { host: 'a/b:c' }, 'a-b-c'],
    ['{group}-x', { group: '{host}' }, 'host-x'],
    ['{toString}', {}, '{toString}'],
  ])('%s with %j is %s', (pattern, values, name) => {
    expect(fillPool(pattern, values)).toBe(name);
  });

  test('with all values known, no brace is left, and every character is valid in Azure DevOps', () => {
    const value = fc.string();
    const values = fc.record({
      arch: value,
      cuda: value,
      cudaMajor: value,
      generation: value,
      group: value,
      host: value,
    });
    fc.assert(
      fc.property(values, (known) => {
        const pattern = placeholders.map((name) => `{${name}}`).join('-');
        expect(fillPool(pattern, known)).toMatch(/^[\p{L}\p{N}._-]*$/u);
      }),
    );
  });
});

test.each([
  ['gpu-lab', 'GPU-lab', true],
  ['x64-cuda{cuda}', 'x64-cuda13.0', true],
  ['x64-cuda{cuda}', 'arm64-cuda13.0', false],
  ['x64-cuda{cuda}', 'x64-cuda', false],
  ['a.b+{cuda}', 'axb+1', false],
])('%s may become %s: %s', (pattern, name, matches) => {
  expect(mayBecome(pattern, name)).toBe(matches);
});
