// The live picture on a terminal that changes its size in the middle. Real: the terminal (tmux, which wraps lines again when
// it gets narrower), its signal, and what Node makes of it.
import { afterEach, beforeAll, expect, test } from 'vitest';

import { Terminal } from '../../../practice/lab/terminal.ts';
import { ensurePackages } from '../../../practice/lab/machine.ts';

const hosts = 8;
let terminal: Terminal | undefined;
beforeAll(() => ensurePackages({ tmux: 'tmux' }));
afterEach(() => terminal?.close());

/** The hosts that can be seen, each of them once, and the line of counts below them; nothing else. */
function seenIn(screen: string): readonly string[] {
  const lines = screen.split('\n').filter((line) => line.trim() !== '');
  const output = / {2,}Unpacking/;
  const odd = lines.filter((line) => !/^\S gpu-host-\d|^0 of 8 done$/.test(line) && !output.test(line));
  expect(odd, screen).toEqual([]);
  expect(lines.at(-1), screen).toBe('0 of 8 done');
  return lines.flatMap((line) => /^\S (gpu-host-\d) /.exec(line)?.[1] ?? []);
}

test.each([
  ['narrower', 60, 30],
  ['much narrower', 34, 30],
  ['lower', 100, 7],
  ['narrower and lower', 50, 9],
  ['wider and higher', 160, 50],
])('a terminal that becomes %s has one picture, and it fits', async (_, columns, rows) => {
  const program = `node ${import.meta.dirname}/../../support/drawn-fleet.ts ${hosts}`;
  terminal = new Terminal(program, { columns: 100, rows: 30, cwd: '/tmp' });
  expect(seenIn(await terminal.see('Unpacking'))).toHaveLength(hosts);
  terminal.resize(columns, rows);
  // Drawn again: a clock runs, and the picture follows it.
  const wide = terminal;
  await expect
    .poll(() => {
      try {
        return seenIn(wide.screen()).length;
      } catch {
        return 0;
      }
    })
    .toBe(Math.min(hosts, rows - 2));
  const seen = seenIn(terminal.screen());
  expect(new Set(seen).size).toBe(seen.length);
  expect(terminal.screen().split('\n').length).toBeLessThanOrEqual(rows);
  terminal.press('C-c');
  await terminal.see('[exit 0]');
  expect(
    terminal
      .screen()
      .split('\n')
      .filter((line) => line.trim() !== ''),
  ).toEqual(['the end', '[exit 0]']);
});
