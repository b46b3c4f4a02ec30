import { type Checkup, conclude } from '../../shared/health/checkup.ts';
import type { GpuReport } from '../../shared/health/smi-report.ts';
import type { Finding } from '../../shared/health/verdict.ts';

/** The widest PCIe links that cards have had at their addresses in this host. */
export interface WidestLinks {
  /** Returns the most lanes of a card, these included, and remembers them. */
  widest(card: { readonly busId: string; readonly uuid: string }, lanes: number): number;
  /** Forgets the cards at a PCI address, or `all`. */
  forgetWidths(busId: string): void;
}

/** The most lanes of a PCIe link. */
const mostLanes = 32;

/**
 * Warns of cards whose link has fewer lanes than it has had in this host. Fewer than the card supports is usual for some cards and
 * slots, and stays a remark. Calls `links.widest` for each card with a known width.
 */
export function withLostLanes(checkup: Checkup, links: Pick<WidestLinks, 'widest'>, host: string): Checkup {
  const { report, findings } = checkup;
  const lost = (report?.gpus ?? []).flatMap((gpu) => lostLanes(gpu, links, host) ?? []);
  if (lost.length === 0) return checkup;
  const others = findings.filter(
    ({ code, gpu }) => code !== 'gpu.pcie-width' || !lost.some((each) => each.gpu === gpu),
  );
  return conclude([...others, ...lost], report);
}

function lostLanes(
  { uuid, busId, pcie: { width } }: GpuReport,
  links: Pick<WidestLinks, 'widest'>,
  host: string,
): Finding | undefined {
  if (uuid === '' || width === undefined || width < 1 || width > mostLanes) return undefined;
  const widest = links.widest({ busId, uuid }, width);
  if (width >= widest) return undefined;
  return {
    code: 'gpu.pcie-width-lost',
    gpu: uuid,
    severity: 'warn',
    what: `PCIe lanes: ${width}, and this card has had ${widest} here`,
    next: `reseat it, check risers and the slot; if it is to stay so, run \`azp-fleet repaired ${host} --gpu ${busId}\``,
  };
}
