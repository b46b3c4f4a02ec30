import fc from 'fast-check';
import { expect, test } from 'vitest';

import { parseXml, type XmlElement } from '../../../src/health/xml.ts';

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

test('what is written is read back', () => {
  fc.assert(
    fc.property(tree(3), (root) => {
      expect(parseXml(write(root))).toEqual({ ok: true, root });
    }),
  );
});

test.each(['', '<a>', '</a>', '<a></b>', '<a/><b/>', '<a b=c/>', '<a', '<a><!-- </a>'])(
  '%s is refused',
  (source) => {
    expect(parseXml(source).ok).toBe(false);
  },
);
