import { stripVTControlCharacters } from 'node:util';

/** Returns the lines on a terminal after a program has drawn there, without colors. Knows the sequences of the progress display. */
export function leftOnScreen(written: string, plain = stripVTControlCharacters): string[] {
  let lines = [''];
  for (const [, up, erase, newline, text] of written.matchAll(
    /\u001b\[(\d+)A|(\u001b\[0J)|(\r?\n)|((?:[^\u001b\n]|\u001b(?!\[(?:\d+A|0J)))+)/g,
  )) {
    if (up !== undefined) lines = [...lines.slice(0, Math.max(0, lines.length - 1 - Number(up))), ''];
    else if (newline !== undefined) lines.push('');
    else if (text !== undefined) lines.push(`${lines.pop() ?? ''}${plain(text)}`);
    else if (erase === undefined) throw new TypeError('the terminal got an unknown sequence');
  }
  return lines;
}
