import { type Checkup, conclude, uuidOf } from '../../shared/health/checkup.ts';
import type { GpuReport, SmiReport } from '../../shared/health/smi-report.ts';
import type { Finding } from '../../shared/health/verdict.ts';

/**
 * Two looks for what concerns the whole host, or what is wrong with nvidia-smi and not with the GPU that it was asked
 * for: a host under load has no process or no memory for it, and is not ill. What is wrong with one GPU counts at once.
 * `last`: what was found by the look before. `before`: what has counted since. The result is what counts now: what was
 * known of the GPUs in question stays, and the doubt stands beside it as a warning. Undefined: nothing is known yet. Pure.
 */
export function confirmed(
  now: Checkup,
  last: readonly Finding[],
  before: Checkup | undefined,
): Checkup | undefined {
  const news = now.findings.filter(
    (finding) =>
      isDoubtful(finding) &&
      !last.some(
        (earlier) => isDoubtful(earlier) && (earlier.gpu === undefined || earlier.gpu === finding.gpu),
      ),
  );
  if (news.length === 0) return now;
  if (before === undefined) return undefined;
  const isWhole = news.some(({ gpu }) => gpu === undefined);
  const report = isWhole ? before.report : withGpus(now.report, before.report, news);
  const isInDoubt = ({ gpu, code }: Finding): boolean =>
    isWhole ||
    news.some((doubt) => code !== doubt.code && gpu !== undefined && isAt(before.report, gpu, doubt));
  const weakened = now.findings.map((finding) => ({
    ...finding,
    ...(finding.gpu === undefined ? {} : { gpu: uuidOf(report, finding.gpu) }),
    ...(news.includes(finding) ? { severity: 'warn' as const } : {}),
  }));
  const kept = before.findings.filter(
    // The kernel's log was read just now.
    (finding) => isInDoubt(finding) && !finding.code.startsWith('xid.') && !weakened.some(isSame(finding)),
  );
  return conclude([...weakened, ...kept], report);
}

function isDoubtful({ severity, gpu, code }: Finding): boolean {
  if (severity !== 'fail' || code === 'gpu.count') return false;
  return gpu === undefined || code.startsWith('smi.');
}

function isSame(one: Finding): (other: Finding) => boolean {
  return (other) => other.code === one.code && other.gpu === one.gpu;
}

function isAt(report: SmiReport | undefined, gpu: string, { gpu: address }: Finding): boolean {
  return gpu === address || (address !== undefined && gpu === uuidOf(report, address));
}

/** A report with the GPUs that could not be asked as they were known, in bus order. */
function withGpus(
  now: SmiReport | undefined,
  before: SmiReport | undefined,
  news: readonly Finding[],
): SmiReport | undefined {
  if (now === undefined) return before;
  const known = before?.gpus.filter(({ busId }) => news.some(({ gpu }) => gpu === busId)) ?? [];
  const byBus = (a: GpuReport, b: GpuReport): number => (a.busId < b.busId ? -1 : 1);
  return { ...now, gpus: [...now.gpus, ...known].toSorted(byBus) };
}
