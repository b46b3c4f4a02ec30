import type { HostOutcome } from '../../fleet/apply/outcome.ts';
import { isBad } from '../../fleet/apply/outcome.ts';
import type { Left } from '../run/only-harmless.ts';

/** The end of a run with `--only-harmless`. */
export interface HarmlessEnd {
  /** The path of the inventory. */
  readonly inventory: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly exitCode: number;
  readonly outcomes: readonly HostOutcome[];
  readonly left: readonly Left[];
}

/**
 * Returns the textfile for node_exporter. A host whose changes are not known has no number of them: it was not read, or its run
 * failed. Each series names the inventory: node_exporter refuses equal series of two files. Pure.
 */
export function leftMetrics({ inventory, at, exitCode, outcomes, left }: HarmlessEnd): string {
  const leftOn = new Map(left.map(({ host, changes }) => [host, changes.length]));
  const done = outcomes.filter((outcome) => !isIncomplete(outcome));
  const series = (outcome: HostOutcome): readonly (readonly [string, string])[] => [
    ['inventory', inventory],
    ['host', outcome.host],
  ];
  const run = [['inventory', inventory]] as const;
  return [
    ...metric(
      'azp_fleet_provision_left_changes',
      'Changes that the last run left; absent: unknown.',
      done.map((each) => [series(each), leftOn.get(each.host) ?? 0] as const),
    ),
    ...metric(
      'azp_fleet_provision_host_failed',
      '1 where the last run failed, or could not reach the host.',
      outcomes.map((each) => [series(each), isBad(each) || isIncomplete(each) ? 1 : 0] as const),
    ),
    ...metric('azp_fleet_provision_exit_code', 'Exit code of the last run.', [[run, exitCode]]),
    ...metric('azp_fleet_provision_last_run_timestamp_seconds', 'End of the last run.', [
      [run, Math.floor(at / 1000)],
    ]),
    '',
  ].join('\n');
}

function isIncomplete({ state }: HostOutcome): boolean {
  return state === 'failed' || state === 'unreachable' || state === 'skipped';
}

type Labels = readonly (readonly [name: string, value: string])[];

function metric(
  name: string,
  help: string,
  values: readonly (readonly [labels: Labels, value: number])[],
): readonly string[] {
  if (values.length === 0) return [];
  const shown = (labels: Labels) => labels.map(([label, value]) => `${label}="${escaped(value)}"`).join(',');
  return [
    `# HELP ${name} ${help}`,
    `# TYPE ${name} gauge`,
    ...values.map(([labels, value]) => `${name}{${shown(labels)}} ${value}`),
  ];
}

/** Prometheus' text format: backslash, quote and line feed are escaped. */
function escaped(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}
