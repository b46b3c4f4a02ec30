import { foreignLine } from '../../shared/base/foreign-text.ts';
import type { WatchState } from './state.ts';
import { bodyHeight, openLines, selectedHost, shownHosts, type Size } from './view.ts';

/** A key, or one character that was typed. */
export type Key =
  | 'up'
  | 'down'
  | 'page-up'
  | 'page-down'
  | 'home'
  | 'end'
  | 'enter'
  | 'escape'
  | 'erase'
  | 'interrupt'
  | { readonly text: string };

const sequences: Readonly<Record<string, Key>> = {
  '\u001b[A': 'up',
  '\u001bOA': 'up',
  '\u001b[B': 'down',
  '\u001bOB': 'down',
  '\u001b[5~': 'page-up',
  '\u001b[6~': 'page-down',
  '\u001b[H': 'home',
  '\u001bOH': 'home',
  '\u001b[1~': 'home',
  '\u001b[F': 'end',
  '\u001bOF': 'end',
  '\u001b[4~': 'end',
  '\r': 'enter',
  '\n': 'enter',
  '\u001b': 'escape',
  '\u007f': 'erase',
  '\b': 'erase',
  '\u0003': 'interrupt',
};

/** One key as a terminal sends it: a control sequence, a string for the terminal, a control character, or a character. */
const key =
  /\u001b\[[0-?]*[ -/]*[@-~]?|\u001bO[@-~]?|\u001b[P\]X^_][^\u0007\u001b]*(?:\u0007|\u001b\\)?|\u001b|[\p{Cc}]|\P{Cc}/gu;

/** Returns the keys in what was read from the terminal; other sequences and control characters are left out. Pure. */
export function keysOf(chunk: string): readonly Key[] {
  return [...chunk.matchAll(key)].flatMap(([read]): Key[] => {
    const known = sequences[read];
    if (known !== undefined) return [known];
    const text = read === ' ' ? read : foreignLine(read);
    return text === '' || /^\p{Cc}/u.test(read) ? [] : [{ text }];
  });
}

/** Longest filter, in characters. */
const longestFilter = 100;

/** Applies a key; `quit` and `interrupt` end the screen. Pure. */
export function pressed(state: WatchState, pressedKey: Key, size: Size): WatchState | 'quit' | 'interrupt' {
  if (pressedKey === 'interrupt') return 'interrupt';
  if (state.isTyping) return typed(state, pressedKey, size);
  if (isText(pressedKey, 'q')) return 'quit';
  return state.open === undefined
    ? inList(state, pressedKey, size)
    : inHost(state, state.open, pressedKey, size);
}

function isText(pressedKey: Key, text: string): boolean {
  return typeof pressedKey === 'object' && pressedKey.text === text;
}

function typed(state: WatchState, pressedKey: Key, size: Size): WatchState {
  const filtered = (filter: string): WatchState => {
    const { selected: _, ...rest } = state;
    return { ...rest, filter };
  };
  if (typeof pressedKey === 'object')
    return filtered((state.filter + pressedKey.text).slice(0, longestFilter));
  if (pressedKey === 'erase') return filtered(state.filter.replace(/.$/su, ''));
  if (pressedKey === 'escape') return { ...filtered(''), isTyping: false };
  if (pressedKey === 'enter') return { ...state, isTyping: false };
  return moved(state, pressedKey, size);
}

function inList(state: WatchState, pressedKey: Key, size: Size): WatchState {
  if (isText(pressedKey, '/')) return { ...state, isTyping: true };
  if (pressedKey === 'escape') {
    const { selected: _, ...rest } = state;
    return { ...rest, filter: '' };
  }
  if (pressedKey !== 'enter') return moved(state, pressedKey, size);
  const host = selectedHost(state);
  return host === undefined ? state : { ...state, selected: host, open: { host, top: 0 } };
}

function inHost(
  state: WatchState,
  { host, top }: NonNullable<WatchState['open']>,
  pressedKey: Key,
  size: Size,
): WatchState {
  if (pressedKey === 'escape') {
    const { open: _, ...rest } = state;
    return rest;
  }
  const height = bodyHeight(state, size);
  const last = Math.max(0, openLines(state, size).length - height);
  return { ...state, open: { host, top: step(top, pressedKey, { page: height, last }) } };
}

function moved(state: WatchState, pressedKey: Key, size: Size): WatchState {
  const hosts = shownHosts(state);
  const at = Math.max(0, hosts.indexOf(selectedHost(state) ?? ''));
  const index = step(at, pressedKey, { page: bodyHeight(state, size) - 1, last: hosts.length - 1 });
  const host = hosts[index];
  return host === undefined || index === at ? state : { ...state, selected: host };
}

function step(
  at: number,
  pressedKey: Key,
  { page, last }: { readonly page: number; readonly last: number },
): number {
  const by: Partial<Record<string, number>> = {
    up: -1,
    down: 1,
    'page-up': -Math.max(1, page),
    'page-down': Math.max(1, page),
    home: -Infinity,
    end: Infinity,
  };
  const way = typeof pressedKey === 'string' ? (by[pressedKey] ?? 0) : 0;
  return Math.max(0, Math.min(last, at + way));
}
