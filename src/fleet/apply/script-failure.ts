import { FleetError, type Problem } from '../../shared/base/errors.ts';

/** How many lines of a script's output are shown when it does not explain itself. The debug log has all. */
const shownLines = 6;

/** The problem behind a script that ended with an error: its own words (`fail` of the steps), or its last lines. */
export function scriptFailure(title: string, code: number, output: string): FleetError {
  const told = explained(output);
  if (told !== undefined) return new FleetError({ code: 'change.failed', ...told });
  const lines = output.split('\n').filter((line) => line.trim() !== '');
  return new FleetError({
    code: 'change.failed',
    what: `"${title}" failed with exit code ${code}`,
    seen: lines.slice(-shownLines).join('\n') || 'no output',
    next: 'cure the cause and run the same command again: it goes on from what is there',
  });
}

/** The last `failed: … expected: … seen: … next: …` of the output; each part may have several lines. */
function explained(output: string): Omit<Problem, 'code'> | undefined {
  const match = /(?:^|\n)failed: ([^\n]*)\nexpected: ([^]*?)\nseen: ([^]*?)\nnext: ([^]*?)\s*$/.exec(
    output.slice(Math.max(0, output.lastIndexOf('failed: '))),
  );
  if (match === null) return undefined;
  const [, what = '', expected = '', seen = '', next = ''] = match;
  return { what, expected, seen: seen.trim() || 'nothing', next };
}
