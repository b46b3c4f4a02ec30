import type { Problem } from '../../../shared/base/errors.ts';
import { excerpt } from '../../../shared/base/foreign-text.ts';

const pairs = /^[\u201c\u201d\u201e\u00ab\u2018\u2019](.*)[\u201c\u201d\u00bb\u2018\u2019]$/su;

/** Quotes as books have them, which come with text out of a document or a web page: to YAML they are letters. */
export function typographicQuotes(
  texts: Iterable<{ readonly text: string; readonly place: string }>,
): Problem[] {
  return [...texts].flatMap(({ text, place }): Problem[] => {
    const [, inner] = pairs.exec(text) ?? [];
    if (inner === undefined) return [];
    return [
      {
        code: 'inventory.value',
        step: 'inventory',
        what: `${place}: the quotes here are those of printed text, and become part of the value`,
        seen: excerpt(text),
        next: `put it in quotes: "${excerpt(inner)}"`,
      },
    ];
  });
}
