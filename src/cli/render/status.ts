import type { Facts } from '../../fleet/facts/facts.ts';
import { unreadOf } from '../../fleet/facts/unread.ts';
import type { PoolQueue } from '../../fleet/status/collect.ts';
import { foldNames } from '../../fleet/inventory/fold-names.ts';
import type { DriftRow } from '../../fleet/status/drift.ts';
import type { AgentCounts, AzureCounts, StatusRow } from '../../fleet/status/row.ts';
import { defined } from '../../shared/base/objects.ts';
import { ageText } from '../../fleet/verdict/sources.ts';
import { drainEnd, drainLine, minuteOf } from '../../shared/contract/drain.ts';
import { idleLine } from '../../shared/contract/idle.ts';
import { gibText } from '../../shared/contract/slots.ts';
import { shortGpu } from '../../shared/health/checkup.ts';
import { withHost } from '../../shared/health/findings.ts';
import type { Finding, Verdict } from '../../shared/health/verdict.ts';
import { alike, hostLabel } from './alike.ts';
import type { Paint, Style } from './color.ts';
import { count, wrap } from './lines.ts';
import { type Cell, type Column, tableLines } from './table.ts';
import { supportTroubles } from './support.ts';
import { merged, type Trouble, troubleLines, hostProblem } from './trouble.ts';

interface StatusTextOptions {
  readonly width: number;
  /** Lines of the terminal: if the table has more, equal hosts share a line. Undefined: no terminal. */
  readonly height?: number | undefined;
  readonly paint: Paint;
}

/** What is shown of the fleet besides its hosts. */
interface FleetNotes {
  readonly queues?: readonly PoolQueue[];
  /** What provision would change in Azure DevOps. */
  readonly drift?: readonly string[];
  /** Keys of the inventory that differ on hosts. */
  readonly keys?: readonly DriftRow[];
  /** How many jobs may run at once. */
  readonly jobs?: Trouble | undefined;
}

/**
 * Returns the table with the worst hosts first and what is equal everywhere below it, then each problem with its cause and fix,
 * then notes, and last the totals.
 */
export function statusText(
  given: readonly StatusRow[],
  options: StatusTextOptions,
  { queues = [], drift = [], keys = [], jobs }: FleetNotes = {},
): string {
  const rows = given.toSorted(
    (a, b) => worstFirst.indexOf(a.verdict.state) - worstFirst.indexOf(b.verdict.state),
  );
  const everywhere = sameEverywhere(rows);
  const sections = [
    hostTable(
      rows,
      everywhere.map(({ column }) => column),
      options,
    ),
    [...everywhereLines(rows, everywhere, options), ...queueLines(queues, options)],
    ...[...hostTroubles(rows), ...namedSlotNotes(rows)].map((trouble) => troubleLines(trouble, options)),
    ...placeLines(rows, options),
    shareLines(rows, options),
    ...[...drains(rows), ...hostNotes(rows)].map((trouble) => troubleLines(trouble, options)),
    driftLines(rows, options),
    keyLines(keys, options),
    drift.map((title) => `~ Azure DevOps: provision would change: ${title}`),
    jobs === undefined ? [] : troubleLines(jobs, options),
    [hostCounts(rows, options.paint)],
  ];
  return `${sections
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join('\n'))
    .join('\n\n')}\n`;
}

export const worstFirst: readonly Verdict['state'][] = [
  'failed',
  'hung',
  'unreachable',
  'unknown',
  'degraded',
  'healthy',
  'off',
];

/** Returns the table without these columns. */
function hostTable(
  rows: readonly StatusRow[],
  without: readonly number[],
  options: StatusTextOptions,
): string[] {
  const shown = <T>(all: readonly T[]): readonly T[] => all.filter((_, index) => !without.includes(index));
  return tableLines(shown(columns), tableRows(rows, options.height).map(shown), options);
}

interface Everywhere {
  /** Index of the column. */
  readonly column: number;
  readonly text: string;
}

