import { foreignLine } from '../base/foreign-text.ts';

/** One element of the document. `text` is the trimmed text between its tags, without children. */
export interface XmlElement {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly children: readonly XmlElement[];
  readonly text: string;
}

export type XmlResult =
  | { readonly ok: true; readonly root: XmlElement }
  | { readonly ok: false; readonly reason: string };

interface OpenElement {
  name: string;
  attributes: Record<string, string>;
  children: XmlElement[];
  text: string;
}

const name = String.raw`[A-Za-z_][\w:.-]*`;
const token = new RegExp(
  String.raw`<!--[\s\S]*?-->|<\?[\s\S]*?\?>|<!DOCTYPE[^>[]*>|<!\[CDATA\[(?<cdata>[\s\S]*?)\]\]>` +
    String.raw`|</(?<close>${name})\s*>|<(?<open>${name})(?<attributes>(?:\s+${name}\s*=\s*(?:"[^"<]*"|'[^'<]*'))*)\s*(?<empty>/?)>` +
    String.raw`|(?<text>[^<]+)`,
  'y',
);
const attribute = new RegExp(String.raw`(${name})\s*=\s*(?:"([^"]*)"|'([^']*)')`, 'g');

/**
 * Parses the plain XML that programs print: elements, attributes, text, comments, CDATA and the five named entities.
 * Supports no namespaces and no DTD content, so nothing is expanded or fetched. Never throws.
 */
export function parseXml(source: string): XmlResult {
  const document: OpenElement = { name: '', attributes: {}, children: [], text: '' };
  const stack = [document];
  token.lastIndex = 0;
  while (token.lastIndex < source.length) {
    const at = token.lastIndex;
    const groups = token.exec(source)?.groups;
    if (groups === undefined) return { ok: false, reason: `not XML at character ${at}` };
    const reason = take(stack, groups);
    if (reason !== undefined) return { ok: false, reason: `${reason} at character ${at}` };
  }
  const [root, ...more] = document.children;
  if (stack.length > 1) return { ok: false, reason: `<${stack.at(-1)?.name}> is not closed` };
  if (root === undefined || more.length > 0) return { ok: false, reason: 'not exactly one root element' };
  return { ok: true, root };
}

/** Applies one token to the open elements; returns an error message. */
function take(stack: OpenElement[], groups: Record<string, string | undefined>): string | undefined {
  const current = stack.at(-1);
  if (current === undefined) return 'text after the end';
  const { open, close, text, cdata } = groups;
  if (text !== undefined) current.text += decodeEntities(text);
  if (cdata !== undefined) current.text += cdata;
  if (open !== undefined) {
    const element = {
      name: open,
      attributes: readAttributes(groups['attributes'] ?? ''),
      children: [],
      text: '',
    };
    current.children.push(element);
    if (groups['empty'] === '') stack.push(element);
  }
  if (close === undefined) return undefined;
  if (stack.length === 1 || current.name !== close) return `unexpected </${close}>`;
  current.text = foreignLine(current.text).trim();
  stack.pop();
  return undefined;
}

function readAttributes(source: string): Record<string, string> {
  const pairs = [...source.matchAll(attribute)].map(
    ([, key = '', double, single]) => [key, foreignLine(decodeEntities(double ?? single ?? ''))] as const,
  );
  return Object.fromEntries(pairs);
}

const named: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/** Decodes entities; unknown ones are unchanged. */
function decodeEntities(text: string): string {
  return text.replaceAll(
    /&(?:#(\d{1,7})|#x([\da-fA-F]{1,6})|(amp|lt|gt|quot|apos));/g,
    (whole, dec, hex, word) => {
      if (word !== undefined) return named[String(word)] ?? whole;
      const point = dec === undefined ? Number.parseInt(String(hex), 16) : Number(dec);
      return point <= 0x10_ff_ff ? String.fromCodePoint(point) : whole;
    },
  );
}
