import type { SmiReport } from './report.ts';
import { readAlone } from './smi-alone.ts';
import { ambiguous, explainSmiFailure, unreadable, type Where } from './smi-failure.ts';
import type { SmiAnswer } from './smi-run.ts';
import { parseSmi } from './smi-xml.ts';
import type { Finding } from './verdict.ts';

interface Read {
  /** Undefined: nothing of what it said can be relied on. */
  readonly report: SmiReport | undefined;
  readonly findings: readonly Finding[];
}

/**
 * What nvidia-smi showed of the GPUs at these PCI addresses (empty: not known which), and what it failed in. What it shows
 * of `ignored` ones is left out. Pure.
 */
export function readAnswer(
  answer: SmiAnswer,
  where: Where,
  pci: readonly string[],
  ignored: readonly string[] = [],
): Read {
  const failure = explainSmiFailure(answer, where);
  if (answer.timedOut) return { report: undefined, findings: failure === undefined ? [] : [failure] };
  const { alone } = answer;
  const listing = parseSmi(answer, pci, ignored);
  if (alone === undefined) {
    if (listing.ok) return { report: listing.report, findings: failure === undefined ? [] : [failure] };
    return { report: undefined, findings: [failure ?? doubt(listing, 'fail')] };
  }
  const hung = alone.timedOut ? explainSmiFailure(alone, where) : undefined;
  if (hung !== undefined) return { report: undefined, findings: [hung] };
  const each = readAlone(alone.output, where);
  const first = failure ?? (listing.ok ? undefined : doubt(listing, 'fail'));
  // Then it is not about one of them.
  if (each.report.gpus.length === 0 && first !== undefined) return { report: undefined, findings: [first] };
  const isTold = first === undefined || each.findings.some(({ gpu }) => gpu !== undefined);
  return { report: each.report, findings: isTold ? each.findings : [...each.findings, asideFrom(first)] };
}

function doubt(
  { reason, isAmbiguous }: { readonly reason: string; readonly isAmbiguous: boolean },
  severity: Finding['severity'],
): Finding {
  return isAmbiguous ? ambiguous(severity, reason) : unreadable(reason);
}

/** What the first answer lacked, when each GPU has answered for itself. */
function asideFrom({ code, what, next }: Finding): Finding {
  const severity = code === 'smi.ambiguous' ? 'info' : 'warn';
  return { code, severity, what: `${what}; each GPU was asked for alone`, next };
}