/** Returns the columns of software that are equal on all hosts that were read, if there are several. */
function sameEverywhere(rows: readonly StatusRow[]): readonly Everywhere[] {
  const read = rows.filter(({ os }) => os !== undefined).map((row) => statusCells(row));
  if (read.length < 2) return [];
  return columns.flatMap(({ everywhere }, column) => {
    const [text = '-', ...others] = new Set(read.map((cells) => cells[column]?.texts[0]));
    const isKnown = text !== '-' && text !== '?' && read[0]?.[column]?.style === undefined;
    return everywhere !== undefined && others.length === 0 && isKnown
      ? [{ column, text: `${everywhere} ${text}`.trim() }]
      : [];
  });
}

function everywhereLines(
  rows: readonly StatusRow[],
  everywhere: readonly Everywhere[],
  { width, paint }: StatusTextOptions,
): string[] {
  if (everywhere.length === 0) return [];
  const read = rows.filter(({ os }) => os !== undefined).length;
  const where = read === rows.length ? 'all hosts' : `all ${read} hosts that were read`;
  return noted(`${where}: ${everywhere.map(({ text }) => text).join(', ')}`, width, paint);
}

/** Returns the waiting jobs of each pool. */
function queueLines(queues: readonly PoolQueue[], { width, paint }: StatusTextOptions): string[] {
  return queues.flatMap((queue) => noted(`queue of pool ${queue.pool}: ${queueText(queue)}`, width, paint));
}

/** Returns `3 jobs waiting up to 12 min; 2 running`. */
export function queueText({ jobs, unknown = 'not read' }: PoolQueue): string {
  if (jobs === undefined) return `unknown (${unknown})`;
  const { waiting, running, oldestWaitS } = jobs;
  const longest = oldestWaitS === undefined ? '' : ` up to ${ageText(oldestWaitS)}`;
  return `${count(waiting, 'job')} waiting${longest}; ${running} running`;
}

function noted(text: string, width: number, paint: Paint): string[] {
  return wrap(text, width - 1, 2, 4).map((line, index) =>
    index === 0 ? `${paint('dim', '·')} ${line}` : line,
  );
}

function tableRows(rows: readonly StatusRow[], height: number | undefined): readonly (readonly Cell[])[] {
  if (height === undefined || rows.length < height) return rows.map((row) => statusCells(row, row.oldest));
  const groups = Map.groupBy(rows, (row) => JSON.stringify(statusCells(row).slice(1)));
  return [...groups.values()].map((group) => {
    const names = group.map(({ host }) => host);
    const number = group.length === 1 ? [] : [count(group.length, 'host')];
    const [oldest] = group.flatMap((row) => row.oldest ?? []).toSorted((a, b) => b.ageS - a.ageS);
    const cells = group.slice(0, 1).flatMap((row) => statusCells(row, oldest));
    return [{ texts: [hostLabel(names).label, ...number] }, ...cells.slice(1)];
  });
}

/** Returns all problems, equal ones of several hosts once. */
export function hostTroubles(rows: readonly StatusRow[]): readonly Trouble[] {
  return merged(
    rows.flatMap(({ host, verdict, findings }): Trouble[] => {
      const serious = findings.filter(({ severity }) => severity !== 'info');
      if (serious.length > 0) return serious.map((finding) => hostProblem(host, finding));
      const { cause: what, next, code } = verdict;
      const severity = verdict.state === 'off' ? 'info' : 'fail';
      return what === '' ? [] : [{ places: [host], severity, what, next, ...defined({ code }) }];
    }),
  );
}

/** Returns what each slot does that the command line names. */
function namedSlotNotes(rows: readonly StatusRow[]): readonly Trouble[] {
  return rows.flatMap(({ host, named = [] }) =>
    named.map(({ slot, agent, state, job, jobSince, since, cause, next }): Trouble => {
      const at = minuteOf(jobSince ?? since);
      const what = [`agent ${agent}: ${state}`, at && `since ${at}`, job].filter(Boolean).join(', ');
      const why = cause === undefined ? '' : `: ${cause}`;
      const shown = { severity: 'info' as const, what: `${what}${why}`, next: next ?? '' };
      return { places: [`${host}/${slot}`], ...withHost(shown, host) };
    }),
  );
}

