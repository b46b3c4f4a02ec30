import type { StatusRow } from '../../fleet/status/row.ts';
import { CheckCode, type Problem } from '../../shared/base/errors.ts';
import type { Verdict } from '../../shared/health/verdict.ts';
import { hostLabel } from './alike.ts';
import { checkLine, withoutBars } from './lines.ts';

const codes: Readonly<Record<Verdict['state'], CheckCode>> = {
  healthy: CheckCode.ok,
  off: CheckCode.ok,
  degraded: CheckCode.degraded,
  failed: CheckCode.failed,
  hung: CheckCode.failed,
  unreachable: CheckCode.failed,
  unknown: CheckCode.unknown,
};

/** A failure is certain, so it counts before what is unknown, and that before degraded. */
const worstFirst: readonly CheckCode[] = [
  CheckCode.failed,
  CheckCode.unknown,
  CheckCode.degraded,
  CheckCode.ok,
];

/** Returns the exit code of the worst host. `problems`: of pools and of the run, which leave something unknown. Pure. */
export function checkExitCode(
  rows: readonly Pick<StatusRow, 'verdict'>[],
  problems: readonly Problem[],
): CheckCode {
  const seen = new Set(rows.map(({ verdict }) => codes[verdict.state]));
  if (problems.length > 0) seen.add(CheckCode.unknown);
  return worstFirst.find((code) => seen.has(code)) ?? CheckCode.unknown;
}

const words: Readonly<Record<CheckCode, string>> = {
  [CheckCode.ok]: 'OK',
  [CheckCode.degraded]: 'WARNING',
  [CheckCode.failed]: 'CRITICAL',
  [CheckCode.unknown]: 'UNKNOWN',
};

/**
 * Returns the output of a plugin: its first line with the performance data, then the details. `counts`: of the hosts by their
 * states. Pure.
 */
export function checkText(
  rows: readonly StatusRow[],
  problems: readonly Problem[],
  { counts, details }: { readonly counts: string; readonly details: string },
): string {
  const code = checkExitCode(rows, problems);
  const worst = rows.filter(({ verdict }) => code !== CheckCode.ok && codes[verdict.state] === code);
  const reasons = [...Map.groupBy(worst, ({ verdict }) => `${verdict.state}: ${verdict.cause}`)].map(
    ([reason, group]) => `${hostLabel(group.map(({ host }) => host)).label} ${reason}`,
  );
  const others = code === CheckCode.unknown ? problems.map(({ what }) => what) : [];
  const [first, ...more] = [...reasons, ...others];
  const rest = more.length === 0 ? '' : ` (and ${more.length} more)`;
  const why = first === undefined ? '' : `; ${first}${rest}`;
  const data = Object.keys(codes).map(
    (state) => `${state}=${rows.filter(({ verdict }) => verdict.state === state).length}`,
  );
  return `${checkLine(words[code], `${counts}${why}`)} | ${data.join(' ')}\n${withoutBars(details)}`;
}
