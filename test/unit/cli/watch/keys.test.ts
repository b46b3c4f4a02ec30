// Keys of `status --watch`: what a terminal sends, and what it does.
import { describe, expect, test } from 'vitest';

import { type Key, keysOf, pressed } from '../../../../src/cli/watch/keys.ts';
import { emptyState, reported, type WatchState } from '../../../../src/cli/watch/state.ts';
import { selectedHost, shownHosts } from '../../../../src/cli/watch/view.ts';
import { hot, answer, lost, size, start } from './fleet.ts';

test.each<readonly [string, readonly Key[]]>([
  [
    '\u001b[A\u001bOB\u001b[5~\u001b[6~\u001b[H\u001b[F',
    ['up', 'down', 'page-up', 'page-down', 'home', 'end'],
  ],
  ['\u001b', ['escape']],
  ['\r', ['enter']],
  ['\u007f\b', ['erase', 'erase']],
  ['\u0003', ['interrupt']],
  ['q/', [{ text: 'q' }, { text: '/' }]],
  ['h2 0é漢', ['h', '2', ' ', '0', 'é', '漢'].map((text) => ({ text }))],
  // Other sequences, also such as answers of a terminal, and control characters are no keys.
  ['\u001b[1;5C\u001b[?1;2c\u001b[200~a\u001b[201~', [{ text: 'a' }]],
  ['\u001b]0;evil title\u0007b\u001bP1$r\u001b\\\u0001\u0085', [{ text: 'b' }]],
  ['\u202e\u200b', []],
])('%j', (chunk, keys) => {
  expect(keysOf(chunk)).toEqual(keys);
});

const hosts = Array.from({ length: 300 }, (_, n) => `gpu-${n}`);
const fleet = [
  ...hosts.map((name) => answer(name)),
  answer('gpu-7', { health: hot }),
  lost('gpu-9', start),
].reduce(reported, emptyState(hosts));
const [small, large] = [size(80, 24), size(200, 60)];

function press(state: WatchState, typed: string, at = small): WatchState {
  return keysOf(typed).reduce((before, key) => {
    const next = pressed(before, key, at);
    if (typeof next === 'string') throw new Error(next);
    return next;
  }, state);
}

describe('the list', () => {
  test.each<readonly [string, string, typeof small, string]>([
    ['nothing', '', small, 'gpu-7'],
    ['down', '\u001b[B', small, 'gpu-9'],
    ['down and up', '\u001b[B\u001b[A', small, 'gpu-7'],
    ['up at the top', '\u001b[A', small, 'gpu-7'],
    ['end', '\u001b[F', small, 'gpu-299'],
    ['down at the end', '\u001b[F\u001b[B', small, 'gpu-299'],
    ['a page', '\u001b[6~', small, 'gpu-15'],
    ['a page of a larger terminal', '\u001b[6~', large, 'gpu-43'],
    ['two pages and home', '\u001b[6~\u001b[6~\u001b[H', small, 'gpu-7'],
    ['a filter selects its first host', '\u001b[F/pu-12', small, 'gpu-12'],
    ['the selected host stays after the filter', '/pu-12\r\u001b[B\u001b', small, 'gpu-7'],
  ])('%s', (_, typed, at, host) => {
    expect(selectedHost(press(fleet, typed, at))).toBe(host);
  });

  test('the selected host stays selected where the order changes', () => {
    const state = press(fleet, '\u001b[F');
    expect(selectedHost(reported(state, answer('gpu-299', { health: hot })))).toBe('gpu-299');
  });
});

describe('the filter', () => {
  test.each<readonly [string, string, string, number]>([
    ['by name', '/gpu-29', 'gpu-29', 11],
    ['by verdict', '/FAILED', 'FAILED', 1],
    ['by cause', '/fallen off', 'fallen off', 1],
    ['by GPU', '/h200', 'h200', 300],
    ['q is a letter', '/q', 'q', 0],
    ['Backspace', '/gpu-299\u007f', 'gpu-29', 11],
    ['Esc clears it', '/gpu-29\u001b', '', 300],
    ['Enter keeps it', '/gpu-29\r', 'gpu-29', 11],
    ['Esc clears it later', '/gpu-29\r\u001b', '', 300],
  ])('%s', (_, typed, filter, shown) => {
    const state = press(fleet, typed);
    expect([state.filter, shownHosts(state).length]).toEqual([filter, shown]);
  });

  test('has at most 100 characters', () => {
    expect(press(fleet, `/${'x'.repeat(500)}`).filter).toHaveLength(100);
  });
});

test('Enter opens the selected host, arrows scroll it to its end only, Esc goes back to the same place', () => {
  const open = press(fleet, '\u001b[B\u001b[B\r', size(80, 14));
  expect(open.open).toEqual({ host: 'gpu-0', top: 0 });
  const scrolled = press(open, '\u001b[B', size(80, 14));
  expect(scrolled.open?.top).toBe(1);
  const end = press(open, '\u001b[F', size(80, 14));
  expect(press(end, '\u001b[B\u001b[A', size(80, 14)).open?.top).toBe((end.open?.top ?? 0) - 1);
  expect(press(end, '\u001b')).toMatchObject({ selected: 'gpu-0' });
  expect(press(end, '\u001b').open).toBeUndefined();
});

test.each<readonly [string, Key, WatchState, 'quit' | 'interrupt']>([
  ['q in the list', { text: 'q' }, fleet, 'quit'],
  ['q on the screen of a host', { text: 'q' }, press(fleet, '\r'), 'quit'],
  ['Ctrl-C', 'interrupt', fleet, 'interrupt'],
  ['Ctrl-C in the filter', 'interrupt', press(fleet, '/q'), 'interrupt'],
])('%s ends the screen', (_, key, state, end) => {
  expect(pressed(state, key, small)).toBe(end);
});
