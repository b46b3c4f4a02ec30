import { timestamp, type Clock } from '../../shared/base/clock.ts';
import type { ExitCode, Problem } from '../../shared/base/errors.ts';
import { version } from '../../shared/base/version.ts';

/** What the JSON document of every command has, that of a failure too. docs/commands.md tells it to its readers. */
export interface Envelope {
  readonly schema: 1;
  /** As typed: `inventory show`. Absent where the arguments were not understood. */
  readonly command?: string;
  /** Of azp-fleet. */
  readonly version: string;
  /** ISO 8601: when the document was written. */
  readonly at: string;
  readonly exitCode: ExitCode;
  /** What went wrong, on hosts and beside them. */
  readonly problems: readonly Problem[];
  /** The debug log of this run. Absent where none could be written. */
  readonly log?: string;
}

/** A command's own members: any names but those of the envelope. */
export type Members = { readonly [name: string]: unknown } & { readonly [name in keyof Envelope]?: never };

/** The one JSON document of a run, as text. */
export function jsonDocument(
  clock: Pick<Clock, 'wall'>,
  parts: Pick<Envelope, 'exitCode' | 'problems'> & {
    readonly command: string | undefined;
    readonly log: string | undefined;
  },
  members: Members = {},
): string {
  const { command, exitCode, problems, log } = parts;
  const at = timestamp(clock);
  const document = { schema: 1, command, version, at, exitCode, problems, log, ...members };
  return `${JSON.stringify(document, undefined, 2)}\n`;
}
