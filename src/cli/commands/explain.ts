import type { FindingEntry } from '../../shared/base/codes/entry.ts';
import { codeTables, findingEntry, findings } from '../../shared/base/codes/tables.ts';
import type { Context } from '../../shared/base/context.ts';
import { ExitCode, usageError } from '../../shared/base/errors.ts';
import { completed, nearest } from '../../shared/base/nearest.ts';
import { defined } from '../../shared/base/objects.ts';
import type { Finding } from '../../shared/health/verdict.ts';
import { checkXids, classifyXid } from '../../shared/health/xid.ts';
import type { CommandInput } from '../command.ts';
import { wrap } from '../render/lines.ts';
import type { Result } from '../result.ts';

/** The entry of a code. */
interface Explained {
  readonly code: string;
  /** The title of the code's section. */
  readonly subject: string;
  readonly cause: string;
  readonly fix: string;
  /** Null: the code is no finding. */
  readonly finding: ExplainedFinding | null;
}

interface ExplainedFinding extends Pick<FindingEntry, 'title' | 'dependsOn' | 'lastsForS'> {
  readonly severity: Finding['severity'];
}

/** Prints the entry of a code. Contacts no host. */
export function run(context: Context, { positionals }: CommandInput): Promise<Result> {
  const [typed = ''] = positionals;
  // As copied from a screen: [ssh.auth]
  const code = typed.replaceAll(/^\[|\]$/g, '').toLowerCase();
  const explained = explain(code);
  if (explained === undefined) throw unknownCode(code);
  const width = (context.stdout.columns ?? 80) - 1;
  return Promise.resolve({
    exitCode: ExitCode.ok,
    json: { ...explained },
    text: () => `${explainedLines(explained, width).join('\n')}\n`,
  });
}

/** Returns the entry of a code, or undefined. */
export function explain(code: string): Explained | undefined {
  const [, digits] = /^xid\.(\d{1,6})$/.exec(code) ?? [];
  if (digits !== undefined) return explainXid(Number(digits));
  for (const { title, entries } of [...codeTables, findings]) {
    const [cause, fix] = (Object.hasOwn(entries, code) ? entries[code] : undefined) ?? [];
    if (cause === undefined || fix === undefined) continue;
    return { code, subject: title, cause, fix, finding: explainFinding(code) };
  }
  return undefined;
}

function explainFinding(code: string): ExplainedFinding | null {
  const entry = findingEntry(code);
  if (entry === undefined) return null;
  const { title, severity = 'fail', dependsOn, lastsForS } = entry;
  return { title, severity, ...defined({ dependsOn, lastsForS }) };
}

/** Returns the entry of an XID, with the manager's own assessment. */
function explainXid(xid: number): Explained {
  const [found] = checkXids([{ xid, gpu: 'ADDRESS', text: '' }], (busId) => busId);
  const { what } = classifyXid(xid);
  return {
    code: `xid.${xid}`,
    subject: 'GPU driver errors in the kernel log (XID)',
    cause: `XID ${xid}: ${what}`,
    fix: found?.next ?? '',
    finding: { title: `XID ${xid}`, severity: found?.severity ?? 'warn' },
  };
}

function findingText({ title, severity, dependsOn = [], lastsForS }: ExplainedFinding): string {
  const hidden = dependsOn.length === 0 ? '' : `; not shown beside ${dependsOn.join(', ')}`;
  const lasts = lastsForS === undefined ? '' : `; shown when it has lasted ${lastsForS} s`;
  return `${title} (${severity})${lasts}${hidden}`;
}

function explainedLines(explained: Explained, width: number): readonly string[] {
  const { code, subject, cause, fix, finding } = explained;
  const labelled = (label: string, text: string) =>
    wrap(text, width, 12, 12).map((line, at) => (at === 0 ? `  ${label.padEnd(10)}${line}` : line));
  return [
    `${code} · ${subject}`,
    ...(finding === null ? [] : labelled('finding', findingText(finding))),
    ...labelled('cause', cause),
    ...labelled('fix', fix),
  ];
}

function unknownCode(code: string): Error {
  const near = nearestCodes(code);
  return usageError({
    code: 'usage.code',
    what: `there is no code "${code}"`,
    expected: 'a code from the brackets after a message, or xid.NUMBER',
    next:
      near.length === 0
        ? 'copy the code from the message, or search docs/errors.md'
        : `did you mean ${near.join(', ')}?`,
  });
}

/** Returns at most five similar codes: the nearest in spelling, then those that contain the word. */
export function nearestCodes(code: string): readonly string[] {
  const all = [...codeTables, findings].flatMap(({ entries }) => Object.keys(entries));
  const last = code.split('.').at(-1) ?? '';
  const near = [nearest(code, all), completed(code, all)].flatMap((each) => each ?? []);
  const related = last.length < 3 ? [] : all.filter((each) => each.includes(last));
  const withPrefix =
    code.endsWith('.') || code.length > 2
      ? all.filter((each) => each.startsWith(`${code.replace(/\.$/, '')}.`))
      : [];
  return [...new Set([...near, ...related, ...withPrefix])].slice(0, 5);
}
