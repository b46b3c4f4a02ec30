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

/** A text of a document that may be too long for memory. */
export abstract class LongText {
  abstract pieces(): Iterable<string>;
}

/** Returns the JSON document of a run, in pieces that are text of JSON together. */
export function* jsonDocument(
  clock: Pick<Clock, 'wall'>,
  parts: Pick<Envelope, 'exitCode' | 'problems'> & {
    readonly command: string | undefined;
    readonly log: string | undefined;
  },
  members: Members = {},
): Generator<string> {
  const { command, exitCode, problems, log } = parts;
  const at = timestamp(clock);
  const document = { schema: 1, command, version, at, exitCode, problems, log, ...members };
  const texts: LongText[] = [];
  // Random, so that no host can write it.
  const place = crypto.randomUUID();
  const withPlaces = (_key: string, value: unknown): unknown => {
    if (!(value instanceof LongText)) return value;
    texts.push(value);
    return place;
  };
  const [first = '', ...rest] = JSON.stringify(document, withPlaces, 2).split(place);
  yield first;
  for (const [index, text] of texts.entries()) {
    for (const piece of text.pieces()) yield JSON.stringify(piece).slice(1, -1);
    yield rest[index] ?? '';
  }
  yield '\n';
}