/** Returns the drains that a user must end; drains by a run are findings. */
function drains(rows: readonly StatusRow[]): readonly Trouble[] {
  return merged(
    rows.flatMap(({ host, drains: entries = [] }) =>
      entries
        .filter(({ run }) => run === undefined)
        .map((drain): Trouble => ({
          places: [host],
          severity: 'info',
          what: drainLine(drain),
          next: drainEnd(drain, host),
        })),
    ),
  );
}

/** Returns when hosts billed by the hour power off, or what keeps them on. */
function idle(rows: readonly StatusRow[]): readonly Trouble[] {
  return merged(
    rows.flatMap(({ host, idle: report }): Trouble[] =>
      report === undefined
        ? []
        : [{ places: [host], severity: 'info', what: idleLine(report), next: report.stays?.next ?? '' }],
    ),
  );
}

/** Returns what is no problem of a host, or not yet. */
export function hostNotes(rows: readonly StatusRow[]): readonly Trouble[] {
  return [...idle(rows), ...supportTroubles(rows), ...notes(rows)];
}

const noteCodes: ReadonlySet<string> = new Set([
  'agents.older-job',
  'container.not-compared',
  'deep.passed',
  'deep.skipped',
  'host.passed-through',
  'host.vgpu',
  'probe.skipped',
]);

/** Returns notes on jobs that began before the last change, on GPUs and drivers left alone, and on probes that did not run. */
function notes(rows: readonly StatusRow[]): readonly Trouble[] {
  return merged(
    rows.flatMap(({ host, findings }): Trouble[] =>
      [
        ...Map.groupBy(
          findings.filter(({ code }) => noteCodes.has(code)),
          ({ what }) => what,
        ),
      ].map(([what, same]) => ({ places: [host], severity: 'info', what: withGpus(same, what), next: '' })),
    ),
  );
}

function withGpus(findings: readonly Finding[], what: string): string {
  const gpus = findings.flatMap(({ gpu }) => (gpu === undefined ? [] : shortGpu(gpu)));
  return gpus.length === 0 ? what : `${gpus.join(', ')}: ${what}`;
}

/** Returns the pool and image of each slot, for hosts that use several. */
function placeLines(rows: readonly StatusRow[], { width, paint }: StatusTextOptions): string[][] {
  const values = rows.flatMap(({ host, slots: value = [] }) => (value.length === 0 ? [] : [{ host, value }]));
  return alike(values).map(({ hosts, value: slots }) => {
    const lines = slots.flatMap(({ slot, pool, image }) => {
      const runs = image === undefined ? '' : `, image ${image}`;
      return wrap(`${slot}: pool ${pool}${runs}`, width - 1, 2, 4).map((line, index) =>
        index === 0 ? `  ${line}` : line,
      );
    });
    return [...placeHead(`${paint('dim', '·')} `, hosts, '', { width, paint }), ...lines];
  });
}

/** Returns each agent's memory limit, if only one host is shown. */
function shareLines(rows: readonly StatusRow[], { width, paint }: StatusTextOptions): string[] {
  const [row, ...others] = rows;
  if (row?.shares === undefined || others.length > 0) return [];
  const bySize = Map.groupBy(row.shares, ({ memoryMiB }) => memoryMiB);
  const limits = [...bySize].map(([mib, each]) => {
    const size = mib === undefined ? 'no limit' : gibText(mib);
    return bySize.size === 1 ? size : `${each.map(({ slot }) => slot).join(', ')} ${size}`;
  });
  return noted(`memory of each agent: ${limits.join('; ')}`, width, paint);
}

function driftLines(rows: readonly StatusRow[], { width, paint }: StatusTextOptions): string[] {
  const values = rows.flatMap(({ host, drift: value = [] }) => (value.length === 0 ? [] : [{ host, value }]));
  return alike(values).flatMap(({ hosts, value: drift }) => [
    ...placeHead(`${paint('yellow', '~')} `, hosts, ': provision would change', { width, paint }),
    ...drift.flatMap((title) =>
      wrap(`- ${title}`, width - 1, 4, 6).map((line, index) => (index === 0 ? `    ${line}` : line)),
    ),
  ]);
}

