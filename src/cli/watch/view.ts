import { stripVTControlCharacters } from 'node:util';

import type { SlotDetail } from '../../fleet/status/detail.ts';
import type { StatusRow } from '../../fleet/status/row.ts';
import { ageText } from '../../fleet/verdict/sources.ts';
import { clip, columnsOf, pieces } from '../../shared/base/columns.ts';
import { elapsed } from '../../shared/base/quantities.ts';
import type { Paint, Style } from '../render/color.ts';
import { hostScreen } from '../render/host-status.ts';
import { count, wrap, wrapNext } from '../render/lines.ts';
import {
  columns as statusColumns,
  hostCounts,
  queueText,
  statusCells,
  verdictStyle,
} from '../render/status.ts';
import type { Cell, Column } from '../render/table.ts';
import { gridOf } from './grid.ts';
import type { HostAnswer, WatchedHost, WatchEvent, WatchState } from './state.ts';

/** The terminal at one moment. */
export interface Size {
  readonly width: number;
  readonly height: number;
  readonly paint: Paint;
  /** The monotonic clock, as in the state. */
  readonly now: number;
  /** The wall clock at the same moment. */
  readonly wall: number;
}

/** Milliseconds without an answer after which what was last seen counts as old: four questions. */
const oldAfterMs = 45_000;

type Group = StatusRow['verdict']['state'] | 'not read yet';

/** The groups from the top to the bottom. */
const groups: readonly Group[] = [
  'failed',
  'unreachable',
  'hung',
  'unknown',
  'degraded',
  'healthy',
  'off',
  'not read yet',
];

/** Returns the lines of the whole terminal, one a row, none wider than it. Pure. */
export function watchLines(state: WatchState, size: Size): readonly string[] {
  const { height } = size;
  const body = state.open === undefined ? listLines(state, size) : hostLines(state, size);
  const space = bodyHeight(state, size) + headingHeight(state) - body.length;
  const shown = [...body, ...Array.from({ length: Math.max(0, space) }, () => '')];
  return [...headLines(state, size), ...shown, ...eventLines(state, size), footLine(state, size)].slice(
    -height,
  );
}

/** Returns the lines between the head and the events. Pure. */
export function bodyHeight(state: WatchState, size: Size): number {
  const head = headLines(state, size).length + headingHeight(state);
  return Math.max(1, size.height - head - eventsHeight(size) - 1);
}

/** The list has a heading, the screen of one host has none. */
function headingHeight({ open }: WatchState): number {
  return open === undefined ? 1 : 0;
}

/** Returns the lines of the events with their title; a low terminal has none. */
function eventsHeight({ height }: Size): number {
  return height < 12 ? 0 : Math.min(12, Math.max(4, Math.floor(height / 5)));
}

function headLines(state: WatchState, size: Size): readonly string[] {
  const { width, paint, wall } = size;
  const rows = inGroups([...state.hosts.values()], (host) => host).flatMap((host) => rowOf(host) ?? []);
  const unread = state.hosts.size - rows.length;
  const time = `${new Date(wall).toISOString().slice(11, 19)} UTC`;
  const counts = (style: Paint): string =>
    [
      ...(rows.length === 0 ? [] : [hostCounts(rows, style)]),
      ...(unread === 0 ? [] : [`${count(unread, 'host')} not read yet`]),
    ].join('; ');
  const plain = counts((_, text) => text);
  const space = width - columnsOf(plain) - time.length;
  const first = space < 2 ? clip(plain, width) : counts(paint) + ' '.repeat(space) + time;
  const problems = state.poolProblems.slice(0, 1).map(({ what }) => paint('red', clip(`✗ ${what}`, width)));
  return [first, clip(agentsText(state, rows), width), ...problems];
}

/** Returns `600 agents: 590 ready, 412 busy, 3 disabled · queue of pool gpu-lab: 3 jobs waiting; 2 running`. */
function agentsText({ queues }: WatchState, rows: readonly StatusRow[]): string {
  const sum = (of: (row: StatusRow) => number | undefined): number =>
    rows.reduce((total, row) => total + (of(row) ?? 0), 0);
  const known = rows.filter(({ local }) => local !== undefined);
  const disabled = sum(({ azure }) => azure?.disabled);
  const agents = [
    `${count(
      sum(({ local }) => local?.wanted),
      'agent',
    )}: ${sum(({ local }) => local?.ready)} ready`,
    `${sum(({ local }) => local?.busy)} busy`,
    ...(disabled === 0 ? [] : [`${disabled} disabled`]),
    ...(known.length === rows.length ? [] : [`unknown on ${count(rows.length - known.length, 'host')}`]),
  ].join(', ');
  return [agents, ...queues.map((queue) => `queue of pool ${queue.pool}: ${queueText(queue)}`)].join(' · ');
}

