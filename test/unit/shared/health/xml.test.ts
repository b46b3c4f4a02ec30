import fc from 'fast-check';
import { expect, test } from 'vitest';

import { parseXml, type XmlElement } from '../../../../src/shared/health/xml.ts';

test('elements, attributes, entities, CDATA, comments and empty elements', () => {
  const source = `<?xml version="1.0"?><!-- c --><a x='1' y="&lt;&#65;&#x42;"><b/> t &amp; u <c><![CDATA[<d>]]></c></a>`;
  expect(parseXml(source)).toEqual({
    ok: true,
    root: {
      name: 'a',
      attributes: { x: '1', y: '<AB' },
      text: 't & u',
      children: [
        { name: 'b', attributes: {}, text: '', children: [] },
        { name: 'c', attributes: {}, text: '<d>', children: [] },
      ],
    },
  });
});

const name = fc.stringMatching(/^[a-z][a-z_0-9]{0,8}$/);
const text = fc.string({ maxLength: 12 }).map((value) => value.trim());
const tree = (depth: number): fc.Arbitrary<XmlElement> =>
  fc.record({
    name,
    attributes: fc.dictionary(name, text, { noNullPrototype: true, maxKeys: 3 }),
    text,
    children: depth === 0 ? fc.constant([]) : fc.array(tree(depth - 1), { maxLength: 3 }),
  });

const escape = (value: string): string =>
  value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

function write({ name, attributes, text, children }: XmlElement): string {
  const pairs = Object.entries(attributes).map(([key, value]) => ` ${key}="${escape(value)}"`);
  return `<${name}${pairs.join('')}>${escape(text)}${children.map(write).join('\n')}</${name}>`;
}

test('written XML is read back', () => {
  fc.assert(
    fc.property(tree(3), (root) => {
      expect(parseXml(write(root))).toEqual({ ok: true, root });
    }),
  );
});

// Processes choose their names, and nvidia-smi prints them: no name may make the whole report unreadable.
test.each([
  ['an ampersand', 'sh -c "x && y"', 'sh -c "x && y"'],
  ['an unknown entity', '&nope;', '&nope;'],
  ['a character that XML forbids', 'a\u0001b\uFFFE', 'ab\uFFFE'],
])('%s in a text is harmless', (_, text, read) => {
  expect(parseXml(`<a>${text}</a>`)).toMatchObject({ ok: true, root: { text: read } });
});

test('own entities of a document are neither read nor expanded', () => {
  const bomb = '<!DOCTYPE a [<!ENTITY x "xxxxxxxxxx"><!ENTITY y "&x;&x;&x;">]><a>&y;</a>';
  expect(parseXml(bomb).ok).toBe(false);
  expect(parseXml('<a>&y;</a>')).toMatchObject({ ok: true, root: { text: '&y;' } });
});

test.each(['', '<a>', '</a>', '<a></b>', '<a/><b/>', '<a b=c/>', '<a', '<a><!-- </a>'])(
  '%s is refused',
  (source) => {
    expect(parseXml(source).ok).toBe(false);
  },
);
