import fc from 'fast-check';
import { expect, test } from 'vitest';

import { foldNames, namesInShort } from '../../../../src/fleet/inventory/fold-names.ts';

const count = (first: number, last: number, name: (number: string) => string, width = 1) =>
  Array.from({ length: last - first + 1 }, (_, index) => name(String(first + index).padStart(width, '0')));
const gpu = (first: number, last: number) => count(first, last, (number) => `gpu-${number}`, 3);

test.each<[string, readonly string[]]>([
  ['', []],
  ['rtx-box', ['rtx-box']],
  ['h200-1, h200-2', ['h200-1', 'h200-2']],
  ['h200-[1-3]', ['h200-1', 'h200-2', 'h200-3']],
  ['h200-[1-3]', ['h200-3', 'h200-1', 'h200-2', 'h200-1']],
  ['gpu-[000-299]', gpu(0, 299)],
  ['gpu-[000-099,150,200-299]', [...gpu(0, 99), ...gpu(150, 150), ...gpu(200, 299)]],
  ['n[8-11]', ['n8', 'n9', 'n10', 'n11']],
  ['n[08-11]', ['n08', 'n09', 'n10', 'n11']],
  ['n[98-101]', ['n98', 'n99', 'n100', 'n101']],
  ['n[8-9,08-10]', ['n8', 'n9', 'n08', 'n09', 'n10']],
  ['r[1-2]-n[01-04]', ['r1', 'r2'].flatMap((rack) => count(1, 4, (n) => `${rack}-n${n}`, 2))],
  ['r1-n[1-3], r2-n[1-4]', [...count(1, 3, (n) => `r1-n${n}`), ...count(1, 4, (n) => `r2-n${n}`)]],
  ['r[1-3]-gpu', ['r1-gpu', 'r2-gpu', 'r3-gpu']],
  ['b, a[1-3], c', ['b', 'a1', 'c', 'a2', 'a3']],
  ['gpu-[1-3].lab.example', count(1, 3, (n) => `gpu-${n}.lab.example`)],
  ['Azure DevOps', ['Azure DevOps', 'Azure DevOps']],
  ['a[1-2], a1, a2', ['a[1-2]', 'a1', 'a2']],
  [
    'n[1,3,5,7,9,11,13,15,17,19,21,23], n[25,27,29,31,33,35,37,39,41,43,45,47]',
    Array.from({ length: 24 }, (_, index) => `n${2 * index + 1}`),
  ],
  ['n1, n12345678901234567890, n2', ['n1', 'n12345678901234567890', 'n2']],
])('%s', (folded, names) => {
  expect(foldNames(names)).toBe(folded);
});

/** Expands a fold independently of its code: each bracket is the numbers of its ranges. */
function unfold(folded: string): string[] {
  const words = folded === '' ? [] : folded.split(', ');
  return words.flatMap((word) =>
    word.split(/(\[[^\]]*\])/).reduce<string[]>(
      (names, part) => {
        const texts = part.startsWith('[') ? counted(part.slice(1, -1)) : [part];
        return names.flatMap((name) => texts.map((text) => `${name}${text}`));
      },
      [''],
    ),
  );
}

function counted(inner: string): string[] {
  return inner.split(',').flatMap((range) => {
    const [first = '', last = first] = range.split('-');
    return count(Number(first), Number(last), (number) => number, first.length);
  });
}

const number = fc.oneof(
  fc.nat(12).map(String),
  fc.nat(120).map((value) => String(value).padStart(3, '0')),
  fc.nat(12).map((value) => String(value).padStart(2, '0')),
);
const name = fc
  .tuple(
    fc.constantFrom('gpu', 'r', 'n', '7x'),
    fc.array(fc.tuple(number, fc.constantFrom('-', '.n', 'x'))),
    fc.option(number, { nil: '' }),
  )
  .map(([start, middle, end]) => `${start}${middle.flat().join('')}${end}`);

test('a fold expands to exactly its names', () => {
  fc.assert(
    fc.property(fc.array(name, { maxLength: 60 }), (names) => {
      const read = unfold(foldNames(names));
      expect(new Set(read)).toEqual(new Set(names));
      expect(read).toHaveLength(new Set(names).size);
    }),
  );
});

test('the order of the names does not change the fold', () => {
  fc.assert(
    fc.property(fc.shuffledSubarray(gpu(0, 40), { minLength: 41 }), (names) => {
      expect(foldNames(names)).toBe('gpu-[000-040]');
    }),
  );
});

test.each([
  ['gpu-[000-299]', gpu(0, 299)],
  ['a, b, c', ['a', 'b', 'c']],
  ['n1, n4, n9 and 37 more', Array.from({ length: 40 }, (_, index) => `n${(index + 1) ** 2}`)],
])('within a sentence: %s', (short, names) => {
  expect(namesInShort(names)).toBe(short);
});
