import type { Code } from '../base/codes/code.ts';
import { entryOf, findingEntry } from '../base/codes/tables.ts';
import type { Finding } from './verdict.ts';

/** Returns a finding as the entry of its code declares it: severity, cause and fix, unless this case has others. Pure. */
export function finding(
  code: Code,
  what?: string,
  more: Partial<Omit<Finding, 'code' | 'what'>> = {},
): Finding {
  const [cause = '', next = ''] = entryOf(code) ?? [];
  return { code, severity: findingEntry(code)?.severity ?? 'fail', what: what ?? cause, next, ...more };
}

/** Puts the name of a host into the commands of a next action. Pure. */
export function withHost<T extends { readonly next: string }>(shown: T, host: string): T {
  const next = shown.next.replaceAll(/\bHOST\b/g, () => host);
  return next === shown.next ? shown : { ...shown, next };
}

/** A finding that is not shown. */
export interface HiddenFinding extends Finding {
  /** The finding that causes it. Absent: it has not lasted long enough yet. */
  readonly behind?: Code;
}

/** From the least severe. */
export const rank = { info: 0, warn: 1, fail: 2 } as const;

interface Divided {
  readonly shown: readonly Finding[];
  readonly hidden: readonly HiddenFinding[];
}

/**
 * Divides findings into those to show, in their order, and the others: those that another one causes, and those that may end by
 * themselves and are younger than their `lastsForS`. `now`: the host's wall clock; undefined: the age does not matter. Pure.
 */
export function divide(findings: readonly Finding[], now?: number): Divided {
  const shown: Finding[] = [];
  const hidden: HiddenFinding[] = [];
  const young = now === undefined ? [] : findings.filter((finding) => isYoung(finding, now));
  for (const finding of findings) {
    const causes = findingEntry(finding.code)?.dependsOn ?? [];
    const cause = findings.find(
      (other) =>
        causes.includes(other.code) &&
        mayHide(other, finding) &&
        !(young.includes(other) && isEarlier(finding, other)),
    );
    if (cause !== undefined) hidden.push({ ...finding, behind: cause.code });
    else if (young.includes(finding)) hidden.push(finding);
    else shown.push(finding);
  }
  return { shown, hidden };
}

/** What was there before a cause that has just begun has another one. */
function isEarlier({ since = '' }: Finding, other: Finding): boolean {
  return Date.parse(since) < Date.parse(other.since ?? '');
}

/** One without a time counts as old, and so does one from the future, after the host's clock was set back. */
function isYoung({ code, since }: Finding, now: number): boolean {
  const ageMs = now - Date.parse(since ?? '');
  return ageMs >= 0 && ageMs < (findingEntry(code)?.lastsForS ?? 0) * 1000;
}

/** A lesser finding, or one about another GPU, hides nothing: the host would look better than it is. */
function mayHide(other: Finding, { severity, gpu }: Finding): boolean {
  const sameGpu = other.gpu === undefined || gpu === undefined || other.gpu === gpu;
  return sameGpu && rank[other.severity] >= rank[severity];
}
