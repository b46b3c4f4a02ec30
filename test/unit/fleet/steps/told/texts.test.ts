import { describe, expect, test } from 'vitest';

import { fieldDetails, textDiff, toldText } from '../../../../../src/fleet/steps/told/texts.ts';

const path = '/etc/x';
const shown = (before: string | undefined, after: string) =>
  textDiff({ path, before, exists: true, after }).lines;

describe('what becomes of a text', () => {
  test('that comes is all of it, and no list of keys', () => {
    expect(toldText({ path, before: undefined, exists: false, after: 'a=1\n' })).toEqual({
      marker: 'add',
      texts: [{ path, lines: ['@@ -0,0 +1,1 @@', '+a=1'] }],
    });
  });

  test('that could not be read says so', () => {
    expect(toldText({ path, before: undefined, exists: true, after: 'a=1\n' })).toEqual({
      marker: 'change',
      details: [],
      texts: [{ path, lines: ['what it says now is too long, or no text: it is replaced as a whole'] }],
    });
  });

  test('never shows a secret, nor that it is the same', () => {
    expect(shown('a_token=one\n', 'a_token=two\n')).toEqual(['what differs is not shown: it may be secret']);
    expect(JSON.stringify(shown('b=1\na_token=one\n', 'b=2\na_token=two\n'))).not.toMatch(/one|two/);
  });

  test('is bounded, and one line is one line', () => {
    const many = 'x\n'.repeat(9000);
    expect(shown(many, '')).toHaveLength(2001);
    expect(shown(many, '').at(-1)).toBe('and 7001 more lines');
    expect(shown(`${'y'.repeat(9000)}\n`, '')[1]?.length).toBeLessThan(600);
    expect(shown('a\u001B[2Jb\rc\n', '')[1]).toBe('-ab c');
  });
});

describe('the keys of a text', () => {
  test.each([
    [
      '[Unit]\nA=1\nB=2\n[Service]\nA=1\n',
      '[Unit]\nA=1\n[Service]\nA=2\nC=3\n',
      ['~ Service.A: 1 → 2', '+ Service.C: 3', '- Unit.B: 2'],
    ],
    ['Types: deb\nURIs: a\n', 'Types: deb\nURIs: b\n', ['~ URIs: a → b']],
    ['E=1\nE=2\n', 'E=1\n', ['~ E: 1; 2 → 1']],
    [
      '{"a":{"b":1,"c":[1]}}',
      '{"a":{"b":2,"c":[1,2],"d":{}}}',
      ['~ a.b: 1 → 2', '~ a.c: [1] → [1,2]', '+ a.d: {}'],
    ],
    ['not = json {', '{}', ['- not: json {']],
    ['# a comment\n', '', []],
  ])('%j → %j', (before, after, expected) => {
    const signs = { add: '+', change: '~', remove: '-' };
    expect(fieldDetails({ before, after }).map(({ marker, text }) => `${signs[marker]} ${text}`)).toEqual(
      expected,
    );
  });

  test('are not read deeper than people read, nor without end', () => {
    const deep = `${'{"a":'.repeat(3000)}1${'}'.repeat(3000)}`;
    expect(fieldDetails({ before: deep, after: '{}' })).toHaveLength(1);
    const many = Array.from({ length: 5000 }, (_, at) => `k${at}=1`).join('\n');
    expect(fieldDetails({ before: many, after: '' }).at(-1)?.text).toBe('and 4850 more');
  });
});
