import { expect } from 'vitest';

import type { CommandResult } from './command.ts';

/** Erases the line, names another host, retitles the terminal, turns the writing round, one control of each kind. */
export const evil =
  'said\u001b[2K\r\u001b]0;HIDDEN\u0007\u001b]8;;http://HIDDEN\u001b\\ \u009b31m\u202eby\u2066 a\u0008 host\u001b[1A\u200b';
/** What is left of it: words. */
export const words = /said\s[^]*by a host/;

/** Everything that is not text, without our own styles and what moves the cursor of the live picture. */
export function controls(text: string): string[] {
  const own = /\u001b\[(?:[012]|22|3[0-7]|39|9[0-7])m|\u001b\[\?25[lh]|\u001b\[\d+A\u001b\[0J/g;
  return (
    text
      .replaceAll(own, '')
      .match(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069]/g) ?? []
  );
}

/** Nothing for the terminal, nothing hidden, and the net had nothing to escape. */
export function expectClean({ stdout, stderr }: CommandResult): void {
  for (const text of [stdout, stderr]) {
    expect(controls(text)).toEqual([]);
    expect(text).not.toContain('HIDDEN');
    expect(text).not.toContain('\\u001b');
  }
}
