import type { Context, OutputStream } from '../../shared/base/context.ts';
import { foreignLines } from '../../shared/base/foreign-text.ts';

/**
 * Where output goes that the user asked a host or a job for, and what becomes of it before: it stays as it is where no
 * terminal reads it.
 */
export function askedOutput({ stdout, unfiltered }: Pick<Context, 'stdout' | 'unfiltered'>): {
  readonly to: OutputStream;
  readonly clean: (text: string) => string;
} {
  if (stdout.isTTY !== true) return { to: unfiltered.stdout, clean: (text) => text };
  return { to: stdout, clean: (text) => foreignLines(text, Number.POSITIVE_INFINITY) };
}
