import * as z from 'zod';

import { foreignJson, foreignLine } from '../../shared/base/foreign-text.ts';
import { defined } from '../../shared/base/objects.ts';

const word = z.string().transform((text) => foreignLine(text, 300));
const mostChanges = 50;

/** A line of an audit file: of a host, or of this machine, which has no login and no address. */
const lineShape = z.object({
  at: word.refine((text) => !Number.isNaN(Date.parse(text))),
  event: z.enum(['begin', 'resume', 'end', 'cut']),
  host: word,
  run: word,
  who: word,
  command: word,
  key: word.optional(),
  login: word.optional(),
  from: word.optional(),
  plan: word,
  changes: z.array(word).max(mostChanges),
  outcome: word.optional(),
});

export type AuditLine = z.output<typeof lineShape>;

/** The changes of one run on one host. */
export interface AuditRecord {
  /** ISO 8601; of the host's clock where the host has it. */
  readonly at: string;
  readonly host: string;
  readonly run: string;
  /** `user@laptop`, as the client says. */
  readonly who: string;
  readonly command: string;
  /** Key or method of the login, as the client says. */
  readonly key?: string;
  /** The login and the address that the host saw. */
  readonly login?: string;
  readonly from?: string;
  /** Digest of the announced changes. */
  readonly plan: string;
  readonly changes: readonly string[];
  /** Absent: no end was written; the run was cut, or still works. */
  readonly outcome?: string;
  /** Which files have it. `lost`: this machine's has, the host's was read and lacks it. `here`: the host's was not read. */
  readonly in: 'both' | 'host' | 'lost' | 'here';
}

/** Lines that are read of one file. */
const mostLines = 20_000;

/** Parses an audit file; the number of lines that are not of its form is `invalid`. */
export function readAuditLines(text: string): {
  readonly lines: readonly AuditLine[];
  readonly invalid: number;
} {
  const all = text.split('\n').filter((line) => line !== '');
  const lines = all.slice(-mostLines).flatMap((line) => lineShape.safeParse(foreignJson(line)).data ?? []);
  return { lines, invalid: Math.min(all.length, mostLines) - lines.length };
}

/**
 * Returns the runs of one host, oldest first. `own`: the lines of this machine about it; `theirs`: the host's lines; undefined: they
 * were not read. A run of this machine that is older than the host's file is not missed there. Pure.
 */
export function auditRecords(
  host: string,
  own: readonly AuditLine[],
  theirs: readonly AuditLine[] | undefined,
): readonly AuditRecord[] {
  const ofHost = byRun(theirs ?? []);
  const here = byRun(own);
  const [oldest] = theirs ?? [];
  const records = [...new Set([...ofHost.keys(), ...here.keys()])].flatMap((run): AuditRecord[] => {
    const lines = ofHost.get(run) ?? here.get(run) ?? [];
    const [first] = lines;
    if (first === undefined) return [];
    if (!ofHost.has(run) && oldest !== undefined && Date.parse(first.at) < Date.parse(oldest.at)) return [];
    const { at, who, command, key, login, from, plan, changes } = first;
    const outcome = [...lines, ...(here.get(run) ?? [])].findLast(
      (line) => line.outcome !== undefined,
    )?.outcome;
    const place = !ofHost.has(run)
      ? theirs === undefined
        ? 'here'
        : 'lost'
      : here.has(run)
        ? 'both'
        : 'host';
    return [
      { at, host, run, who, command, plan, changes, in: place, ...defined({ key, login, from, outcome }) },
    ];
  });
  return records.toSorted((one, other) => Date.parse(one.at) - Date.parse(other.at));
}

function byRun(lines: readonly AuditLine[]): ReadonlyMap<string, readonly AuditLine[]> {
  return Map.groupBy(lines, ({ run }) => run);
}
