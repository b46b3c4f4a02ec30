import { styleText } from 'node:util';

import { foldNames } from '../../fleet/inventory/fold-names.ts';
import type { FleetPlan, HostPlan, Wave, WavesPlan } from '../../fleet/plan/fleet-plan.ts';
import { unreadLine } from '../../fleet/facts/unread.ts';
import { hasChanges, isEmpty } from '../../fleet/plan/plan.ts';
import type { FleetChange } from '../../fleet/plan/pools.ts';
import { cleanPlan } from '../../fleet/plan/read-plan.ts';
import {
  type Action,
  type Change,
  type Detail,
  type Marker,
  reboots,
  type Shape,
  type TextDiff,
} from '../../fleet/steps/change.ts';
import { sha256 } from '../../shared/base/digest.ts';
import { defined } from '../../shared/base/objects.ts';
import type { Support } from '../../shared/base/support-dates.ts';
import type { Left } from '../run/only-harmless.ts';
import { withoutOwnName } from './alike.ts';
import { count, widthOf, wrap } from './lines.ts';
import { supportTroubles } from './support.ts';
import { troubleLines } from './trouble.ts';

interface PlanTextOptions extends Omit<ChangeLineOptions, 'width' | 'diff'> {
  /** Default: no. */
  readonly diff?: boolean;
  readonly color: boolean;
  readonly unread?: Unread;
  /** Changes that the run leaves. Default: none. */
  readonly left?: readonly Left[];
  /** How long what each host will have is supported; default: not shown. */
  readonly support?: readonly { readonly host: string; readonly support: readonly Support[] }[];
  /** Columns; longer lines are broken. Default 80. */
  readonly width?: number;
}

