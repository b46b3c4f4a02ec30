import type { Diagnosis } from '../../shared/health/checkup.ts';
import type { GpuReport } from '../../shared/health/smi-report.ts';
import type { Paint } from './color.ts';
import { troubleLines, troubleOf } from './trouble.ts';

export type NamedDiagnosis = { readonly file: string } & Diagnosis;

/** Each file: what it is, then what is wrong with the cure; `info` findings too, since somebody asked. */
export function diagnosisText(
  diagnoses: readonly NamedDiagnosis[],
  options: { readonly width: number; readonly paint: Paint },
): string {
  const sections = diagnoses.map((diagnosis) => {
    const { file } = diagnosis;
    if (diagnosis.kind === 'unknown') {
      return [
        `${options.paint('red', '?')} ${options.paint('bold', file)}: neither \`nvidia-smi -q -x\` nor a kernel log`,
      ];
    }
    const { report, findings } = diagnosis.checkup;
    const lines = findings.flatMap((finding) => troubleLines(troubleOf(file, finding), options));
    const what =
      report === undefined
        ? diagnosis.kind
        : `driver ${report.driverVersion || 'unknown'}, ${gpuList(report.gpus)}`;
    const well = `${options.paint('green', '✓')} ${options.paint('bold', file)}: nothing wrong (${what})`;
    return lines.length === 0
      ? [well]
      : [...(report === undefined ? [] : [options.paint('dim', `${file}: ${what}`)]), ...lines];
  });
  return `${sections.map((lines) => lines.join('\n')).join('\n\n')}\n`;
}

function gpuList(gpus: readonly GpuReport[]): string {
  return [...Map.groupBy(gpus, ({ name }) => name)]
    .map(([name, group]) => `${group.length}× ${name}`)
    .join(', ');
}