function rowOf({ answer, lost }: WatchedHost): StatusRow | undefined {
  return lost?.row ?? answer?.row;
}

function groupOf(host: WatchedHost): Group {
  return rowOf(host)?.verdict.state ?? 'not read yet';
}

/** Returns the names of the hosts that match the filter, in the order of the screen. Pure. */
export function shownHosts({ hosts, filter }: WatchState): readonly string[] {
  const wanted = filter.trim().toLowerCase();
  const matching = [...hosts].filter(
    ([name, host]) => wanted === '' || searchText(name, host).includes(wanted),
  );
  return inGroups(matching, ([, host]) => host).map(([name]) => name);
}

/** Returns items with hosts in the order of the groups. */
function inGroups<T>(items: readonly T[], hostOf: (item: T) => WatchedHost): readonly T[] {
  const byGroup = Map.groupBy(items, (item) => groupOf(hostOf(item)));
  return groups.flatMap((group) => byGroup.get(group) ?? []);
}

/** Returns the selected host: the first one if none was selected, or if the filter hides it. Pure. */
export function selectedHost(state: WatchState): string | undefined {
  const hosts = shownHosts(state);
  return hosts.find((host) => host === state.selected) ?? hosts[0];
}

const searchTexts = new WeakMap<WatchedHost, string>();

/** Returns everything of a host that the filter finds. */
function searchText(name: string, host: WatchedHost): string {
  const known = searchTexts.get(host);
  if (known !== undefined) return known;
  const row = rowOf(host);
  const slots = host.answer?.detail.slots.flatMap(({ agent, pool, job = '', cause = '' }) => [
    agent,
    pool,
    job,
    cause,
  ]);
  const gpus = host.answer?.row.gpus?.names ?? [];
  const text = [
    name,
    groupOf(host),
    row?.verdict.cause,
    row?.verdict.code,
    row?.pool,
    ...gpus,
    ...(slots ?? []),
  ];
  const found = text.join('\n').toLowerCase();
  searchTexts.set(host, found);
  return found;
}

/** The columns of `status` without software other than the driver, the load, and why. */
const shownColumns: readonly string[] = ['host', 'gpus', 'driver', 'agents', 'busy', 'azure', 'verdict'];
const places = shownColumns.map((name) => statusColumns.findIndex(({ heading }) => heading[0] === name));
const loads: readonly Column[] = [
  { heading: ['util'], yields: 50, leaves: 6 },
  { heading: ['°C'], yields: 51, leaves: 7 },
];
const columns: readonly Column[] = [
  ...places.flatMap((place) => statusColumns[place] ?? []).toSpliced(2, 0, ...loads),
  { heading: ['cause, or jobs'], yields: 0 },
];

/** Returns the heading and the hosts around the selected one, each group with its title. */
function listLines(state: WatchState, size: Size): readonly string[] {
  const { width, paint } = size;
  const names = shownHosts(state);
  if (names.length === 0) return [clip(`no host matches "${state.filter}"`, width)];
  const hosts = names.map((name) => state.hosts.get(name) ?? {});
  const grid = gridOf(
    columns,
    hosts.map((host, index) => cellsOf(names[index] ?? '', host, size)),
    { width: width - 2, paint },
  );
  const selected = Math.max(0, names.indexOf(state.selected ?? ''));
  const sizes = Map.groupBy(hosts, groupOf);
  const entries = hosts.flatMap((host, index): Entry[] => {
    const group = groupOf(host);
    const isFirst = index === 0 || groupOf(hosts[index - 1] ?? {}) !== group;
    return [...(isFirst ? [{ title: group }] : []), { host: index }];
  });
  const at = entries.findIndex((entry) => 'host' in entry && entry.host === selected);
  const lines = around(entries, selected === 0 ? 0 : at, bodyHeight(state, size)).map((entry) => {
    if ('title' in entry) return titleLine(entry.title, sizes.get(entry.title)?.length ?? 0, size);
    const line = grid.line(entry.host);
    return entry.host === selected ? `${paint('bold', '›')} ${paint('bold', line)}` : `  ${line}`;
  });
  return [`  ${grid.heading}`, ...lines];
}

type Entry = { readonly title: Group } | { readonly host: number };

