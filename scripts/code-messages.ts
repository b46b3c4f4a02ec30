import { globSync, readFileSync } from 'node:fs';

import { type Expression, parseSync, Visitor } from 'oxc-parser';

/** Replaces the variable parts of a message. */
const blank = '…';

/**
 * Returns the messages of each code as a user reads them, from the source: from objects with a `code` and a `what`, and
 * from calls with both as arguments. A part that is known only at run time is `…`.
 */
export function messagesByCode(codes: ReadonlySet<string>): ReadonlyMap<string, readonly string[]> {
  const messages = new Map<string, Set<string>>([...codes].map((code) => [code, new Set()]));
  for (const file of globSync('{src,practice}/**/*.ts').toSorted())
    if (!file.startsWith('src/shared/base/codes/')) readFile(file, messages);
  return new Map([...messages].map(([code, texts]) => [code, [...texts]]));
}

/** The code that a plan gives to a refusal of a step. */
const refusal = 'plan.refused';
const refusing = /^src\/fleet\/(?:steps|packages)\//;

interface Constant {
  readonly name: string;
  readonly start: number;
  readonly init: Expression;
}

function readFile(file: string, messages: ReadonlyMap<string, Set<string>>): void {
  const source = readFileSync(file, 'utf8');
  if (!/\bwhat\b|'[a-z]+\.[a-z-]+'/.test(source)) return;
  const constants: Constant[] = [];
  const { program } = parseSync(file, source);
  new Visitor({
    VariableDeclarator({ id, init, start }) {
      if (id.type === 'Identifier' && init !== null) constants.push({ name: id.name, start, init });
    },
  }).visit(program);
  const add = (from: Expression | typeof refusal, what: Expression) => {
    for (const code of typeof from === 'string' ? [from] : texts(from, constants))
      for (const text of texts(what, constants)) if (isSearchable(text)) messages.get(code)?.add(text);
  };
  new Visitor({
    ObjectExpression({ properties }) {
      const value = (name: string) =>
        properties.flatMap((each) =>
          each.type === 'Property' && each.key.type === 'Identifier' && each.key.name === name
            ? [each.value]
            : [],
        )[0];
      const [code, what] = [value('code'), value('what')];
      if (code && what) add(code, what);
      else if (what && value('next') && refusing.test(file)) add(refusal, what);
    },
    CallExpression({ arguments: given }) {
      for (const [index, code] of given.entries()) {
        const what = given[index + 1];
        if (code.type !== 'SpreadElement' && what && what.type !== 'SpreadElement') add(code, what);
      }
    },
  }).visit(program);
}

/** Returns whether a text has at least two words; fewer find nothing. */
function isSearchable(text: string): boolean {
  return (
    text
      .replaceAll(blank, ' ')
      .split(/\P{L}+/u)
      .filter((word) => word.length > 1).length > 1
  );
}

/** Returns the texts that an expression can have, with blanks. */
function texts(of: Expression, constants: readonly Constant[]): readonly string[] {
  const each = (part: Expression) => texts(part, constants);
  switch (of.type) {
    case 'Literal':
      return [typeof of.value === 'string' ? of.value : blank];
    case 'TemplateLiteral':
      return of.quasis
        .map(({ value }) => value.cooked ?? blank)
        .reduce<readonly string[]>((begun, quasi, index) => {
          const between = of.expressions[index - 1];
          const middles = between?.type === 'ConditionalExpression' ? each(between) : [blank];
          return index === 0
            ? [quasi]
            : begun.flatMap((start) => middles.map((middle) => start + middle + quasi));
        }, []);
    case 'ConditionalExpression':
      return [...each(of.consequent), ...each(of.alternate)];
    case 'LogicalExpression':
      return each(of.right);
    case 'BinaryExpression':
      return each(of.right).flatMap((right) =>
        of.left.type === 'PrivateIdentifier' ? [right] : each(of.left).map((left) => left + right),
      );
    case 'TSAsExpression':
    case 'ParenthesizedExpression':
      return each(of.expression);
    case 'Identifier': {
      const declared = constants.findLast(({ name, start }) => name === of.name && start < of.start);
      return declared === undefined ? [blank] : each(declared.init);
    }
    default:
      return [blank];
  }
}
