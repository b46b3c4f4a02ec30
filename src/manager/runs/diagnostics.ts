import { foreignLines } from '../../shared/base/foreign-text.ts';
import type { FileTail, TailLimits } from '../../shared/engine/tails.ts';
import type { Outcome } from './outcome.ts';

/** Of each failed run: the listener's log and its worker's, both in at most two pages. */
export const diagnosticLimits: TailLimits = {
  files: 4,
  fileBytes: 128 * 1024,
  streamBytes: 64 * 1024 * 1024,
};

/** What is kept of one file of the agent's `_diag`; text without anything that a terminal obeys. */
export interface Diagnostic {
  readonly name: string;
  /** Of the whole file. */
  readonly bytes: number;
  /** Its end. */
  readonly text: string;
}

/** The names that listener and worker give their logs (HostTraceListener). */
export function isAgentLog(name: string): boolean {
  return /^(?:Agent|Worker)_[\w.-]{1,100}\.log$/.test(name);
}

const well: ReadonlySet<string> = new Set(['succeeded', 'succeededwithissues', 'canceled']);

/** A job that failed counts, too: from a worker that was killed its console tells no difference. Pure. */
export function isFailed({ cause, result }: Pick<Outcome, 'cause' | 'result'>): boolean {
  return cause !== undefined || (result !== undefined && !well.has(result));
}

export function diagnosticOf({ name, bytes, end }: FileTail): Diagnostic {
  const text = foreignLines(end.toString('utf8'), Number.POSITIVE_INFINITY);
  return { name, bytes, text: text.slice(-diagnosticLimits.fileBytes) };
}

/** For people: one file after the other, each under its name. */
export function diagnosticsText(run: string, files: readonly Diagnostic[]): string {
  const parts = files.map(({ name, bytes, text }) => {
    const cut = text.length < bytes ? `, the end of ${bytes} bytes` : '';
    return `==> ${name} of run ${run}${cut} <==\n${text.endsWith('\n') ? text : `${text}\n`}`;
  });
  return parts.join('\n');
}
