import type { RunRecord } from '../../shared/contract/status.ts';
import { spanOf } from './history.ts';
import { tableLines } from './table.ts';

const headings = [
  { heading: ['SLOT'], yields: 9 },
  { heading: ['FINISHED (UTC)', 'FINISHED'], yields: 1 },
  { heading: ['GPU TIME'], yields: 9, leaves: 3 },
  { heading: ['MEMORY'], yields: 9 },
  { heading: ['UTIL'], yields: 9 },
  { heading: ['THROTTLED'], yields: 9, leaves: 2 },
  { heading: ['ENERGY'], yields: 9, leaves: 1 },
] as const;

const unknown = '–';

/** Returns the GPU use of the runs that have some, as a table below their list; empty if none has. */
export function useText(host: string, runs: readonly RunRecord[], width = Infinity): string {
  const rows = runs.flatMap(({ slot, finishedAt, use }) => {
    if (use === undefined) return [];
    const { gpuS, peakMemoryMiB, meanUtilizationPercent, throttledS, energyWh } = use;
    const finished = finishedAt.replace('T', ' ').slice(0, 19);
    const cells: readonly (readonly [string, ...string[]])[] = [
      [`${host}/${slot}`],
      [finished, finished.slice(5, 16)],
      [shown(gpuS, spanOf)],
      [shown(peakMemoryMiB, (mib) => `${(mib / 1024).toFixed(1)} GiB`)],
      [shown(meanUtilizationPercent, (percent) => `${Math.round(percent)} %`)],
      [shown(throttledS, spanOf)],
      [shown(energyWh, energyOf)],
    ];
    return [cells.map((texts) => ({ texts }))];
  });
  if (rows.length === 0) return '';
  const lines = tableLines(headings, rows, { width, paint: (_, text) => text });
  return `\nGPU use, sampled every 20 s\n${lines.join('\n')}\n`;
}

function shown(value: number | undefined, text: (value: number) => string): string {
  return value === undefined ? unknown : text(value);
}

function energyOf(wattHours: number): string {
  return wattHours < 1000 ? `≈ ${Math.round(wattHours)} Wh` : `≈ ${(wattHours / 1000).toFixed(1)} kWh`;
}
