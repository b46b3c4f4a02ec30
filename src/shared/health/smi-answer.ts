import { addListing, type GpuReport, gpusIn, parseSmi, type SmiReport, withVersions } from './smi-report.ts';
import { ambiguous, explainSmiFailure, unreadable, type Where } from './smi-failure.ts';
import type { SmiAnswer } from './smi-run.ts';
import type { Finding } from './verdict.ts';
import { aroundReport, documentIn, type Printed } from './smi-sections.ts';
import { parseXml, type XmlElement } from './xml.ts';

interface Read {
  /** Undefined: the output cannot be trusted. */
  readonly report: SmiReport | undefined;
  readonly findings: readonly Finding[];
}

/**
 * Reads the answer of nvidia-smi about the GPUs at these PCI addresses (empty: not known), and its failures. GPUs in
 * `ignored` are left out. Pure.
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
  // The failure is not about a single GPU.
  if (each.report.gpus.length === 0 && first !== undefined) return { report: undefined, findings: [first] };
  const isReported = first === undefined || each.findings.some(({ gpu }) => gpu !== undefined);
  return { report: each.report, findings: isReported ? each.findings : [...each.findings, asideFrom(first)] };
}

function doubt(
  { reason, isAmbiguous }: { readonly reason: string; readonly isAmbiguous: boolean },
  severity: Finding['severity'],
): Finding {
  return isAmbiguous ? ambiguous(severity, reason) : unreadable(reason);
}

/** Downgrades the failure of the first query when each GPU answered its own query. */
function asideFrom({ code, what, next }: Finding): Finding {
  const severity = code === 'smi.ambiguous' ? 'info' : 'warn';
  return { code, severity, what: `${what}; each GPU was queried separately`, next };
}

const header = /^azp-fleet: (?:gpu (?<gpu>\S+) exit (?<code>\d+)|more)$/;

interface Section extends Printed {
  /** Undefined: the part after the last GPU. */
  readonly gpu: string | undefined;
}

/**
 * Reads the output of `aloneScript`: a document for each GPU, and the failure of each GPU without one. A document about
 * another GPU than the queried one is ignored. Pure.
 */
function readAlone(
  output: string,
  where: Where,
): { readonly report: SmiReport; readonly findings: readonly Finding[] } {
  const gpus: GpuReport[] = [];
  const findings: Finding[] = [];
  let first: XmlElement | undefined;
  const sections = sectionsOf(output);
  for (const { gpu, ...printed } of sections) {
    const failure = explainSmiFailure({ ...printed, timedOut: false }, where);
    if (failure !== undefined) findings.push(gpu === undefined ? failure : { ...failure, gpu });
    if (gpu === undefined) continue;
    const shown = readOne(gpu, printed.output);
    if ('root' in shown) {
      first ??= shown.root;
      gpus.push({ ...shown.report, index: gpus.length });
    } else if (failure === undefined) findings.push({ ...shown.finding, gpu });
  }
  const around = sections.map(aroundReport).join('\n');
  return { report: withVersions(first, addListing(gpus, around)), findings };
}

function sectionsOf(output: string): readonly Section[] {
  const sections: (Omit<Section, 'output'> & { lines: string[] })[] = [];
  for (const line of output.split('\n')) {
    const found = header.exec(line);
    if (found === null) sections.at(-1)?.lines.push(line);
    else sections.push({ gpu: found.groups?.['gpu'], code: Number(found.groups?.['code'] ?? 0), lines: [] });
  }
  return sections.map(({ lines, ...section }) => ({ ...section, output: lines.join('\n') }));
}

function readOne(
  gpu: string,
  said: string,
): { readonly report: GpuReport; readonly root: XmlElement } | { readonly finding: Finding } {
  const document = documentIn(said);
  if (document === undefined) return { finding: unreadable('no XML in the output') };
  const parsed = parseXml(document);
  if (!parsed.ok) return { finding: unreadable(parsed.reason) };
  const [report, ...others] = gpusIn(parsed.root);
  if (report?.busId !== gpu || others.length > 0)
    return { finding: ambiguous('fail', `the query for the GPU at ${gpu} shows something else`) };
  return { report, root: parsed.root };
}
