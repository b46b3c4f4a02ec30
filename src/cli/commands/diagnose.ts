import { createReadStream } from 'node:fs';
import { resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

import type { Context } from '../../shared/base/context.ts';
import { ExitCode, usageError, whyNot } from '../../shared/base/errors.ts';
import type { GpuReport } from '../../shared/health/smi-report.ts';
import { divide } from '../../shared/health/findings.ts';
import type { CommandInput } from '../command.ts';
import { diagnose, type Diagnosis } from '../diagnose/saved.ts';
import { type Paint, painter } from '../render/color.ts';
import { count } from '../render/lines.ts';
import { troubleLines, hostProblem } from '../render/trouble.ts';
import type { Result } from '../result.ts';

/** Diagnoses saved outputs. Contacts no host. */
export async function run(context: Context, input: CommandInput): Promise<Result> {
  const diagnoses: NamedDiagnosis[] = [];
  for (const file of input.positionals) {
    const { signal } = context;
    const found =
      file === '-'
        ? await pipeline(context.stdin as Readable, diagnose, { signal })
        : await read(resolve(context.cwd, file), signal);
    diagnoses.push({ file, ...found });
  }
  const style = { width: context.stdout.columns ?? 120, paint: painter(context.stdout, context.env) };
  return {
    exitCode: exitCodeOf(diagnoses),
    json: { files: diagnoses },
    text: () => diagnosisText(diagnoses, style),
  };
}

function exitCodeOf(diagnoses: readonly NamedDiagnosis[]): ExitCode {
  if (diagnoses.some(({ kind }) => kind === 'unknown')) return ExitCode.usage;
  const states = diagnoses.flatMap((one) => ('checkup' in one ? [one.checkup.verdict.state] : []));
  return states.some((state) => state === 'failed' || state === 'hung') ? ExitCode.hostFailed : ExitCode.ok;
}

async function read(file: string, signal: AbortSignal): Promise<Diagnosis> {
  return pipeline(createReadStream(file), diagnose, { signal }).catch((error: unknown) => {
    signal.throwIfAborted();
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

/** Returns each file's kind, what was recognized in it, and its findings with fixes, including `info` findings, but none that another one causes. */
export function diagnosisText(
  diagnoses: readonly NamedDiagnosis[],
  options: { readonly width: number; readonly paint: Paint },
): string {
  const sections = diagnoses.map((diagnosis) => {
    const { file } = diagnosis;
    if (diagnosis.kind === 'unknown') {
      const what = diagnosis.reason;
      const next = 'save it with plain `dmesg` or `journalctl -k`, or the GPUs with `nvidia-smi -q -x`';
      return troubleLines({ places: [file], severity: 'fail', what, next }, options);
    }
    const lines = divide(diagnosis.checkup.findings).shown.flatMap((finding) =>
      troubleLines(hostProblem(file, finding), options),
    );
    const what = recognized(diagnosis);
    return lines.length === 0
      ? [`${options.paint('green', '✓')} ${options.paint('bold', file)}: no problems (${what})`]
      : [options.paint('dim', `${file}: ${what}`), ...lines];
  });
  return `${sections.map((lines) => lines.join('\n')).join('\n\n')}\n`;
}

/** Returns `nvidia-smi -q: driver 595.84, 2 of 8 GPUs: 2× NVIDIA H200`, or `dmesg -T: 1200 lines of a kernel log`. */
function recognized(diagnosis: Exclude<Diagnosis, { kind: 'unknown' }>): string {
  const { form, gpus, attachedGpus, kernelLines, checkup } = diagnosis;
  const { report } = checkup;
  const parts = [
    ...(report === undefined ? [] : [`driver ${report.driverVersion || 'unknown'}`]),
    ...(gpus === undefined || report === undefined
      ? []
      : [
          attachedGpus === undefined || attachedGpus === gpus
            ? gpuList(report.gpus)
            : `${gpus} of ${count(attachedGpus, 'GPU')}: ${gpuList(report.gpus)}`,
        ]),
    ...(kernelLines === undefined ? [] : [`${count(kernelLines, 'line')} of the kernel log`]),
  ];
  return parts.length === 0 ? form : `${form}: ${parts.join(', ')}`;
}

function gpuList(gpus: readonly GpuReport[]): string {
  if (gpus.length === 0) return 'no GPU';
  return [...Map.groupBy(gpus, ({ name }) => name)]
    .map(([name, group]) => `${group.length}× ${name}`)
    .join(', ');
}