/** Returns each key once, and below it the hosts by their value. */
function keyLines(rows: readonly DriftRow[], { width, paint }: StatusTextOptions): string[] {
  const byKey = Map.groupBy(rows, ({ key }) => key);
  return [...byKey].flatMap(([key, same]) => [
    `${paint('yellow', '~')} ${paint('bold', key === '*' ? 'all keys' : key)}`,
    ...same.flatMap(({ configured, there, hosts }) => {
      const has = 'unknown' in there ? `unknown (${there.unknown})` : (there.value ?? 'none');
      const values =
        configured === null && 'unknown' in there ? has : `${configured ?? 'none'} configured, ${has} there`;
      return wrap(`${values}: ${foldNames(hosts)}`, width - 1, 4, 6).map((line, index) =>
        index === 0 ? `    ${line}` : line,
      );
    }),
  ]);
}

function placeHead(
  mark: string,
  hosts: readonly string[],
  after: string,
  { width, paint }: Pick<StatusTextOptions, 'width' | 'paint'>,
): string[] {
  const { label, names } = hostLabel(hosts);
  return [
    `${mark}${paint('bold', label)}${after}`,
    ...(names === undefined ? [] : wrap(names, width - 5, 0, 0).map((line) => `    ${paint('dim', line)}`)),
  ];
}

/** Returns `4 hosts: 3 failed, 1 unreachable`. */
export function hostCounts(rows: readonly StatusRow[], paint: Paint = (_, text) => text): string {
  const counts = Map.groupBy(rows, ({ verdict }) => verdict.state);
  const hosts = count(rows.length, 'host');
  const parts = [...counts].map(([state, group]) => paint(verdictStyle[state], `${group.length} ${state}`));
  return counts.size === 1 && rows.length > 1
    ? `${hosts}, all ${paint(verdictStyle[rows[0]?.verdict.state ?? 'unknown'], rows[0]?.verdict.state ?? '')}`
    : `${hosts}: ${parts.join(', ')}`;
}

/** `everywhere`: what names a value below the table if it is equal on all hosts. */
interface HostColumn extends Column {
  readonly everywhere?: string;
}

/** Versions are shortened first, then columns of software leave; host, GPUs, agents and verdict stay. */
export const columns: readonly HostColumn[] = [
  { heading: ['host'], yields: 99 },
  { heading: ['os'], yields: 5, leaves: 1, everywhere: '' },
  { heading: ['gpus'], yields: 97 },
  { heading: ['driver'], yields: 4, leaves: 5, everywhere: 'driver' },
  { heading: ['docker'], yields: 1, leaves: 2, everywhere: 'Docker' },
  { heading: ['toolkit', 'tk'], yields: 2, leaves: 3, everywhere: 'toolkit' },
  { heading: ['manager', 'mgr'], yields: 3, leaves: 4, everywhere: 'manager' },
  { heading: ['agents'], yields: 6 },
  { heading: ['busy'], yields: 96 },
  { heading: ['azure'], yields: 7 },
  { heading: ['verdict'], yields: 98 },
];

export const verdictStyle: Readonly<Record<Verdict['state'], Style>> = {
  healthy: 'green',
  degraded: 'yellow',
  failed: 'red',
  hung: 'red',
  unreachable: 'red',
  off: 'dim',
  unknown: 'red',
};

/** What was not read of a host that was reached is `?`, and what it lacks `-`. `oldest`: the source whose age is shown beside the verdict. */
export function statusCells(row: StatusRow, oldest?: StatusRow['oldest']): readonly Cell[] {
  const { os, gpus, manager, verdict, unknown = [] } = row;
  const without = (fact: keyof Facts) => (unreadOf({ unknown }, fact).length > 0 ? '?' : '-');
  const unreported = os === undefined ? '-' : '?';
  const age = oldest === undefined ? '' : ` (${ageText(oldest.ageS)})`;
  return [
    { texts: [row.host] },
    { texts: os === undefined ? ['-'] : osTexts(os) },
    { texts: gpus === undefined ? [without('gpus')] : gpuTexts(gpus) },
    { texts: row.driver === undefined ? [without('driver')] : versionTexts(row.driver, 2, 1) },
    { texts: row.docker === undefined ? [without('docker')] : versionTexts(row.docker, 2, 1) },
    { texts: row.toolkit === undefined ? [without('toolkit')] : versionTexts(row.toolkit, 2) },
    manager === undefined ? { texts: [without('manager')] } : managerCell(manager),
    row.drained === true ? { texts: ['drained'], style: 'yellow' } : localCell(row.local, unreported),
    { texts: [busyText(row) ?? unreported] },
    azureCell(row.azure, row.local?.wanted),
    { texts: [`${verdict.state}${age}`], style: verdictStyle[verdict.state] },
  ];
}

