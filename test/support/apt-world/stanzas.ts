import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** One package of one version, as a package list has it: field → text on one line. */
export type Stanza = ReadonlyMap<string, string>;

const folder = join(import.meta.dirname, '../../fixtures/apt');

/** The stanzas of a list, each with `placeholders` filled in. @throws where one has no source that sources.md knows. */
export function stanzasOf(list: string, placeholders: Readonly<Record<string, string>> = {}): Stanza[] {
  const text = Object.entries(placeholders).reduce(
    (filled, [name, value]) => filled.replaceAll(`@${name}@`, value),
    readFileSync(join(folder, `${list}.list`), 'utf8'),
  );
  return parseStanzas(text).map((stanza) => withSource(stanza, list));
}

export function parseStanzas(text: string): Stanza[] {
  return text
    .split(/\n{2,}/)
    .filter((part) => part.trim() !== '')
    .map(
      (part) =>
        new Map(
          part
            .trim()
            .split('\n')
            .map((line): [string, string] => [
              line.slice(0, line.indexOf(':')),
              line.slice(line.indexOf(':') + 1).trim(),
            ]),
        ),
    );
}

export function printStanzas(stanzas: Iterable<Stanza>): string {
  return [...stanzas]
    .map((stanza) => [...stanza].map(([field, text]) => `${field}: ${text}\n`).join(''))
    .join('\n');
}

/** The keys of the sources that stanzas may name. */
export function knownSources(): ReadonlySet<string> {
  const text = readFileSync(join(folder, 'sources.md'), 'utf8');
  return new Set([...text.matchAll(/^\| `([a-z0-9-]+)` \|/gm)].map(([, key = '']) => key));
}

const known = knownSources();

/** @throws where the source of the stanza is unknown. */
export function withSource(stanza: Stanza, list: string): Stanza {
  const name = `${stanza.get('Package') ?? 'a package'} ${stanza.get('Version') ?? ''} in ${list}.list`;
  const source = stanza.get('Taken-From');
  if (source === undefined) throw new Error(`${name} does not say what it was taken from`);
  if (!known.has(source)) throw new Error(`${name} was taken from ${source}, which sources.md does not know`);
  return stanza;
}
