import { Lexer, type YAMLError } from 'yaml';

/** What is wrong with the text itself, in our words. */
export interface Slip {
  /** Of the first character that is wrong; where something was not closed, of its beginning. */
  readonly offset: number;
  readonly what: string;
  readonly next: string;
}

/**
 * The first slip that the parser has found. It complains where it gave up, which is often lines below the mistake, and in
 * words of its grammar. Pure.
 */
export function slipIn(source: string, errors: readonly YAMLError[]): Slip | undefined {
  const [first] = errors;
  if (first === undefined) return undefined;
  const found = {
    source,
    code: first.code,
    message: first.message,
    offset: first.pos[0],
    others: errors.slice(1).map(({ code }) => code),
  };
  for (const rule of rules) {
    const slip = rule(found);
    if (slip !== undefined) return slip;
  }
  return { offset: found.offset, ...(byCode[found.code] ?? unknown) };
}

interface Found {
  readonly source: string;
  readonly code: string;
  readonly message: string;
  readonly offset: number;
  /** Codes of what the parser complains about after it. */
  readonly others: readonly string[];
}

type Rule = (found: Found) => Slip | undefined;

/** Asked in order; what none of them knows is told by its code. */
const rules: readonly Rule[] = [
  mergeConflict,
  openQuote,
  openBracket,
  unlike,
  variable,
  braces,
  deeper,
  noValue,
  tooMany,
  badBeginning,
];

const unknown = {
  what: 'this is not well-formed YAML',
  next: 'look at the indentation, the quotes and the brackets here and just above',
};

const quoteIt = 'put the text in quotes';

const byCode: Readonly<Partial<Record<string, Omit<Slip, 'offset'>>>> = {
  TAB_AS_INDENT: {
    what: 'a tab is used for indentation',
    next: 'put spaces in place of the tab, as many as the keys beside it have (2 where there are none)',
  },
  TAG_RESOLVE_FAILED: {
    what: 'tags (words that begin with !) are not used in an inventory',
    next: 'take it out, or put the text in quotes',
  },
  MULTIPLE_TAGS: {
    what: 'tags (words that begin with !) are not used in an inventory',
    next: 'take them out, or put the text in quotes',
  },
  BLOCK_AS_IMPLICIT_KEY: {
    what: 'two ": " stand in this line, and only one key can',
    next: 'put the value in quotes, or begin a new line for the second key',
  },
  BLOCK_IN_FLOW: {
    what: 'a key with its value stands where text belongs',
    next: 'put text that has ": " in it in quotes',
  },
  BAD_ALIAS: { what: '* and & want a name behind them', next: `${quoteIt}, or write the name` },
  BAD_DIRECTIVE: { what: 'a line cannot begin with %', next: quoteIt },
  BAD_DQ_ESCAPE: {
    what: 'in double quotes \\ begins a sign of its own, and none is written so',
    next: 'double the \\, or use single quotes',
  },
  MULTIPLE_ANCHORS: { what: 'two names with & stand before one value', next: 'keep one of them' },
  ALIAS_PROPS: { what: 'a name with & stands before another name with *', next: 'keep one of them' },
  MULTIPLE_DOCS: {
    what: 'a second document begins here',
    next: 'keep one inventory in a file: take this line out, or what follows it',
  },
  KEY_OVER_1024_CHARS: { what: 'a key has more than 1024 characters', next: 'shorten it' },
  UNEXPECTED_TOKEN: {
    what: 'more text stands here where the value has ended',
    next: 'put the whole value in quotes, or take the rest away',
  },
};

function mergeConflict({ source }: Found): Slip | undefined {
  const offset = source.search(/^(?:<{7}|={7}|>{7})(?: |$)/m);
  return offset === -1
    ? undefined
    : {
        offset,
        what: 'the mark of a merge conflict stands here',
        next: 'keep one of the two sides, and take the marks out',
      };
}

