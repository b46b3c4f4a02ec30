import { foldNames } from '../../../fleet/inventory/fold-names.ts';
import { cleanPlan } from '../../../fleet/plan/read-plan.ts';
import type { FleetPlan, HostPlan } from '../../../fleet/plan/fleet-plan.ts';
import type { FleetChange } from '../../../fleet/plan/pools.ts';
import { changeLines, type ChangeLineOptions } from './change-lines.ts';
import { groups, type Group } from './groups.ts';
import { widthOf } from '../lines/width.ts';
import { wrap } from '../lines/wrap.ts';
import { wavesText } from '../waves.ts';
import { mark, painter, unknownMark, type Paint } from './marks.ts';
import { summary, type Unread } from './summary.ts';

interface PlanTextOptions extends Omit<ChangeLineOptions, 'width' | 'diff'> {
  /** Default: no. */
  readonly diff?: boolean;
  readonly color: boolean;
  readonly unread?: Unread;
  /** Columns; longer lines are broken. Default 80. */
  readonly width?: number;
}

/** The plan for people: hosts with equal changes are shown once. A saved one is a file that anybody can have written. */
export function planText(
  given: FleetPlan,
  { color, unread, width = 80, diff = false, scripts }: PlanTextOptions,
): string {
  const plan = cleanPlan(given);
  const paint = painter(color);
  const options = { scripts, diff, width };
  const sections = [
    ...(plan.fleet.length === 0 ? [] : [fleetPart(plan.fleet, width, paint)]),
    ...groups(plan.hosts, options).map((group) => hostsPart(group, plan.hosts.length, options, paint)),
    plan.waves && wavesText(plan.waves, { paint, width }),
    summary(plan, unread),
  ];
  return `${sections.filter((section) => section !== undefined).join('\n\n')}\n`;
}

function fleetPart(changes: readonly FleetChange[], width: number, paint: Paint): string {
  const lines = changes.flatMap(({ title, why, action }) => [
    ...wrap(title, width, 4, 6).map((line, index) =>
      index === 0 ? `  ${fleetMark(action, paint)} ${line}` : line,
    ),
    ...wrap(why, width - 6, 0, 0).map((line) => `      ${paint('dim', line)}`),
  ]);
  return [paint('bold', 'Azure DevOps'), ...lines].join('\n');
}

function fleetMark({ kind }: FleetChange['action'], paint: Paint): string {
  if (kind === 'name-later') return unknownMark(paint);
  return mark(kind === 'disable-auto-update' || kind === 'take-over' ? 'change' : 'add', paint);
}

function hostsPart({ hosts, plan }: Group, all: number, options: ChangeLineOptions, paint: Paint): string {
  const changes = plan.stages.flat();
  const count = `${changes.length} ${changes.length === 1 ? 'change' : 'changes'}`;
  return [
    ...headLines(hosts, { count, all }, options.width, paint),
    ...changes.flatMap((change) => changeLines(change, options, paint)),
    ...refusalLines(plan.refusals, options.width, paint),
  ].join('\n');
}

function headLines(
  hosts: readonly string[],
  { count, all }: { readonly count: string; readonly all: number },
  width: number,
  paint: Paint,
): string[] {
  const names = foldNames(hosts);
  if (all === 1 || hosts.length === 1) return [paint('bold', `${names}: ${count}`)];
  const same = `${hosts.length} hosts: the same ${count}`;
  if (same.length + widthOf(names) + 3 <= width)
    return [`${paint('bold', same)} ${paint('dim', `(${names})`)}`];
  return [paint('bold', same), ...wrap(names, width - 4, 0, 0).map((line) => `    ${paint('dim', line)}`)];
}

/** What several steps say alike is said once: on a system that is not supported each of them refuses. */
function refusalLines(refusals: HostPlan['refusals'], width: number, paint: Paint): string[] {
  const alike = Map.groupBy(refusals, ({ what, next }) => JSON.stringify([what, next]));
  return [...alike.values()].flatMap((same) => {
    const steps = same
      .map(({ step }) => step)
      .join(', ')
      .padEnd(8);
    return same.slice(0, 1).flatMap(({ what, next }) => {
      const [refused = '', ...rest] = wrap(what, width, steps.length + 5, 13);
      const [first = '', ...then] = wrap(next, width, 19, 19);
      return [
        `  ${paint('red', '✗')} ${paint('dim', steps)} ${refused}`,
        ...rest,
        `             ${paint('dim', 'next:')} ${first}`,
        ...then,
      ];
    });
  });
}
