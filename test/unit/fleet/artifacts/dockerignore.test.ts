import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { dockerignore } from '../../../../src/fleet/artifacts/dockerignore.ts';

/** Docker's examples (docs: "Dockerfile reference, .dockerignore file"), and results of its matcher. */
const cases: readonly (readonly [file: string, left: readonly string[], kept: readonly string[]])[] = [
  ['*/temp*', ['a/temp', 'a/temporary.txt', 'a/temp/x'], ['temp', 'a/b/temp']],
  ['*/*/temp*', ['a/b/temporary.txt'], ['a/temp', 'temp']],
  ['temp?', ['tempa', 'tempb/x'], ['temp', 'tempab', 'a/tempa']],
  ['**/*.go', ['a.go', 'a/b/c.go'], ['a.got', 'go']],
  ['*.md\n!README.md', ['NOTES.md'], ['README.md', 'a/NOTES.md']],
  ['*.md\n!README*.md\nREADME-secret.md', ['README-secret.md', 'x.md'], ['README-1.md']],
  ['*.md\nREADME-secret.md\n!README*.md', ['x.md'], ['README-secret.md', 'README-1.md']],
  ['# *.md\n\n   \n', [], ['x.md', '# *.md']],
  ['/secret/', ['secret', 'secret/a/b'], ['a/secret', 'secrets']],
  ['./a/../b//c/.', ['b/c', 'b/c/d'], ['a', 'b']],
  ['a/**/z', ['a/z', 'a/b/z', 'a/b/c/z'], ['a', 'z', 'ab/z']],
  ['a/**', ['a/b', 'a/b/c'], ['a', 'b']],
  ['**', ['a', 'a/b'], []],
  ['[a-c].txt', ['a.txt', 'c.txt'], ['d.txt', 'aa.txt']],
  ['[^a].txt', ['b.txt'], ['a.txt']],
  ['a\\*b', ['a*b'], ['axb']],
  ['a.b$(c)', ['a.b$(c)'], ['aXb$(c)']],
  ['*\n!keep', ['a', 'b/c'], ['keep', 'keep/x']],
  ['\uFEFFfirst', ['first'], []],
];

describe('.dockerignore', () => {
  test.each(cases)('%j', (file, left, kept) => {
    const { ignores } = dockerignore(file);
    expect(left.filter((path) => !ignores(path))).toEqual([]);
    expect(kept.filter(ignores)).toEqual([]);
  });

  test('reports exceptions below an excluded folder', () => {
    expect(dockerignore('a\n!a/b').hasExceptions).toBe(true);
    expect(dockerignore('a').hasExceptions).toBe(false);
  });

  test('an invalid range is rejected', () => {
    expect(() => dockerignore('[z-a]')).toThrow(SyntaxError);
  });

  test('an escaped name excludes only itself, whatever its characters', () => {
    const name = fc.stringMatching(/^[^\s/*?[\\!#.\p{Cc}][^/*?[\\\s\p{Cc}]{0,12}$/u);
    fc.assert(
      fc.property(name, name, (one, other) => {
        const { ignores } = dockerignore(one);
        expect(ignores(one)).toBe(true);
        expect(ignores(`${one}/x`)).toBe(true);
        expect(ignores(other)).toBe(one === other);
      }),
    );
  });

  test('any other text is parsed', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string(), (file, path) => {
        try {
          dockerignore(file).ignores(path);
        } catch (error) {
          expect(error).toBeInstanceOf(SyntaxError);
        }
      }),
    );
  });
});
