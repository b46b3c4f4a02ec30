import { globSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { knownSources, parseStanzas, stanzasOf, withSource } from '../../../../support/apt-world/stanzas.ts';

const lists = globSync('*.list', { cwd: join(import.meta.dirname, '../../../../fixtures/apt') }).map((file) =>
  basename(file, '.list'),
);

describe('the stanzas of the resolver', () => {
  it.each(lists)('each have a source: %s', (list) => {
    expect(stanzasOf(list).length).toBeGreaterThan(0);
  });

  it('are rejected without a source, and with an unknown one', () => {
    const [bare = new Map()] = parseStanzas('Package: tool\nVersion: 1.0\n');
    expect(() => withSource(bare, 'x')).toThrow('tool 1.0 in x.list does not say what it was taken from');
    const [unknown = new Map()] = parseStanzas('Package: tool\nVersion: 1.0\nTaken-From: hearsay\n');
    expect(() => withSource(unknown, 'x')).toThrow('was taken from hearsay, which sources.md does not know');
  });

  it('use every source in the list', () => {
    const used = new Set(lists.flatMap((list) => stanzasOf(list).map((stanza) => stanza.get('Taken-From'))));
    expect([...knownSources()].filter((key) => !used.has(key))).toEqual([]);
  });
});
