import { explainCuda } from './cuda.ts';
import type { GpuPart, MigDevice } from './gpu.ts';
import { gpuRules } from './gpu-rules.ts';
import { checkKernelEvents, type KernelEvent } from './kernel-events.ts';
import { readAnswer } from './smi-answer.ts';
import type { Where } from './smi-failure.ts';
import type { SmiAnswer } from './smi-run.ts';
import { aroundReport } from './smi-sections.ts';
import type { Finding, Verdict } from './verdict.ts';
import { divide, finding, rank } from './findings.ts';
import type { GpuReport, SmiReport } from './smi-report.ts';
import { checkXids, type XidEvent } from './xid.ts';

/** The result of one check of a host's GPUs. */
export interface Checkup {
  readonly verdict: Verdict;
  /** Worst first. */
  readonly findings: readonly Finding[];
  /** Absent when the output of nvidia-smi cannot be read, and on a host without GPUs. */
  readonly report?: SmiReport;
}

/** Facts about a host that do not come from nvidia-smi. */
export interface Expectation {
  /** PCI addresses of the NVIDIA GPUs (`0000:83:00.0`); GPUs passed through to virtual machines left out. */
  readonly pci: readonly string[];
  /** Addresses of the GPUs for screens: nvidia-smi may list them; no rule applies to them. */
  readonly ignored?: readonly string[];
  /** The number of GPUs in the inventory. */
  readonly gpus?: number;
  /** Kernel log since boot. */
  readonly xids?: readonly XidEvent[];
  /** Other events in the same log. */
  readonly events?: readonly KernelEvent[];
}

/** Judges an answer of nvidia-smi. Pure. */
export function examine(answer: SmiAnswer, where: Where, expected: Expectation): Checkup {
  const { report, findings: ofSmi } = readAnswer(answer, where, expected.pci, expected.ignored);
  const findings = [
    ...ofSmi,
    ...(report?.gpus.flatMap(checkGpu) ?? []),
    ...checkKernelEvents(expected.events ?? [], report),
    ...(report === undefined ? [] : [...missing(report, ofSmi, expected.pci), ...differing(report)]),
    ...fewer(Math.max(report?.gpus.length ?? 0, expected.pci.length), expected.gpus),
    ...checkXids(expected.xids ?? [], (busId, part) => uuidOf(report, busId, part)),
  ];
  return conclude([...findings, ...ofCuda(answer, findings)], report);
}

/** Returns the findings of all rules about one GPU. */
export function checkGpu(gpu: GpuReport): readonly Finding[] {
  return gpuRules.flatMap(({ code, severity, seen, next }) => {
    const what = seen(gpu);
    if (what === undefined) return [];
    return [
      { code, gpu: gpu.uuid || gpu.busId, severity, what, next: next.replaceAll('{bus}', () => gpu.busId) },
    ];
  });
}

/** Returns what CUDA reported, unless another check failed: that finding says more. */
function ofCuda(answer: SmiAnswer, known: readonly Finding[]): readonly Finding[] {
  if (known.some(({ severity }) => severity === 'fail')) return [];
  const found = explainCuda(aroundReport(answer.alone ?? answer));
  return found === undefined ? [] : [found];
}

/** Judges a host without NVIDIA GPUs: healthy, unless the inventory expects some. */
export function examineWithoutGpus(expectedGpus: number | undefined): Checkup {
  return conclude(fewer(0, expectedGpus), undefined);
}

/** Sorts findings, worst first, and derives the verdict from those that no other one causes. */
export function conclude(found: readonly Finding[], report: SmiReport | undefined): Checkup {
  const findings = [...found].sort((a, b) => rank[b.severity] - rank[a.severity]);
  const verdict = verdictOf(divide(findings).shown);
  return report === undefined ? { verdict, findings } : { verdict, findings, report };
}

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

/** Shortens a UUID to `GPU-513536b6`; a PCI address is unchanged. */
export function shortGpu(gpu: string): string {
  return /^((?:GPU|MIG)-[\da-f]{8})-/i.exec(gpu)?.[1] ?? `GPU ${gpu}`;
}