function titleLine(group: Group, hosts: number, { width, paint }: Size): string {
  const style = group === 'not read yet' ? 'dim' : verdictStyle[group];
  return paint(style, clip(`${group.toUpperCase()} (${hosts})`, width));
}

/** Returns a window of so many items with this one, in the middle where there is a choice. */
function around<T>(items: readonly T[], at: number, size: number): readonly T[] {
  const top = Math.max(0, Math.min(at - Math.floor(size / 2), items.length - size));
  return items.slice(top, top + size);
}

/** Cells of an answer do not change until the next one: 300 hosts are drawn several times a second. */
const knownCells = new WeakMap<WatchedHost, readonly Cell[]>();

function cellsOf(name: string, host: WatchedHost, size: Size): readonly Cell[] {
  const { answer, lost } = host;
  const isOld = lost !== undefined || isLate(host, size);
  const known = isOld ? undefined : knownCells.get(host);
  if (known !== undefined) return known;
  const row = answer?.row ?? lost?.row;
  if (row === undefined)
    return [{ texts: [name] }, ...columns.slice(2).map(() => dash), { texts: ['connecting …'] }];
  const all = statusCells(row);
  const picked = places
    .flatMap((place) => all[place] ?? [])
    .toSpliced(2, 0, ...loadCells(answer?.detail.slots));
  const [cells, verdict] = [picked.slice(0, -1), picked.at(-1) ?? dash];
  if (isOld) {
    const old = cells.map(({ texts }, index): Cell => (index === 0 ? { texts } : { texts, style: 'dim' }));
    return [...old, oldVerdict(host, verdict, size), { texts: [oldText(host, size)] }];
  }
  const found = [...cells, verdict, { texts: [reasonOf(row, answer?.detail.slots)] } satisfies Cell];
  knownCells.set(host, found);
  return found;
}

const dash: Cell = { texts: ['-'], style: 'dim' };

/** Tells whether a host has not answered for long, and no failure is known yet. */
function isLate({ answer }: WatchedHost, { now }: Size): boolean {
  return answer !== undefined && now - answer.at > oldAfterMs;
}

function oldVerdict({ lost }: WatchedHost, verdict: Cell, { now, wall }: Size): Cell {
  const [shown] = verdict.texts;
  if (lost === undefined) return { texts: [`${shown} (old)`], style: 'yellow' };
  const { state } = lost.row.verdict;
  const since = new Date(wall - (now - lost.since)).toISOString();
  return {
    texts: [`${state} since ${since.slice(11, 19)}`, `${state} ${since.slice(11, 16)}`],
    style: verdictStyle[state],
  };
}

function ageOf(answer: HostAnswer | undefined, now: number): string {
  return ageText((now - (answer?.at ?? now)) / 1000);
}

/** Says how old the row is, then why. */
function oldText({ answer, lost }: WatchedHost, { now }: Size): string {
  const age = answer === undefined ? [] : [`last answer ${ageOf(answer, now)} ago`];
  return [...age, ...(lost === undefined ? [] : [lost.row.verdict.cause])].join('; ');
}

/** Returns the cause of a problem, else the jobs. */
function reasonOf({ verdict }: StatusRow, slots: readonly SlotDetail[] = []): string {
  const jobs = slots.flatMap(({ job }) => job ?? []);
  return verdict.cause !== '' ? verdict.cause : jobs.length > 0 ? jobs.join(', ') : (verdict.note ?? '');
}

/** Returns the mean utilization and the highest temperature of the GPUs; `?` if one of them is unknown. */
function loadCells(slots: readonly SlotDetail[] | undefined): readonly [Cell, Cell] {
  const gpus = new Map(
    slots?.flatMap((slot) =>
      'value' in slot.gpus ? slot.gpus.value.map((gpu) => [gpu.uuid, gpu] as const) : [],
    ),
  );
  const all = (load: 'utilizationPercent' | 'temperatureC'): readonly number[] | undefined => {
    const values = [...gpus.values()].flatMap((gpu) => gpu[load] ?? []);
    return values.length === gpus.size && values.length > 0 ? values : undefined;
  };
  const [used, warm] = [all('utilizationPercent'), all('temperatureC')];
  const mean = used && Math.round(used.reduce((sum, value) => sum + value, 0) / used.length);
  const isNone = slots !== undefined && gpus.size === 0 && slots.every(({ gpus: of }) => 'value' in of);
  const unread = isNone ? '-' : '?';
  return [
    { texts: [mean === undefined ? unread : `${mean} %`] },
    { texts: [warm === undefined ? unread : String(Math.max(...warm))] },
  ];
}

