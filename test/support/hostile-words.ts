import { expect } from 'vitest';

import type { CommandResult } from './command.ts';

/**
 * Erases the line and the screen, names another host, changes the terminal's title, links, queries and resets the terminal,
 * reverses the text direction, breaks lines unusually, hides: one control of each kind, also raw C1.
 */
export const evil = [
  'said\u001b[2K\r\u001b]0;HIDDEN\u0007\u001b]8;;http://HIDDEN\u001b\\ \u009b31m\u202eby\u2066 a\u0008 host\u001b[1A\u200b',
  '\u001bP+qHIDDEN\u001b\\\u001b_GHIDDEN\u001b\\\u001b^HIDDEN\u001b\\\u001bXHIDDEN\u001b\\',
  '\u001b[6n\u001b[>c\u001b[?1049h\u001b[2J\u001b[H\u001bc\u001b(0\u001b#8\u000e\u0007',
  '\u007f\u0085\u2028\u2029\ufeff\u2060\u00ad\u061c\u200f\u3164\ufff9\u180e',
].join('');
/** Its text after sanitizing. */
export const words = /said\s[^]*by a host/;

/** Returns all control characters except our own styles and cursor moves. */
export function controls(text: string): string[] {
  const own =
    /\u001b\[(?:[012]|22|3[0-7]|39|9[0-7])m|\u001b\[\?25[lh]|\u001b\[(\d+)A(?:\u001b\[2K\n)+\u001b\[\1A\u001b\[0J/g;
  return (
    text
      .replaceAll(own, '')
      .match(
        /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\ufff9-\ufffb\ud800-\udfff]/gu,
      ) ?? []
  );
}

/** Expects no controls, nothing hidden, and nothing for the output filter to escape. */
export function expectClean({ stdout, stderr }: CommandResult): void {
  for (const text of [stdout, stderr]) {
    expect(controls(text)).toEqual([]);
    expect(text).not.toContain('HIDDEN');
    expect(text).not.toContain('\\u001b');
  }
}
