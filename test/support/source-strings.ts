import { readFileSync } from 'node:fs';
import { parseSync, Visitor } from 'oxc-parser';

/** Returns the strings and templates of a source file; the value of an expression in a template is `…`. */
export function sourceStrings(file: string): readonly string[] {
  const texts: string[] = [];
  new Visitor({
    Literal({ value }) {
      if (typeof value === 'string') texts.push(value);
    },
    TemplateLiteral({ quasis }) {
      texts.push(quasis.map(({ value }) => value.cooked ?? '').join('…'));
    },
  }).visit(parseSync(file, readFileSync(file, 'utf8')).program);
  return texts;
}
