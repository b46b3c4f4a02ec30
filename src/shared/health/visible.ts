import type { Code } from '../base/codes/code.ts';
import { findingEntry } from '../base/codes/tables.ts';
import type { Finding } from './verdict.ts';

/** A finding that is not shown. */
export interface HiddenFinding extends Finding {
  /** The finding that causes it. */
  readonly behind: Code;
}

/** From the least severe. */
export const rank = { info: 0, warn: 1, fail: 2 } as const;

/** Divides findings into those to show, in their order, and those that another one causes. Pure. */
export function divide(findings: readonly Finding[]): {
  readonly shown: readonly Finding[];
  readonly hidden: readonly HiddenFinding[];
} {
  const shown: Finding[] = [];
  const hidden: HiddenFinding[] = [];
  for (const finding of findings) {
    const causes = findingEntry(finding.code)?.dependsOn ?? [];
    const cause = findings.find((other) => causes.includes(other.code) && mayHide(other, finding));
    if (cause === undefined) shown.push(finding);
    else hidden.push({ ...finding, behind: cause.code });
  }
  return { shown, hidden };
}

/** A lesser finding, or one about another GPU, hides nothing: the host would look better than it is. */
function mayHide(other: Finding, { severity, gpu }: Finding): boolean {
  const sameGpu = other.gpu === undefined || gpu === undefined || other.gpu === gpu;
  return sameGpu && rank[other.severity] >= rank[severity];
}
