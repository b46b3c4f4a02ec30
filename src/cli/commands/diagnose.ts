import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';

import type { Context } from '../../shared/base/context.ts';
import { ExitCode, usageError, whyNot } from '../../shared/base/errors.ts';
import { diagnose, type Diagnosis } from '../../shared/health/checkup.ts';
import type { GpuReport } from '../../shared/health/smi-report.ts';
import type { CommandInput } from '../command.ts';
import { type Paint, painter } from '../render/color.ts';
import { troubleLines, hostProblem } from '../render/trouble.ts';
import type { Result } from '../result.ts';

/** Diagnoses saved outputs. Contacts no host. */
export async function run(context: Context, input: CommandInput): Promise<Result> {
  const diagnoses: NamedDiagnosis[] = [];
  for (const file of input.positionals) {
    const content = file === '-' ? await piped(context) : await read(resolve(context.cwd, file));
    diagnoses.push({ file, ...diagnose(content) });
  }
  const style = { width: context.stdout.columns ?? 120, paint: painter(context.stdout, context.env) };
  return {
    exitCode: exitCodeOf(diagnoses),
    json: { files: diagnoses },
    text: () => diagnosisText(diagnoses, style),
  };
}

function piped({ stdin, signal }: Context): Promise<string> {
  return pipeline(stdin, (source) => text(source), { signal });
}

function exitCodeOf(diagnoses: readonly NamedDiagnosis[]): ExitCode {
  if (diagnoses.some(({ kind }) => kind === 'unknown')) return ExitCode.usage;
  const states = diagnoses.flatMap((one) => ('checkup' in one ? [one.checkup.verdict.state] : []));
  return states.some((state) => state === 'failed' || state === 'hung') ? ExitCode.hostFailed : ExitCode.ok;
}

async function read(file: string): Promise<string> {
  return readFile(file, 'utf8').catch((error: unknown) => {
    throw usageError(
      {
        code: 'usage.file',
        what: `${file} cannot be read`,
        seen: whyNot(error),
        next: 'save one: nvidia-smi -q -x > gpus.xml, or journalctl -k > kernel.log',
      },
      error,
    );
  });
}

export type NamedDiagnosis = { readonly file: string } & Diagnosis;

/** Returns each file's kind and its findings with fixes, including `info` findings. */
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
    const lines = findings.flatMap((finding) => troubleLines(hostProblem(file, finding), options));
    const what =
      report === undefined
        ? diagnosis.kind
        : `driver ${report.driverVersion || 'unknown'}, ${gpuList(report.gpus)}`;
    const clean = `${options.paint('green', '✓')} ${options.paint('bold', file)}: no problems (${what})`;
    return lines.length === 0
      ? [clean]
      : [...(report === undefined ? [] : [options.paint('dim', `${file}: ${what}`)]), ...lines];
  });
  return `${sections.map((lines) => lines.join('\n')).join('\n\n')}\n`;
}

function gpuList(gpus: readonly GpuReport[]): string {
  return [...Map.groupBy(gpus, ({ name }) => name)]
    .map(([name, group]) => `${group.length}× ${name}`)
    .join(', ');
}