type Texts = Cell['texts'];

const osNames: Readonly<Record<string, readonly [string, string]>> = {
  debian: ['Debian', 'deb'],
  ubuntu: ['Ubuntu', 'ubu'],
  rhel: ['RHEL', 'rhel'],
  rocky: ['Rocky', 'rky'],
  almalinux: ['Alma', 'alma'],
  ol: ['Oracle', 'ol'],
  amzn: ['Amazon', 'amz'],
};

export function osTexts({ id, version, pretty, arch }: NonNullable<StatusRow['os']>): Texts {
  const [name, short] = osNames[id] ?? [id === '' ? pretty : id, id.slice(0, 4)];
  const arm = arch === 'aarch64' ? ' arm64' : '';
  return [`${name} ${version}${arm}`.trim(), `${short}${version}`];
}

function gpuTexts({ count, names = [] }: NonNullable<StatusRow['gpus']>): Texts {
  if (count === 0) return ['none', '0'];
  if (names.length === 0) return [String(count)];
  const list = (short: (name: string) => string): string =>
    [...Map.groupBy(names, short)].map(([name, group]) => `${group.length}× ${name}`).join(', ');
  return [list(modelOf), list(family), String(count)];
}

/** Returns `RTX 4080 SUPER`, `A100-SXM4-80GB`: without vendor and series, which follow from the number. */
export function modelOf(name: string): string {
  return name
    .replace(/^NVIDIA /, '')
    .replace(/^(?:GeForce|Tesla|Quadro) /, '')
    .replace(/ Generation$/, '');
}

/** Returns `RTX 4080`, `A100`. */
function family(name: string): string {
  return /^(?:RTX )?[^\s-]+/.exec(modelOf(name))?.[0] ?? name;
}

/** Returns a version without its packaging suffix, and its first parts. */
function versionTexts(version: string, ...parts: readonly number[]): Texts {
  const upstream = version.replace(/[+~-].*/, '');
  return [upstream, ...parts.map((count) => upstream.split('.').slice(0, count).join('.'))];
}

function managerCell(manager: NonNullable<StatusRow['manager']>): Cell {
  if (manager.state === 'active') return { texts: [manager.version ?? 'active', 'ok'] };
  return { texts: [manager.state ?? 'absent', 'no'], style: 'red' };
}

/** Returns undefined if it is unknown. Without a manager there is nothing to count. */
function busyText({ local, drains }: StatusRow): string | undefined {
  if (local === undefined) return undefined;
  return drains === undefined ? '-' : String(local.busy);
}

function localCell(local: AgentCounts | undefined, unread: string): Cell {
  if (local === undefined) return { texts: [unread] };
  const { ready, wanted } = local;
  const texts: Texts = [`${ready}/${wanted}`];
  return ready < wanted ? { texts, style: 'yellow' } : { texts };
}

function azureCell(azure: AzureCounts | undefined, wanted = azure?.registered ?? 0): Cell {
  if (azure === undefined) return { texts: ['?'] };
  // How many agents the host has is not known before its GPUs are counted.
  if (wanted === 0 && azure.registered === 0) return { texts: ['-'] };
  const short = `${azure.online}/${wanted}`;
  const disabled = azure.disabled === 0 ? '' : `, ${azure.disabled} disabled`;
  const texts: Texts = [`${short} online${disabled}`, `${short}${disabled}`];
  return azure.online < wanted || azure.disabled > 0 ? { texts, style: 'yellow' } : { texts };
}