/** Returns the plan as text; hosts with equal changes are shown once. A saved plan is untrusted, so it is cleaned. */
export function planText(
  given: FleetPlan,
  { color, unread, left = [], support = [], width = 80, diff = false, scripts }: PlanTextOptions,
): string {
  const plan = cleanPlan(given);
  const paint = painter(color);
  const options = { scripts, diff, width };
  const sections = [
    ...(plan.fleet.length === 0 ? [] : [fleetPart(plan.fleet, width, paint)]),
    ...groups(plan.hosts, options).map((group) => hostsPart(group, plan.hosts.length, options, paint)),
    plan.waves && wavesText(plan.waves, { paint, width }),
    ...leftPart(plan, left, options, paint),
    ...supportTroubles(support).map((trouble) => troubleLines(trouble, { width, paint }).join('\n')),
    summary(plan, unread, left),
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

function hostsPart(
  { hosts, plan, as }: Group,
  all: number,
  options: ChangeLineOptions,
  paint: Paint,
): string {
  const changes = as?.more ?? plan.stages.flat();
  const number = count(changes.length, 'change');
  const text = as === undefined ? number : `as ${as.host}, and ${count(changes.length, 'more change')}`;
  const several = as === undefined ? `the same ${number}` : text;
  return [
    ...headLines(hosts, { one: text, several, all }, options.width, paint),
    ...changes.flatMap((change) => changeLines(change, options, paint)),
    ...refusalLines(plan.refusals, options.width, paint),
    ...unreadLines(plan, options.width, paint),
  ].join('\n');
}

/** Returns what the run leaves, as the plan of each host. */
function leftPart(
  plan: FleetPlan,
  left: readonly Left[],
  options: ChangeLineOptions,
  paint: Paint,
): readonly string[] {
  if (left.length === 0) return [];
  const hosts = left.map(({ host, changes }) => ({ host, factsDigest: '', stages: [changes], refusals: [] }));
  const whole = cleanPlan({ ...plan, fleet: [], hosts });
  const what = 'changes that disturb or are not known yet, and those that may need them';
  const [first = '', ...more] = wrap(what, options.width, 'Left: '.length, 4);
  return [
    [`${paint('bold', 'Left:')} ${paint('dim', first)}`, ...more.map((line) => paint('dim', line))].join(
      '\n',
    ),
    ...groups(whole.hosts, options).map((group) => hostsPart(group, left.length, options, paint)),
  ];
}

function headLines(
  hosts: readonly string[],
  { one, several, all }: { readonly one: string; readonly several: string; readonly all: number },
  width: number,
  paint: Paint,
): string[] {
  const names = foldNames(hosts);
  if (all === 1 || hosts.length === 1)
    return wrap(`${names}: ${one}`, width, 0, 4).map((line) => paint('bold', line));
  const same = `${hosts.length} hosts: ${several}`;
  if (same.length + widthOf(names) + 3 <= width)
    return [`${paint('bold', same)} ${paint('dim', `(${names})`)}`];
  return [paint('bold', same), ...wrap(names, width - 4, 0, 0).map((line) => `    ${paint('dim', line)}`)];
}

/** Returns the refusals, equal ones once: on an unsupported system every step refuses. */
function refusalLines(refusals: HostPlan['refusals'], width: number, paint: Paint): string[] {
  const equal = Map.groupBy(refusals, ({ what, next }) => JSON.stringify([what, next]));
  return [...equal.values()].flatMap((same) => {
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

/** Returns what is unknown, where no refusal says it. */
function unreadLines({ unknown, refusals }: Group['plan'], width: number, paint: Paint): string[] {
  if (unknown === undefined || refusals.some(({ step }) => step === 'facts')) return [];
  return wrap(unreadLine(unknown), width, 4, 4).map((line, index) =>
    index === 0 ? `  ${paint('yellow', '!')} ${line}` : line,
  );
}

/** Hosts whose plans have the same text. */
interface Group {
  readonly hosts: readonly string[];
  /** For several hosts `{host}` replaces the host's own name, unless texts or scripts are shown. */
  readonly plan: Pick<HostPlan, 'stages' | 'refusals' | 'unknown'>;
  /** A host of a group above, with all of these changes but `more`. */
  readonly as?: { readonly host: string; readonly more: readonly (Change | Shape)[] };
}

/** What is shown in addition. If it is shown, hosts share a group only if it is equal to the letter. */
interface Exactly {
  readonly scripts: boolean;
  readonly diff: boolean;
}

/**
 * Groups hosts with equal plans, the largest group first; hosts without changes are left out. A group with the changes of one above
 * and some more refers to that. Without scripts and diffs, `h200-1-3` on h200-1 and `h200-2-3` on h200-2 are equal.
 */
function groups(hosts: readonly HostPlan[], exactly: Exactly): Group[] {
  const busy = hosts.filter((host) => !isEmpty(host) || host.unknown !== undefined);
  const grouped = Map.groupBy(busy, (host) => sha256(JSON.stringify(read(host, exactly))));
  const bases: Base[] = [];
  return [...grouped.values()]
    .sort((left, right) => right.length - left.length)
    .map((same) => {
      const [first] = same as [HostPlan, ...HostPlan[]];
      const group = groupOf(same, exactly);
      const own: Base = { host: first.host, keys: keysOf(first, exactly), rest: restOf(first, exactly) };
      const as = nearest(bases, own, group.plan.stages.flat());
      if (as !== undefined) return { ...group, as };
      if (bases.length < mostBases) bases.push(own);
      return group;
    });
}

/** Most groups that others are compared with, so that a fleet of hosts that all differ takes no longer. */
const mostBases = 32;

/** A group that is shown whole. */
interface Base {
  readonly host: string;
  /** What is shown of each change, in order. */
  readonly keys: readonly string[];
  /** What is shown besides its changes. */
  readonly rest: string;
}

/**
 * Returns the group with most of these changes, in the same order, and the changes that it lacks; undefined: each has a
 * change that is missing here, or fewer changes than it lacks.
 */
function nearest(bases: readonly Base[], own: Base, changes: readonly (Change | Shape)[]): Group['as'] {
  const found = bases.flatMap(({ host, keys, rest }) => {
    const more = rest === own.rest ? without(own.keys, keys) : undefined;
    return more === undefined || more.length > keys.length ? [] : [{ host, more }];
  });
  const [best] = found.toSorted((left, right) => left.more.length - right.more.length);
  return best && { host: best.host, more: changes.filter((_, index) => best.more.includes(index)) };
}

/** Returns the positions of what remains without a part; undefined: the part is not in it, in its order. */
function without(keys: readonly string[], part: readonly string[]): readonly number[] | undefined {
  let matched = 0;
  const more = keys.flatMap((key, index) => {
    if (matched === part.length || key !== part[matched]) return [index];
    matched += 1;
    return [];
  });
  return matched === part.length ? more : undefined;
}

function groupOf(same: readonly HostPlan[], { scripts, diff }: Exactly): Group {
  const [{ host, stages, refusals, unknown }] = same as [HostPlan, ...HostPlan[]];
  const plan = { stages, refusals, ...defined({ unknown }) };
  return {
    hosts: same.map((each) => each.host),
    plan: scripts || diff || same.length === 1 ? plan : withoutOwnName(host, plan),
  };
}

/** Returns everything of a host that is shown. */
function read({ host, stages, refusals, unknown }: HostPlan, { scripts, diff }: Exactly): unknown {
  if (scripts) return [stages, refusals, unknown];
  const words = stages.map((stage) => stage.map((change) => wordsOf(change, diff)));
  return diff ? [words, refusals, unknown] : withoutOwnName(host, [words, refusals, unknown]);
}

/** Returns what is shown of each change of a host. */
function keysOf({ host, stages }: HostPlan, { scripts, diff }: Exactly): readonly string[] {
  const shown = (change: Change | Shape) => (scripts ? change : wordsOf(change, diff));
  const keys = stages.flat().map(shown);
  return (scripts || diff ? keys : withoutOwnName(host, keys)).map((key) => JSON.stringify(key));
}

function restOf({ host, refusals, unknown }: HostPlan, { scripts, diff }: Exactly): string {
  const rest = [refusals, unknown];
  return JSON.stringify(scripts || diff ? rest : withoutOwnName(host, rest));
}

function wordsOf(change: Change | Shape, diff: boolean): unknown {
  const { texts, ...rest } = change;
  const { id: _id, actions: _actions, ...words } = { id: undefined, actions: undefined, ...rest };
  return [words, reboots(change), diff ? texts : undefined];
}

interface ChangeLineOptions {
  /** The exact scripts and file contents below each change. */
  readonly scripts: boolean;
  /** The difference of each file below the change that writes it. */
  readonly diff: boolean;
  /** Columns; longer lines are broken. */
  readonly width: number;
}

const disturbance = {
  nothing: undefined,
  'new-containers': 'no container can start for a moment; running jobs continue',
  agents: 'drains agents first',
  containers: 'restarts running containers; drains agents first',
  gpus: 'interrupts everything on the GPUs; drains agents first',
  machine: 'interrupts the whole machine; drains agents first',
} as const;

/** The indent below titles. */
const indent = ' '.repeat(13);

/** Returns the lines of a change: title, reason, details, and what it disturbs. */
function changeLines(change: Change | Shape, options: ChangeLineOptions, paint: Paint): string[] {
  const why = change.kind === 'change' ? change.why : (change.why ?? until(change));
  const disturbs = disturbance[change.disturbs];
  const diffs = options.diff ? (change.texts ?? []).flatMap((text) => diffLines(text, paint)) : [];
  const scripts = change.kind === 'change' && options.scripts ? change.actions.flatMap(actionLines) : [];
  const [title = '', ...more] = wrap(change.title, options.width, indent.length, indent.length);
  return [
    `  ${changeMark(change, paint)} ${paint('dim', change.step.padEnd(8))} ${title}`,
    ...more,
    ...wrap(why, options.width - indent.length, 0, 0).map((line) => `${indent}${paint('dim', line)}`),
    ...(change.details ?? []).flatMap((detail) => detailLines(detail, options.width, paint)),
    ...(disturbs === undefined ? [] : [`${indent}${paint('yellow', disturbs)}`]),
    ...[...diffs, ...scripts].map((line) => `${indent}${paint('dim', '│')} ${line}`),
  ];
}

function until({ until: step }: Shape): string {
  return `known after "${step}"; at most this`;
}

function detailLines({ marker, text, effect }: Detail, width: number, paint: Paint): string[] {
  const space = width - indent.length - 2;
  const [first = '', ...more] = wrap(text, space, 0, 0);
  const follows = effect === undefined ? [] : wrap(effect, space - 2, 0, 0);
  return [
    `${indent}${mark(marker, paint)} ${first}`,
    ...more.map((line) => `${indent}  ${line}`),
    ...follows.map((line) => `${indent}    ${line}`),
  ];
}

/** Returns the exact script or file of an action. */
function actionLines(action: Action): string[] {
  switch (action.kind) {
    case 'run':
      return [
        `run${action.durable ? ' as a systemd unit' : ''}, at most ${action.timeoutS} s:`,
        ...indented(action.script),
        ...(action.writes.length === 0 ? [] : [`writes in ${action.writes.join(', ')}`]),
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
    case 'webhook':
      return [`write ${action.path} (mode 600): the address, from memory`];
    case 'deregister':
      return [`delete the agents of owner ${action.owner} from ${action.pools.join(', ')} in Azure DevOps`];
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

const styles = { '+': 'green', '-': 'red', '@': 'cyan' } as const;

/** Returns the difference of a file as in `diff -u`. */
function diffLines({ path, lines }: TextDiff, paint: Paint): string[] {
  return [
    paint('bold', path),
    ...lines.map((line) => {
      const sign = line.slice(0, 1);
      return sign === '+' || sign === '-' || sign === '@' ? paint(styles[sign], line) : line;
    }),
  ];
}

/** Hosts and pools that could not be read, so that they are not in the plan. */
interface Unread {
  readonly hosts: number;
  readonly pools: readonly string[];
}

/** Returns the last line: `Changes: 6 on 3 hosts, 1 host refused.` */
function summary(
  plan: FleetPlan,
  { hosts, pools }: Unread = { hosts: 0, pools: [] },
  left: readonly Left[] = [],
): string {
  const changed = plan.hosts.filter(({ stages }) => stages.length > 0);
  const changes = changed.reduce((sum, { stages }) => sum + stages.flat().length, 0);
  const rebooted = changed.filter(({ stages }) => stages.flat().some(reboots));
  const refused = plan.hosts.filter(({ refusals }) => refusals.length > 0);
  const leftOn = new Set(left.map(({ host }) => host));
  const upToDate = plan.hosts.filter((host) => isEmpty(host) && !leftOn.has(host.host));
  const parts = [
    ...(plan.fleet.length === 0 ? [] : [`${plan.fleet.length} in Azure DevOps`]),
    ...(changed.length === 0 ? [] : [`${changes} on ${hostCount(changed.length)}`]),
    ...(rebooted.length === 0 ? [] : [`${hostCount(rebooted.length)} to be rebooted`]),
    ...(refused.length === 0 ? [] : [`${hostCount(refused.length)} refused`]),
    ...(left.length === 0 ? [] : [`${hostCount(left.length)} with changes left`]),
    ...(upToDate.length === 0 ? [] : [`${hostCount(upToDate.length)} up to date`]),
  ];
  const unread = [
    ...(hosts === 0 ? [] : [`${hostCount(hosts)} unreachable`]),
    ...(pools.length === 0
      ? []
      : [`the ${pools.length === 1 ? 'pool' : 'pools'} ${pools.join(', ')} cannot be used`]),
  ];
  const all = [...parts, ...unread].join(', ');
  if (hasChanges(plan)) return `Changes: ${all}.`;
  if (parts.length === 0 && unread.length > 0) return `No plan: ${all}.`;
  return `No changes${all === '' ? '' : `: ${all}`}.`;
}

function hostCount(count: number): string {
  return `${count} ${count === 1 ? 'host' : 'hosts'}`;
}

/** How many lines of waves are shown. */
const shown = 8;

interface Entry {
  readonly head: string;
  readonly text: string;
  readonly style?: Style;
}

/** Returns the section on the order in which hosts lose their agents; undefined if the order does not matter. */
export function wavesText(
  plan: WavesPlan,
  { paint, width }: { readonly paint: Paint; readonly width: number },
): string | undefined {
  const { waves, held, proveFirst, emptied, maxUnavailable, removes } = plan;
  const hosts = waves.reduce((sum, wave) => sum + wave.hosts.length, 0);
  if (hosts < 2 && held.length === 0 && proveFirst.length === 0) return undefined;
  const entries: readonly Entry[] = [
    ...(proveFirst.length === 0
      ? []
      : [{ head: '0: ', text: `${foldNames(proveFirst)}, left drained by an earlier run: verified first` }]),
    ...waveEntries(waves),
    ...emptied.map((pool) => ({
      head: '! ',
      text: `pool ${pool} has no agents ${removes === true ? 'afterwards' : 'for a time'}`,
      style: 'yellow' as const,
    })),
    ...heldEntries(held),
  ];
  const last = removes === true ? 'done' : 'healthy';
  const rule = `each starts once the previous is ${last}; at most ${maxUnavailable} of a pool at a time`;
  const [first = '', ...more] = wrap(rule, width, 'Waves: '.length, 4);
  return [
    `${paint('bold', 'Waves:')} ${paint('dim', first)}`,
    ...more.map((line) => paint('dim', line)),
    ...entries.flatMap((entry) => entryLines(entry, width, paint)),
  ].join('\n');
}

function entryLines({ head, text, style }: Entry, width: number, paint: Paint): string[] {
  const indent = 2 + head.length;
  return wrap(text, width, indent, indent).map((line, at) => {
    const whole = at === 0 ? `  ${head}${line}` : line;
    return style === undefined ? whole : paint(style, whole);
  });
}

function waveEntries(waves: readonly Wave[]): readonly Entry[] {
  const numbered = waves.map(({ canary, hosts }, at) => ({
    head: `${at + 1}${canary ? ` ${hosts.length === 1 ? 'canary' : 'canaries'}` : ''}: `,
    text: foldNames(hosts),
  }));
  if (waves.length <= shown) return numbered;
  const rest = waves.slice(shown - 1);
  const most = Math.max(...rest.map(({ hosts }) => hosts.length));
  const names = foldNames(rest.flatMap(({ hosts }) => hosts));
  return [
    ...numbered.slice(0, shown - 1),
    { head: `${shown} to ${waves.length}: `, text: `${names}, at most ${most} at a time` },
  ];
}

/** Returns the hosts that are held back, those with the same reason together. */
function heldEntries(held: WavesPlan['held']): readonly Entry[] {
  const equal = Map.groupBy(held, ({ what, next }) => JSON.stringify([what, next]));
  return [...equal.values()].flatMap((same) => {
    const names = foldNames(same.map(({ host }) => host));
    return same.slice(0, 1).flatMap(({ what, next }) => [
      { head: '✗ ', text: `${names}, not started: ${what}`, style: 'red' as const },
      { head: '  next: ', text: next },
    ]);
  });
}

type Style = Parameters<typeof styleText>[0];
type Paint = (style: Style, text: string) => string;

const marks = {
  add: ['green', '+'],
  change: ['yellow', '~'],
  remove: ['red', '-'],
} as const satisfies Record<Marker, readonly [Style, string]>;

function painter(color: boolean): Paint {
  return (style, text) => (color ? styleText(style, text, { validateStream: false }) : text);
}

/** Returns the marker of a line: `+` adds, `~` changes, `-` removes. */
function mark(marker: Marker | undefined, paint: Paint): string {
  const [style, sign] = marks[marker ?? 'add'];
  return paint(style, sign);
}

/** Returns the marker of a change: also `!` if it reboots, `?` if it is not known yet. */
function changeMark(change: Change | Shape, paint: Paint): string {
  if (change.kind === 'shape') return unknownMark(paint);
  return reboots(change) ? paint(['bold', 'magenta'], '!') : mark(change.marker, paint);
}

function unknownMark(paint: Paint): string {
  return paint('cyan', '?');
}
