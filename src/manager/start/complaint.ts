import { ExitCode, FleetError } from '../../shared/base/errors.ts';

/** What whoever started the program is told, and its exit code. What is no refusal of ours is our bug: with its stack. Pure. */
export function complaint(error: unknown): { readonly text: string; readonly exitCode: ExitCode } {
  if (!(error instanceof FleetError)) {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    return { text: `${text}\n`, exitCode: ExitCode.bug };
  }
  const { what, expected, seen, next } = error.problem;
  const parts = Object.entries({ expected, seen, next }).filter(([, text]) => text !== undefined);
  const lines = parts.map(([label, text = '']) => `  ${label.padEnd(10)}${indented(text)}`);
  return { text: `${[what, ...lines].join('\n')}\n`, exitCode: error.exitCode };
}

function indented(text: string): string {
  return text.replaceAll('\n', `\n${' '.repeat(12)}`);
}
