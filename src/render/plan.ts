import { styleText } from 'node:util';

import { foreignLine, foreignLines, foreignValue } from '../base/foreign-text.ts';
import type { FleetPlan, HostPlan } from '../plan/fleet-plan.ts';
import type { Action, Change, Shape } from '../steps/change.ts';
import { hasChanges, isEmpty } from '../plan/plan.ts';
import { wrap } from './problem.ts';

export interface PlanTextOptions {
  /** The exact scripts and file contents below each change. */
  readonly scripts: boolean;
  readonly color: boolean;
  /** What the plan says nothing about, because it could not be read. */
  readonly unread?: { readonly hosts: number; readonly pools: readonly string[] };
  /** Columns; longer reasons are broken. Default 80. */
  readonly width?: number;
}

type Style = Parameters<typeof styleText>[0];
type Paint = (style: Style, text: string) => string;

const disturbance = {
  nothing: undefined,
  'new-containers': 'for a moment no container can start; running jobs go on',
  containers: 'disturbs running containers: our agents are drained first',
  machine: 'disturbs the whole machine: our agents are drained first',
} as const;

/** Of a script that is shown whole; ours are far below. */
const longestScript = 1_000_000;
/** What has several lines in a plan: the text of a script, and of a file. */
const scripts = new Set(['script', 'text']);

/** The plan for people: hosts with equal changes are shown once. A saved one is a file that anybody can have written. */
export function planText(given: FleetPlan, options: PlanTextOptions): string {
  const plan = foreignValue(given, (text, key) =>
    scripts.has(key) ? foreignLines(text, longestScript) : foreignLine(text),
  );
  const paint: Paint = (style, text) =>
    options.color ? styleText(style, text, { validateStream: false }) : text;
  const sections = [
    ...(plan.fleet.length === 0 ? [] : [fleetPart(plan, paint)]),
    ...groups(plan.hosts).map((hosts) => hostsPart(hosts, plan.hosts.length, options, paint)),
    summary(plan, unreadParts(options.unread)),
  ];
  return `${sections.join('\n\n')}\n`;
}

function fleetPart(plan: FleetPlan, paint: Paint): string {
  const lines = plan.fleet.map(
    ({ title, why, action }) =>
      `  ${action.kind === 'name-later' ? paint('yellow', '?') : paint('green', '+')} ${title}\n      ${paint('dim', why)}`,
  );
  return [paint('bold', 'Azure DevOps'), ...lines].join('\n');
}

/** Hosts whose plans read the same, the largest group first. Hosts without changes are left to the summary. */
function groups(hosts: readonly HostPlan[]): HostPlan[][] {
  const busy = hosts.filter((host) => !isEmpty(host));
  const grouped = Map.groupBy(busy, ({ stages, refusals }) =>
    JSON.stringify([
      stages.map((stage) =>
        stage.map(({ step, title, disturbs, ...rest }) => [
          step,
          title,
          disturbs,
          'why' in rest ? rest.why : '',
        ]),
      ),
      refusals,
    ]),
  );
  return [...grouped.values()].sort((left, right) => right.length - left.length);
}

function hostsPart(hosts: readonly HostPlan[], all: number, options: PlanTextOptions, paint: Paint): string {
  const [first] = hosts;
  if (first === undefined) return '';
  const changes = first.stages.flat();
  const names = hosts.map(({ host }) => host).join(', ');
  const count = `${changes.length} ${changes.length === 1 ? 'change' : 'changes'}`;
  const head =
    hosts.length === 1
      ? `${names}: ${count}`
      : `${hosts.length} hosts: the same ${count} ${paint('dim', `(${names})`)}`;
  return [
    paint('bold', all === 1 ? `${names}: ${count}` : head),
    ...changes.flatMap((change) => changeLines(change, options, paint)),
    ...refusalLines(first.refusals, paint),
  ].join('\n');
}

