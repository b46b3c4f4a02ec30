import { PassThrough } from 'node:stream';

import type { Context } from '../../../shared/base/context.ts';

type Input = Context['stdin'];

/** The whole of what a terminal gave at once: line breaks with something behind them were pasted. */
export function joinLines(text: string): string {
  return /[\r\n]+[^\r\n]/.test(text) ? text.trim().replaceAll(/[\r\n]+/g, ' ') : text;
}

/**
 * A terminal whose pasted lines come as one line, with blanks between: the first of them would else be the answer, and the
 * others answers to questions that nobody has seen. What is pasted waits for Enter. `end` gives the terminal back.
 */
export function joinPastedLines(stdin: Input): { readonly stream: Input; readonly end: () => void } {
  const raw = 'setRawMode' in stdin && typeof stdin.setRawMode === 'function' ? stdin.setRawMode : undefined;
  const stream = Object.assign(new PassThrough(), {
    isTTY: stdin.isTTY === true,
    setRawMode: (mode: boolean): void => void raw?.call(stdin, mode),
  });
  const forward = (chunk: Buffer | string): void => void stream.write(joinLines(chunk.toString()));
  stdin.on('data', forward);
  stdin.resume();
  return {
    stream,
    end: () => {
      stdin.off('data', forward);
      stdin.pause();
      stream.destroy();
    },
  };
}