/** Returns the visible part of the screen of the open host. */
function hostLines(state: WatchState, size: Size): readonly string[] {
  const lines = openLines(state, size);
  const height = bodyHeight(state, size);
  const top = Math.max(0, Math.min(state.open?.top ?? 0, lines.length - height));
  return lines.slice(top, top + height);
}

/** Returns all lines of the screen of the open host. Pure. */
export function openLines(state: WatchState, size: Size): readonly string[] {
  const { width, now, paint } = size;
  const name = state.open?.host ?? '';
  const host = state.hosts.get(name) ?? {};
  const { answer } = host;
  const warnings = warningLines(host, size);
  if (answer === undefined)
    return warnings.length === 0
      ? [clip(`${name}: connecting …`, width)]
      : warnings.flatMap((line) => broken(line, width));
  const pools = new Set(answer.detail.slots.map(({ pool }) => pool));
  const screen = hostScreen(
    {
      row: answer.row,
      detail: answer.detail,
      queues: state.queues.filter(({ pool }) => pools.has(pool)),
      jobs: state.jobs,
    },
    {
      width,
      height: bodyHeight(state, size) + 1 - warnings.length,
      now: answer.now + now - answer.at,
      paint,
    },
  );
  // A command or an address that is longer than the terminal stays whole there, but may not be wider than it.
  return [...warnings, ...screen.trimEnd().split('\n')].flatMap((line) => broken(line, width));
}

/** Returns what is wrong with a host that does not answer; below it is what was last seen. */
function warningLines(host: WatchedHost, size: Size): readonly string[] {
  const { lost, answer } = host;
  const { width, now, paint } = size;
  if (lost === undefined)
    return isLate(host, size)
      ? [paint('yellow', clip(`! ${oldText(host, size)}: this is old`, width)), '']
      : [];
  const { host: name, verdict } = lost.row;
  const since = new Date(size.wall - (now - lost.since)).toISOString().slice(11, 19);
  const why = `${name}: ${verdict.state} since ${since} UTC, for ${elapsed(now - lost.since)}: ${verdict.cause}`;
  return [
    ...wrap(why, width, 0, 2).map((line) => paint(verdictStyle[verdict.state], clip(line, width))),
    ...(verdict.next === ''
      ? []
      : wrapNext(verdict.next, width, 10).map((line, index) => (index === 0 ? `  next    ${line}` : line))),
    ...(answer === undefined
      ? []
      : ['', paint('yellow', clip('below: what was last seen, which is old', width))]),
  ];
}

/** Breaks a line that is wider than the terminal; its colors are lost. */
function broken(line: string, width: number): readonly string[] {
  const plain = stripVTControlCharacters(line);
  return columnsOf(plain) <= width ? [line] : pieces(plain, width);
}

const tones: Readonly<Record<WatchEvent['tone'], Style | undefined>> = {
  good: 'green',
  bad: 'red',
  plain: undefined,
};

function eventLines({ events }: WatchState, size: Size): readonly string[] {
  const { width, paint, now, wall } = size;
  const height = eventsHeight(size);
  if (height === 0) return [];
  const shown = events.slice(1 - height).map(({ at, text, tone }) => {
    const time = new Date(wall - (now - at)).toISOString().slice(11, 19);
    const line = clip(text, width - time.length - 2);
    const style = tones[tone];
    return `${paint('dim', time)}  ${style === undefined ? line : paint(style, line)}`;
  });
  const rest = Array.from({ length: height - 1 - shown.length }, () => '');
  return [
    paint('dim', clip(`── last changes (UTC) ${'─'.repeat(width)}`, width).replace(/…$/, '─')),
    ...shown,
    ...rest,
  ];
}

function footLine(state: WatchState, { width, paint }: Size): string {
  const { filter, isTyping, open } = state;
  if (isTyping) return clip(`/${filter}▏  Enter keeps the filter, Esc clears it`, width);
  const keys =
    open === undefined
      ? [
          ...(filter === ''
            ? ['q quit', '/ filter']
            : [
                `filter "${filter}": ${shownHosts(state).length} of ${count(state.hosts.size, 'host')}`,
                'Esc clears it',
                'q quit',
              ]),
          'Enter host',
          '↑ ↓ PgUp PgDn scroll',
        ]
      : ['Esc back', '↑ ↓ PgUp PgDn scroll', 'q quit'];
  return paint('dim', clip(keys.join(' · '), width));
}
