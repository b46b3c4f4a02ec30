import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import type { Context } from '../../../shared/base/context.ts';
import { ExitCode, usageError, whyNot } from '../../../shared/base/errors.ts';
import { diagnose } from '../../../shared/health/checkup.ts';
import { painter } from '../../render/color.ts';
import { diagnosisText, type NamedDiagnosis } from '../../render/diagnosis.ts';
import type { CommandInput } from '../../command.ts';
import type { Result } from '../../result.ts';

/** Judges saved outputs. Contacts nobody. */
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