/** What several steps say alike is said once: on a system that is not supported each of them refuses. */
function refusalLines(refusals: HostPlan['refusals'], paint: Paint): string[] {
  const alike = Map.groupBy(refusals, ({ what, next }) => JSON.stringify([what, next]));
  return [...alike.values()].flatMap((same) => {
    const steps = same.map(({ step }) => step).join(', ');
    return same
      .slice(0, 1)
      .flatMap(({ what, next }) => [
        `  ${paint('red', '✗')} ${paint('dim', steps.padEnd(8))} ${what}`,
        `             ${paint('dim', 'next:')} ${next}`,
      ]);
  });
}

function changeLines(change: Change | Shape, options: PlanTextOptions, paint: Paint): string[] {
  const indent = ' '.repeat(13);
  const mark = change.known ? paint('green', '+') : paint('yellow', '?');
  const why = change.known ? change.why : `not known before "${change.until}" has run; at most this`;
  const disturbs = disturbance[change.disturbs];
  const reason = wrap(why, (options.width ?? 80) - indent.length, 0, 0);
  return [
    `  ${mark} ${paint('dim', change.step.padEnd(8))} ${change.title}`,
    ...reason.map((line) => `${indent}${paint('dim', line)}`),
    ...(disturbs === undefined ? [] : [`${indent}${paint('yellow', disturbs)}`]),
    ...(change.known && options.scripts
      ? change.actions.flatMap(actionLines).map((line) => `${indent}${paint('dim', '│')} ${line}`)
      : []),
  ];
}

function actionLines(action: Action): string[] {
  switch (action.kind) {
    case 'run':
      return [
        `run${action.durable ? ' as a systemd unit' : ''}, at most ${action.timeoutS} s:`,
        ...indented(action.script),
      ];
    case 'upload':
      return [
        `write ${action.path} (mode ${action.mode.toString(8)}, sha256 ${action.artifact.sha256.slice(0, 12)})`,
        ...(action.artifact.kind === 'text' && action.artifact.text.length < 8000
          ? indented(action.artifact.text)
          : []),
      ];
    case 'credential':
      return [`write ${action.path} (mode 600): the credential, from memory`];
    case 'registries':
      return [`write ${action.path} (mode 600): users and passwords, from memory`];
    case 'reboot':
      return [`reboot, and wait at most ${action.timeoutS} s for a new boot id`];
    default:
      return [`wait at most ${action.timeoutS} s until the manager is ready`];
  }
}

function indented(text: string): string[] {
  return text
    .trimEnd()
    .split('\n')
    .map((line) => `  ${line}`);
}

function unreadParts({ hosts, pools }: PlanTextOptions['unread'] = { hosts: 0, pools: [] }): string[] {
  const names = pools.join(', ');
  return [
    ...(hosts === 0 ? [] : [`${hostCount(hosts)} could not be read`]),
    ...(pools.length === 0
      ? []
      : [`the ${pools.length === 1 ? 'pool' : 'pools'} ${names} could not be read`]),
  ];
}

function summary(plan: FleetPlan, unread: readonly string[]): string {
  const changed = plan.hosts.filter(({ stages }) => stages.length > 0);
  const changes = changed.reduce((sum, { stages }) => sum + stages.flat().length, 0);
  const reboots = changed.filter(({ stages }) =>
    stages.flat().some((change) => change.known && change.actions.some(({ kind }) => kind === 'reboot')),
  );
  const refused = plan.hosts.filter(({ refusals }) => refusals.length > 0);
  const well = plan.hosts.filter(isEmpty);
  const parts = [
    ...(plan.fleet.length === 0 ? [] : [`${plan.fleet.length} in Azure DevOps`]),
    ...(changed.length === 0 ? [] : [`${changes} on ${hostCount(changed.length)}`]),
    ...(reboots.length === 0 ? [] : [`${hostCount(reboots.length)} to be rebooted`]),
    ...(refused.length === 0 ? [] : [`${hostCount(refused.length)} refused`]),
    ...(well.length === 0 ? [] : [`${hostCount(well.length)} as wanted`]),
  ];
  const all = [...parts, ...unread].join(', ');
  if (hasChanges(plan)) return `Changes: ${all}.`;
  if (parts.length === 0 && unread.length > 0) return `Nothing is known: ${all}.`;
  return `No changes${all === '' ? '' : `: ${all}`}.`;
}

function hostCount(count: number): string {
  return `${count} ${count === 1 ? 'host' : 'hosts'}`;
}
