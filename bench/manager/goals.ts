import { percentile } from '../statistics.ts';
import type { Refill, Run } from './own-time.ts';

export interface Figures {
  readonly refills: readonly Refill[];
  readonly runs: readonly Run[];
  /** Resident memory in 10^6 bytes: before the jobs, and after them. */
  readonly idleMB: number;
  readonly busyMB: number;
  /** Of one processor, while nothing happens: the manager itself, and nvidia-smi and other programs that it starts. */
  readonly idlePercent: number;
  readonly idleProgramsPercent: number;
}

/** One line of the table; without a goal it only informs. */
export interface Row {
  readonly name: string;
  /** Undefined: nothing was measured. */
  readonly seen: number | undefined;
  readonly goal?: number;
  readonly unit: 'ms' | 'MB' | '%';
}

/** Returns the measured figures beside their goals. Pure. */
export function measured({
  refills,
  runs,
  idleMB,
  busyMB,
  idlePercent,
  idleProgramsPercent,
}: Figures): readonly Row[] {
  const share = (values: readonly number[], part: number) =>
    values.length === 0 ? undefined : percentile(values, part);
  const own = refills.map(({ ownMs }) => ownMs);
  const whole = refills.map(({ wholeMs }) => wholeMs);
  const part = (name: string, values: readonly (number | undefined)[]): Row => ({
    name,
    seen: share(
      values.filter((value) => value !== undefined),
      0.5,
    ),
    unit: 'ms',
  });
  return [
    {
      name: "own time from a run's end to the next start request, p95",
      seen: share(own, 0.95),
      goal: 100,
      unit: 'ms',
    },
    { name: 'the same, p50', seen: share(own, 0.5), unit: 'ms' },
    { name: 'with the calls to engine and server, p50', seen: share(whole, 0.5), unit: 'ms' },
    { name: 'with the calls to engine and server, p95', seen: share(whole, 0.95), unit: 'ms' },
    part(
      'of these the calls to the server, p50',
      refills.map(({ serverMs }) => serverMs),
    ),
    part(
      'of these the calls to the engine, p50',
      refills.map(({ engineMs }) => engineMs),
    ),
    part(
      "the engine's start of the container, with its hooks, p50",
      runs.map(({ startMs }) => startMs),
    ),
    part(
      'the agent from there until it listens, p50',
      runs.map(({ agentStartMs }) => agentStartMs),
    ),
    part(
      'a job of one second, as the agent reports it, p50',
      runs.map(({ jobMs }) => jobMs),
    ),
    part(
      'the agent from there until its container exits, p50',
      runs.map(({ agentEndMs }) => agentEndMs),
    ),
    { name: 'resident memory, idle', seen: idleMB, goal: 110, unit: 'MB' },
    { name: 'resident memory, after the jobs', seen: busyMB, goal: 110, unit: 'MB' },
    { name: 'one processor, idle', seen: idlePercent, goal: 0.5, unit: '%' },
    { name: 'the programs that it starts, idle', seen: idleProgramsPercent, unit: '%' },
  ];
}

/** Returns the missed goals as text; a goal without a figure is missed. Pure. */
export function missed(rows: readonly Row[]): readonly string[] {
  return rows.flatMap(({ name, seen, goal, unit }) => {
    if (goal === undefined || (seen !== undefined && seen <= goal)) return [];
    return [`${name}: ${seen === undefined ? 'not measured' : shown(seen, unit)}, not ≤ ${goal} ${unit}`];
  });
}

/** As Markdown. Pure. */
export function table(refills: number, rows: readonly Row[]): string {
  return [
    `${refills} refills.`,
    '',
    '| figure | seen | goal | seen ÷ goal |',
    '|---|---|---|---|',
    ...rows.map(({ name, seen, goal, unit }) => {
      const ratio = goal === undefined || seen === undefined ? '' : (seen / goal).toFixed(2);
      const cells = [
        name,
        seen === undefined ? 'not measured' : shown(seen, unit),
        goal === undefined ? '' : `≤ ${goal} ${unit}`,
        ratio,
      ];
      return `| ${cells.join(' | ')} |`;
    }),
  ].join('\n');
}

/** Two digits after the point: rounding must not hide a goal that was just missed. */
function shown(seen: number, unit: Row['unit']): string {
  return `${seen.toFixed(2)} ${unit}`;
}
