import type { OutputStream } from '../../../shared/base/context.ts';
import { fold } from './fold.ts';

/** Writes text for people; a terminal gets it in lines that it has columns for. */
export function say(stream: OutputStream, text: string): void {
  stream.write(stream.isTTY === true ? fold(text, stream.columns ?? 80) : text);
}
