import { explainCuda } from './cuda/answer.ts';
import { checkGpu } from './rules/gpu-rules.ts';
import { readAnswer } from './smi-answer.ts';
import type { Where } from './smi-failure.ts';
import type { SmiAnswer } from './smi-run.ts';
import { aroundReport } from './smi-sections.ts';
import type { Finding, Verdict } from './verdict.ts';
import type { SmiReport } from './report.ts';
import { checkXids } from './xid/xid-rules.ts';
import type { XidEvent } from './xid/xid.ts';

/** The result of one look at a host's GPUs. */
export interface Checkup {
  readonly verdict: Verdict;
  /** Worst first. */
  readonly findings: readonly Finding[];
  /** Absent when nvidia-smi gave nothing that could be read, and on a host without GPUs. */
  readonly report?: SmiReport;
}

/** What is known about a host besides what nvidia-smi says. */
export interface Expectation {
  /** PCI addresses of the NVIDIA GPUs (`0000:83:00.0`); GPUs passed through to virtual machines left out. */
  readonly pci: readonly string[];
  /** Addresses of those for screens: nvidia-smi may show them, and nothing is judged by them. */
  readonly ignored?: readonly string[];
  /** How many GPUs the inventory promises. */
  readonly gpus?: number;
  /** Kernel log since boot. */
  readonly xids?: readonly XidEvent[];
}

/** The judgement on what nvidia-smi answered. Pure. */
export function examine(answer: SmiAnswer, where: Where, expected: Expectation): Checkup {
  const { report, findings: ofSmi } = readAnswer(answer, where, expected.pci, expected.ignored);
  const findings = [
    ...ofSmi,
    ...(report === undefined
      ? []
      : [...report.gpus.flatMap(checkGpu), ...missing(report, ofSmi, expected.pci)]),
    ...fewer(Math.max(report?.gpus.length ?? 0, expected.pci.length), expected.gpus),
    ...checkXids(expected.xids ?? [], (busId) => uuidOf(report, busId)),
  ];
  return conclude([...findings, ...ofCuda(answer, findings)], report);
}

/** Where something else has failed, CUDA says the same in fewer words. */
function ofCuda(answer: SmiAnswer, known: readonly Finding[]): readonly Finding[] {
  if (known.some(({ severity }) => severity === 'fail')) return [];
  const finding = explainCuda(aroundReport(answer.alone ?? answer));
  return finding === undefined ? [] : [finding];
}

/** A host without NVIDIA GPUs: well, unless the inventory promises some. */
export function examineWithoutGpus(expectedGpus: number | undefined): Checkup {
  return conclude(fewer(0, expectedGpus), undefined);
}

/** Orders findings, worst first, and draws the verdict. */
export function conclude(found: readonly Finding[], report: SmiReport | undefined): Checkup {
  const findings = [...found].sort((a, b) => rank[b.severity] - rank[a.severity]);
  const verdict = verdictOf(findings);
  return report === undefined ? { verdict, findings } : { verdict, findings, report };
}

const rank = { info: 0, warn: 1, fail: 2 } as const;

function verdictOf(findings: readonly Finding[]): Verdict {
  const worst = findings.find(({ severity }) => severity !== 'info');
  if (worst === undefined) return { state: 'healthy', cause: '', next: '' };
  const others = findings.filter(({ severity }) => severity !== 'info').length - 1;
  const more = others === 0 ? '' : ` (and ${others} more)`;
  const state = worst.severity === 'fail' ? 'failed' : 'degraded';
  return {
    state: worst.code === 'smi.hung' ? 'hung' : state,
    cause: `${worst.gpu === undefined ? '' : `${shortGpu(worst.gpu)}: `}${worst.what}${more}`,
    next: worst.next,
  };
}

/** `GPU-513536b6` instead of the whole UUID; PCI addresses stay. */
export function shortGpu(gpu: string): string {
  return /^((?:GPU|MIG)-[\da-f]{8})-/i.exec(gpu)?.[1] ?? `GPU ${gpu}`;
}

/** Not those that were asked for alone and have said why they cannot answer. */
function missing(report: SmiReport, told: readonly Finding[], pci: readonly string[]): readonly Finding[] {
  const known = new Set([...report.gpus.map(({ busId }) => busId), ...told.map(({ gpu }) => gpu)]);
  return pci
    .filter((address) => !known.has(address))
    .map((address) => ({
      code: 'gpu.missing',
      gpu: address,
      severity: 'fail',
      what: 'it is on the PCI bus, but nvidia-smi does not show it',
      next: 'reboot the host; if it stays away, see `journalctl -k | grep NVRM` and have the hardware looked at',
    }));
}

function fewer(count: number, expected: number | undefined): readonly Finding[] {
  if (expected === undefined || count >= expected) return [];
  return [
    {
      code: 'gpu.count',
      severity: 'fail',
      what: `${count} of ${expected} GPUs are there`,
      next: 'reboot the host and have the missing cards looked at, or correct `gpus:` in the inventory',
    },
  ];
}

/** How a GPU is called in findings. */
export function uuidOf(report: SmiReport | undefined, busId: string): string {
  return report?.gpus.find((gpu) => gpu.busId === busId)?.uuid || busId;
}
