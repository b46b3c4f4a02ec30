// The program accepts every command that a page shows.
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

import { FleetError } from '../../src/shared/base/errors.ts';
import { commands } from '../../src/cli/commands.ts';
import { parseArguments } from '../../src/cli/parse.ts';

const root = join(import.meta.dirname, '../..');
const pages = globSync(['*.md', 'docs/*.md', 'dockeragent/*.md', 'examples/**/*.md'], { cwd: root });

interface Shown {
  readonly line: string;
  /** In a sentence a command may lack its arguments: "`azp-fleet exec` is for many". */
  readonly inText: boolean;
}

/** Returns the command lines of a page: in blocks, and in a sentence. Templates (`<hosts...>`) do not count. */
function shownIn(text: string): readonly Shown[] {
  const start = /^\s*(?:\$ )?(?:sudo )?(?:npx (?:-p \S+ )?)?azp-fleet (?=\S)/;
  const blocks = text.matchAll(/^```(?:sh|text)?\n([\s\S]*?)^```|^ {4}\S.*$/gm);
  const inBlocks = [...blocks]
    .flatMap(([block]) => block.replaceAll('\\\n', ' ').split('\n'))
    .filter((line) => start.test(line))
    .map((line) => ({ line: line.replace(start, ''), inText: false }));
  const prose = text.replaceAll(/^```[\s\S]*?^```/gm, '');
  const inProse = [...prose.matchAll(/`azp-fleet\s([^`]+)`/g)].map(([, line = '']) => ({
    line: line.replaceAll('\n', ' '),
    inText: true,
  }));
  return [...inBlocks, ...inProse].filter(({ line }) => !/<|\[[A-Za-z]|…|\w\.\.\./.test(line));
}

/** Splits a line as a shell does; only the grammar that pages use. */
function words(line: string): readonly string[] {
  const cut = line.split(/\s(?:#|&&|\||>|;)(?=\s|$)/)[0] ?? '';
  const parts = [...cut.matchAll(/(?:"[^"]*"|'[^']*'|[^\s"'])+/g)];
  return parts.map(([word]) => word.replaceAll(/["']/g, ''));
}

/** Returns why the program rejects a line; undefined if it accepts it. */
function rejection({ line, inText }: Shown): string | undefined {
  const nothing = () => undefined;
  try {
    parseArguments(words(line), commands, { out: nothing, err: nothing, env: {}, version: '0', columns: 80 });
    return undefined;
  } catch (error) {
    if (!(error instanceof FleetError)) throw error;
    return inText && error.message.startsWith('missing required argument') ? undefined : error.message;
  }
}

describe('the reader of pages', () => {
  test('finds commands in blocks and in sentences, and wrong ones among them', () => {
    const page = [
      '```sh',
      'azp-fleet plan -o friday.json   # a comment',
      '$ npx azp-fleet status --nope',
      '```',
      'See `azp-fleet exec`, `azp-fleet init <hosts...>` and `azp-fleet pool prune --gone HOST`:',
      '',
      '    azp-fleet drain --raeson "a new fan"',
      '',
    ].join('\n');
    const shown = shownIn(page);
    expect(shown.map(({ line }) => line)).toEqual([
      'plan -o friday.json   # a comment',
      'status --nope',
      'drain --raeson "a new fan"',
      'exec',
      'pool prune --gone HOST',
    ]);
    expect(shown.map((each) => rejection(each) === undefined)).toEqual([true, false, false, true, true]);
  });

  test('finds many', () => {
    const all = pages.flatMap((page) => shownIn(readFileSync(join(root, page), 'utf8')));
    expect(all.length).toBeGreaterThan(100);
  });
});

test.each(pages)('%s shows only commands that the program accepts', (page) => {
  const wrong = shownIn(readFileSync(join(root, page), 'utf8')).flatMap((shown) => {
    const why = rejection(shown);
    return why === undefined ? [] : [`azp-fleet ${shown.line}: ${why}`];
  });
  expect(wrong).toEqual([]);
});