/** A quote that nothing closes, or only the next one further down. */
function openQuote({ source, code, message, offset }: Found): Slip | undefined {
  if (code !== 'MISSING_CHAR' && code !== 'UNEXPECTED_TOKEN') return undefined;
  const before = tokens(source).filter((token) => token.offset < offset);
  const quoted = before.findLast(({ text }) => /^["']/.test(text));
  if (quoted === undefined) return undefined;
  const isOpen = message.includes('quote') || (quoted.text.includes('\n') && end(quoted) <= offset);
  if (isOpen)
    return {
      offset: quoted.offset,
      what: `the ${quoted.text.charAt(0)} here is not closed on its line`,
      next: `close it with ${quoted.text.charAt(0)} at the end of its text`,
    };
  const isBehind = code === 'UNEXPECTED_TOKEN' && source.slice(end(quoted), offset).trim() === '';
  return isBehind
    ? {
        offset,
        what: 'more text stands behind the closing quote',
        next: `put the whole value in quotes; one within it is written twice: 'it''s'`,
      }
    : undefined;
}

function openBracket({ source, code, message, offset }: Found): Slip | undefined {
  if (code !== 'BAD_INDENT' || !message.startsWith('Flow ')) return undefined;
  const open: { readonly text: string; readonly offset: number }[] = [];
  for (const token of tokens(source)) {
    if (token.offset >= offset) break;
    if (token.text === '{' || token.text === '[') open.push(token);
    if (token.text === '}' || token.text === ']') open.pop();
  }
  const bracket = open.at(-1);
  if (bracket === undefined) return undefined;
  const partner = bracket.text === '{' ? '}' : ']';
  return {
    offset: bracket.offset,
    what: `the ${bracket.text} here is not closed`,
    next: `close it with ${partner}; over several lines, indent them further than its key`,
  };
}

function unlike({ source, code, offset }: Found): Slip | undefined {
  if (code !== 'BAD_INDENT') return undefined;
  return {
    offset: offset + source.slice(offset).search(/[^ ]|$/),
    what: 'this line is indented unlike the keys beside it',
    next: 'give it the same indentation as the keys beside it',
  };
}

function badBeginning({ source, code, offset }: Found): Slip | undefined {
  return code === 'BAD_SCALAR_START'
    ? { offset, what: `text cannot begin with ${source.charAt(offset)}`, next: quoteIt }
    : undefined;
}

/** Braces of a variable that were read as those of a map. */
function variable({ source, offset }: Found): Slip | undefined {
  return /[{,[].*[^"']\$\{/.test(upTo(source, offset))
    ? {
        offset,
        what: 'the { of a variable was read as one of YAML',
        next: 'put text with ${…} in quotes inside { } and [ ]: "${NAME}"',
      }
    : undefined;
}

function braces({ source, offset }: Found): Slip | undefined {
  return /[:,{]\s+\{\w+\}.$/.test(upTo(source, offset))
    ? {
        offset,
        what: 'the { of a text was read as one of YAML',
        next: 'put text that begins with { in quotes: "{host}-{slot}"',
      }
    : undefined;
}

/** The line below a value, further in than it may be: the parser takes both for one text. */
function deeper({ source, code, offset, others }: Found): Slip | undefined {
  if (code !== 'BLOCK_AS_IMPLICIT_KEY' || !others.includes('MULTILINE_IMPLICIT_KEY')) return undefined;
  const item = /\n[ \t]*-[ \t]/.exec(source.slice(Math.max(0, offset - 1)));
  const line = /\n[ \t]*(?=[^\s#])/.exec(source.slice(offset));
  if (item !== null && isLineStart(source, offset))
    return {
      offset: Math.max(0, offset - 1) + item.index + item[0].indexOf('-'),
      what: 'an item of a list stands among keys',
      next: 'put it below the key that it belongs to, indented further',
    };
  if (line === null) return undefined;
  return {
    offset: offset + line.index + line[0].length,
    what: 'this line is indented further than the one above, which has its value already',
    next: 'give it the same indentation as the keys beside it',
  };
}

/** A line that should be `key: value`. */
function noValue({ source, code, message, offset }: Found): Slip | undefined {
  if (code === 'MISSING_CHAR' && message.startsWith('Comments'))
    return { offset, what: 'the # of a comment wants a blank before it', next: 'put a blank there' };
  if (code === 'MISSING_CHAR' && message.startsWith('Missing ,'))
    return { offset, what: 'a comma is missing here', next: 'put one between the two' };
  if (code === 'MISSING_CHAR' && message.startsWith('Missing directives'))
    return { offset: source.search(/^%/m), what: 'a line cannot begin with %', next: quoteIt };
  const isLine = code === 'MULTILINE_IMPLICIT_KEY' || code === 'MISSING_CHAR';
  if (!isLine) return undefined;
  const [line = ''] = source.slice(offset).split('\n');
  const [, key, value] = /^([\w.-]+):(\S.*)$/.exec(line) ?? [];
  const [, first, rest] = /^([\w.-]+)\s+(\S.*)$/.exec(line) ?? [];
  const [name, text] = key === undefined ? [first, rest] : [key, value];
  return {
    offset,
    what: 'this line is no "key: value"',
    next:
      name === undefined || text === undefined
        ? 'put a colon and a blank behind the key'
        : `put a colon and a blank behind the key: ${name}: ${text.trim()}`,
  };
}

function tooMany({ code, message, offset, others }: Found): Slip | undefined {
  if (code !== 'UNEXPECTED_TOKEN') return undefined;
  const [, closing] = /flow-(?:map|seq)-end token.*"([}\]])"/.exec(message) ?? [];
  if (closing !== undefined) return { offset, what: `there is a ${closing} too many`, next: 'take it out' };
  if (message.includes('block-seq-ind'))
    return {
      offset,
      what: 'a list begins on the line of its key',
      next: 'begin it on the next line, or write it as [a, b]',
    };
  if (message.startsWith('Block scalar header'))
    return { offset, what: 'text stands behind | or >', next: 'begin it on the next line' };
  return others.includes('MISSING_CHAR')
    ? { offset, what: 'a comma is missing before this', next: 'put one there' }
    : undefined;
}

/** The line of a place as far as it, with the character there. */
function upTo(source: string, offset: number): string {
  return source.slice(source.lastIndexOf('\n', offset - 1) + 1, offset + 1);
}

function isLineStart(source: string, offset: number): boolean {
  return /^[ \t]*$/.test(source.slice(source.lastIndexOf('\n', offset - 1) + 1, offset));
}

interface Token {
  readonly text: string;
  readonly offset: number;
}

function end({ text, offset }: Token): number {
  return offset + text.length;
}

/** What the source consists of; the lexer's own signs, which stand for no text, are left out. */
function tokens(source: string): readonly Token[] {
  const found: Token[] = [];
  let offset = 0;
  for (const text of new Lexer().lex(source)) {
    if (text === '\u0002' || text === '\u0018' || text === '\u001f') continue;
    found.push({ text, offset });
    offset += text.length;
  }
  return found;
}
