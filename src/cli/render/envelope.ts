import { timestamp, type Clock } from '../../shared/base/clock.ts';
import type { ExitCode, Problem } from '../../shared/base/errors.ts';
import { version } from '../../shared/base/version.ts';

/** The members of every JSON document, including those of failures. docs/commands.md documents them. */
export interface Envelope {
  readonly schema: 1;
  /** As typed: `inventory show`. Absent if the arguments could not be parsed. */
  readonly command?: string;
  /** Of azp-fleet. */
  readonly version: string;
  /** ISO 8601: when the document was written. */
  readonly at: string;
  readonly exitCode: ExitCode;
  /** All problems, of hosts and of the run. */
  readonly problems: readonly Problem[];
  /** The debug log of this run. Absent if none could be written. */
  readonly log?: string;
}

/** A command's own members: any names but those of the envelope. */
export type Members = { readonly [name: string]: unknown } & { readonly [name in keyof Envelope]?: never };

/** Returns the JSON document of a run as text. */
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