/** Finds GPUs that nvidia-smi does not list, except those that already have a finding from their own query. */
function missing(report: SmiReport, known: readonly Finding[], pci: readonly string[]): readonly Finding[] {
  const seen = new Set([...report.gpus.map(({ busId }) => busId), ...known.map(({ gpu }) => gpu)]);
  return pci
    .filter((address) => !seen.has(address))
    .map((address) =>
      finding('gpu.missing', 'it is on the PCI bus, and nvidia-smi does not list it', { gpu: address }),
    );
}

/** Finds GPUs of one model with different firmware. */
function differing({ gpus }: SmiReport): readonly Finding[] {
  const models = Map.groupBy(gpus, ({ name }) => name);
  return [...models].flatMap(([name, same]) => {
    const versions = new Set(same.flatMap(({ vbios = [] }) => vbios));
    if (name === '' || versions.size < 2) return [];
    const what = `GPUs of one model (${name}) have different VBIOS versions: ${[...versions].sort().join(', ')}`;
    return [finding('gpu.vbios-differs', what)];
  });
}

function fewer(count: number, expected: number | undefined): readonly Finding[] {
  if (expected === undefined || count >= expected) return [];
  return [finding('gpu.count', `${count} of ${expected} GPUs found`)];
}

/**
 * Returns the name of a GPU in findings: its UUID, or its address when the UUID is not known. With a `part` that fits one
 * MIG device, its UUID.
 */
export function uuidOf(report: SmiReport | undefined, busId: string, part?: GpuPart): string {
  const gpu = report?.gpus.find((each) => each.busId === busId);
  const [device, ...others] = part === undefined ? [] : (gpu?.migDevices.filter(isPart(part)) ?? []);
  const instance = others.length === 0 ? device?.uuid : undefined;
  return (instance ?? gpu?.uuid) || busId;
}

function isPart({ gpuInstance, computeInstance }: GpuPart): (device: MigDevice) => boolean {
  return (device) =>
    device.gpuInstance === gpuInstance &&
    (computeInstance === undefined || device.computeInstance === computeInstance);
}

/**
 * Returns the finding that keeps a slot with these GPUs (`GPU-…` or `MIG-…` UUIDs) from taking jobs. A finding about one
 * GPU stops the slots on that GPU; one about the host stops all, except `gpu.count`: the other GPUs still work. Without
 * a report no GPU is known to work. A slot without GPUs is never stopped.
 */
export function blocker(checkup: Checkup, gpus: readonly string[]): Finding | undefined {
  const { report, findings } = checkup;
  if (gpus.length === 0) return undefined;
  const boards = report === undefined ? [] : gpus.map((uuid) => boardOf(report, uuid));
  const found = findings.find(({ severity, gpu, code }) => {
    if (severity !== 'fail' || code === 'gpu.count') return false;
    return gpu === undefined || report === undefined || boards.includes(gpu);
  });
  const lost = gpus.find((_, index) => report !== undefined && boards[index] === undefined);
  return found ?? (lost === undefined ? undefined : gone(lost));
}

/** Returns the UUID of the board of a GPU or MIG device. While no listing names MIG devices, a MIG device counts as present. */
function boardOf({ gpus }: SmiReport, uuid: string): string | undefined {
  const board = gpus.find(
    (gpu) => gpu.uuid === uuid || gpu.migDevices.some((device) => device.uuid === uuid),
  );
  if (board !== undefined) return board.uuid;
  const listed = gpus.some(({ migDevices }) => migDevices.some((device) => device.uuid !== undefined));
  return uuid.startsWith('MIG-') && !listed ? uuid : undefined;
}

function gone(uuid: string): Finding {
  return finding('gpu.missing', `${uuid} is missing`, {
    gpu: uuid,
    next: 'compare `nvidia-smi -L` on the host with the inventory; after a lost GPU, reboot the host',
  });
}
