import { foldNames } from '../../fleet/inventory/fold-names.ts';
import type { PoolQueue } from '../../fleet/status/collect.ts';
import type { GpuDetail, HostDetail, SlotDetail } from '../../fleet/status/detail.ts';
import type { Known } from '../../fleet/status/series.ts';
import type { StatusRow } from '../../fleet/status/row.ts';
import { unreadOf } from '../../fleet/facts/unread.ts';
import { ageText } from '../../fleet/verdict/sources.ts';
import { drainEnd, drainLine, minuteOf } from '../../shared/contract/drain.ts';
import type { Paint, Style } from './color.ts';
import { count, padded, wrap, wrapNext } from './lines.ts';
import { hostNotes, hostTroubles, modelOf, osTexts, queueText, verdictStyle } from './status.ts';
import { type Cell, type Column, tableLines } from './table.ts';
import { type Trouble, troubleLines } from './trouble.ts';

interface ScreenOptions {
  readonly width: number;
  /** Lines of the terminal. */
  readonly height: number;
  readonly paint: Paint;
  /** The host's wall clock. */
  readonly now: number;
}

/** One host with everything that is shown of it. */
export interface HostScreen {
  readonly row: StatusRow;
  readonly detail: HostDetail;
  /** Of its pools. */
  readonly queues: readonly PoolQueue[];
  /** How many jobs may run at once. */
  readonly jobs: Trouble | undefined;
}

/** What is left out so that a host fits a terminal, by steps. */
interface Density {
  /** Empty lines between the sections. */
  readonly airy: boolean;
  /** Each job has a line with its link; otherwise links that differ only in their number share one. */
  readonly links: 'each' | 'folded';
  /** Slots without a job that are alike share a line. */
  readonly merged: boolean;
  /** The most problems that are shown. */
  readonly problems: number;
}

const densities: readonly Density[] = [
  { airy: true, links: 'each', merged: false, problems: Infinity },
  { airy: false, links: 'each', merged: false, problems: Infinity },
  { airy: false, links: 'folded', merged: false, problems: Infinity },
  { airy: false, links: 'folded', merged: true, problems: Infinity },
  { airy: false, links: 'folded', merged: true, problems: 1 },
];

/** Returns the screen of one host: verdict, slots, software, pool, drains, then problems with their next actions. */
export function hostScreen(host: HostScreen, options: ScreenOptions): string {
  const last = densities.length - 1;
  const screens = densities.map((density) => () => screenLines(host, density, options));
  // The line below belongs to the shell.
  const fits = screens.find((draw, index) => index === last || draw().length < options.height);
  return `${(fits?.() ?? []).join('\n')}\n`;
}

function screenLines(host: HostScreen, density: Density, options: ScreenOptions): string[] {
  const { row, detail } = host;
  const sections = [
    [titleLine(row, options)],
    slotTable(detail.slots, density, options),
    [
      ...unknownLines(detail.slots, options),
      ...factLines(host, options),
      ...linkLines(detail.slots, density, options),
    ],
    ...drainLines(host, options),
    ...hostNotes([row]).map((note) => troubleLines(note, options)),
    ...problemLines(host, density, options),
  ].filter((lines) => lines.length > 0);
  return density.airy
    ? sections.flatMap((lines, index) => (index === 0 ? lines : ['', ...lines]))
    : sections.flat();
}

function titleLine({ host, verdict, oldest }: StatusRow, { paint }: ScreenOptions): string {
  const age = oldest === undefined ? '' : ` (${sourceNames[oldest.source]} ${ageText(oldest.ageS)} old)`;
  return `${paint('bold', host)}: ${paint(verdictStyle[verdict.state], verdict.state)}${age}`;
}

const sourceNames: Readonly<Record<NonNullable<StatusRow['oldest']>['source'], string>> = {
  facts: 'facts',
  report: 'manager report',
  gpus: 'GPU check',
  connection: 'connection test',
  pool: 'view of the pool',
};

const columns: readonly Column[] = [
  { heading: ['slot'], yields: 99 },
  { heading: ['gpu'], yields: 3 },
  { heading: ['°C'], yields: 98 },
  { heading: ['memory (GiB)', 'GiB'], yields: 1 },
  { heading: ['utilization', 'util'], yields: 1 },
  { heading: ['state'], yields: 96 },
  { heading: ['since (UTC)', 'since'], yields: 4 },
  { heading: ['job, or why none', 'job'], yields: 2 },
];

function slotTable(slots: readonly SlotDetail[], { merged }: Density, options: ScreenOptions): string[] {
  const alone = (slot: SlotDetail) => !merged || slot.job !== undefined || slot.cause !== undefined;
  const groups = Map.groupBy(slots, (slot) =>
    alone(slot) ? slot.slot : JSON.stringify([stateText(slot), modelsOf(gpusOf(slot))]),
  );
  const rows = [...groups.values()].map((group) => slotCells(group, options.now));
  return tableLines(columns, rows, options);
}

/** Returns the line of a slot, or of several alike: the sum of their memory, the highest temperature, the mean utilization. */
function slotCells(group: readonly SlotDetail[], now: number): readonly Cell[] {
  const gpus = group.flatMap(gpusOf);
  const isUnknown = group.some((slot) => 'unknown' in slot.gpus);
  const load = (text: (gpus: readonly GpuDetail[]) => Cell['texts'] | undefined): Cell => {
    if (!isUnknown && gpus.length === 0) return { texts: ['-'] };
    return { texts: (isUnknown ? undefined : text(gpus)) ?? ['?'] };
  };
  const [first] = group;
  const since = group.flatMap((slot) => slot.since ?? []).toSorted()[0];
  const state = first === undefined ? 'unknown' : stateText(first);
  return [
    { texts: [foldNames(group.map(({ slot }) => slot))] },
    load((all) => [modelsOf(all), `${all.length}×`]),
    load((all) => each(all, 'temperatureC', (values) => [String(Math.max(...values))])),
    load(memoryTexts),
    load((all) =>
      each(all, 'utilizationPercent', (values) => [`${Math.round(sum(values) / values.length)} %`]),
    ),
    { texts: [state], ...styled(state) },
    { texts: since === undefined ? ['?'] : sinceTexts(since, now) },
    { texts: jobTexts(first) },
  ];
}

function gpusOf({ gpus }: SlotDetail): readonly GpuDetail[] {
  return 'value' in gpus ? gpus.value : [];
}

/** Returns `2× H200`, or `?` where a GPU has no name. */
function modelsOf(gpus: readonly GpuDetail[]): string {
  return [...Map.groupBy(gpus, ({ name }) => (name === undefined ? '?' : modelOf(name)))]
    .map(([model, group]) => (group.length === 1 ? model : `${group.length}× ${model}`))
    .join(', ');
}

/** Returns the text of a value of all GPUs; undefined: it is unknown of one. */
function each<T>(
  gpus: readonly GpuDetail[],
  load: 'temperatureC' | 'memoryUsedMiB' | 'memoryTotalMiB' | 'utilizationPercent',
  text: (values: readonly number[]) => T,
): T | undefined {
  const values = gpus.flatMap((gpu) => gpu[load] ?? []);
  return values.length === gpus.length ? text(values) : undefined;
}

function memoryTexts(gpus: readonly GpuDetail[]): Cell['texts'] {
  const gib = (load: 'memoryUsedMiB' | 'memoryTotalMiB') =>
    each(gpus, load, (values) => gibOf(sum(values))) ?? '?';
  const text = `${gib('memoryUsedMiB')}/${gib('memoryTotalMiB')}`;
  return [text === '?/?' ? '?' : text];
}

/** Returns whole GiB, or tenths of a few: some hundred MiB are not nothing. */
function gibOf(mib: number): string {
  const gib = mib / 1024;
  return String(gib < 10 ? Math.round(gib * 10) / 10 : Math.round(gib));
}

function sum(values: readonly number[]): number {
  return values.reduce((all, value) => all + value, 0);
}

const stateNames: Readonly<Record<string, string>> = { stopping: 'draining', 'backing-off': 'waiting' };

/** Returns the state with what the pool shows of the agent, where that differs. */
export function stateText({ state, azure, disabled }: SlotDetail): string {
  const shown = 'unknown' in state ? 'unknown' : (stateNames[state.value] ?? state.value);
  const isGone = azure === 'offline' || azure === 'not registered';
  const isExpected = !['idle', 'busy', 'unknown'].includes(shown);
  const more = [
    ...(isGone && !isExpected ? [azure] : []),
    ...(disabled === true && !isExpected ? ['disabled'] : []),
  ];
  return [shown, ...more].join(', ');
}

function styled(state: string): { readonly style?: Style } {
  if (state === 'idle' || state === 'busy') return {};
  return { style: state === 'quarantined' || state.startsWith('unknown') ? 'red' : 'yellow' };
}

/** Returns the time without its date if that is today. */
function sinceTexts(since: string, now: number): Cell['texts'] {
  const at = Date.parse(since);
  if (Number.isNaN(at)) return ['?'];
  const [day, today] = [at, now].map((time) => new Date(time).toISOString());
  const minute = day?.slice(5, 16).replace('T', ' ') ?? '?';
  return day?.slice(0, 10) === today?.slice(0, 10) ? [minute.slice(6)] : [minute];
}

/** Returns the job, or why the slot has none. Of a busy slot whose job has no name yet it is unknown. */
function jobTexts(slot: SlotDetail | undefined): Cell['texts'] {
  const isUnknown = slot === undefined || 'unknown' in slot.state || slot.state.value === 'busy';
  const text = slot?.job ?? (isUnknown ? '?' : (slot.cause ?? ''));
  const shorter = [40, 28, 20, 14, 8].filter((length) => length < text.length);
  return [text, ...shorter.map((length) => `${text.slice(0, length - 1).trimEnd()}…`)];
}

/** Returns why values are unknown, each reason once. */
function unknownLines(slots: readonly SlotDetail[], options: ScreenOptions): string[] {
  const reasons = slots.flatMap((slot) => [
    ...('unknown' in slot.state ? [{ slot, why: slot.state.unknown }] : []),
    ...gpusOf(slot).flatMap(({ unknown }) => (unknown === undefined ? [] : [{ slot, why: unknown }])),
    ...('value' in slot.state && slot.state.value === 'busy' && slot.job === undefined
      ? [{ slot, why: 'no name of the job yet' }]
      : []),
  ]);
  return [...Map.groupBy(reasons, ({ why }) => why)].flatMap(([why, group]) => {
    const names = foldNames(group.map(({ slot }) => slot.slot));
    return labelled('?', `unknown of slot ${names}: ${why}`, options);
  });
}

function factLines({ row, detail, queues, jobs }: HostScreen, options: ScreenOptions): string[] {
  return [
    ...factTexts(row, detail).flatMap(([label, text]) => labelled(label, text, options)),
    ...poolTexts(detail, queues).flatMap((text) => labelled('pool', text, options)),
    ...(jobs === undefined ? [] : labelled('jobs', jobs.what, options)),
  ];
}

/** Returns software, images and free space with their labels. */
export function factTexts(row: StatusRow, detail: HostDetail): readonly (readonly [string, string])[] {
  const images = known(detail.images, (all) => all.map(imageText));
  return [
    ['software', softwareText(row, detail)],
    ...images.map((text) => ['image', text] as const),
    ['disk', known(detail.disk, (all) => [all.map(volumeText).join(', ')]).join('')],
  ];
}

function known<T>(value: Known<T>, texts: (value: T) => readonly string[]): readonly string[] {
  return 'unknown' in value ? [`unknown (${value.unknown})`] : texts(value.value);
}

function softwareText(row: StatusRow, { driver, cuda, docker, toolkit }: HostDetail): string {
  if (row.os === undefined) return 'unknown (host not read)';
  const version = (value: Known<string | null>) => known(value, (text) => [text ?? 'none']).join('');
  const max = cuda === undefined ? '' : ` (CUDA ${cuda})`;
  return [
    osTexts(row.os)[0],
    `driver ${version(driver)}${max}`,
    `Docker ${version(docker)}`,
    `toolkit ${version(toolkit)}`,
    `manager ${managerText(row)}`,
  ].join(', ');
}

function managerText({ manager, unknown = [] }: StatusRow): string {
  const [unread] = unreadOf({ unknown }, 'manager');
  if (manager === undefined || unread !== undefined) return `unknown (${unread?.fact}: ${unread?.why})`;
  const { version, state = 'none' } = manager;
  return version === undefined ? state : `${version}${state === 'active' ? '' : ` (${state})`}`;
}

type Image = Extract<HostDetail['images'], { value: unknown }>['value'][number];

/** `all`: the images of the host. The slots are named if there are several. */
function imageText({ reference, digest, state, slots }: Image, _: number, all: readonly Image[]): string {
  const id = digest?.replace(/^(sha256:[\da-f]{12})[\da-f]+$/, '$1') ?? 'digest unknown (not reported)';
  const where = all.length === 1 ? '' : `, slots ${foldNames(slots)}`;
  return `${reference ?? 'reference unknown (not reported)'}, ${id}, ${state}${where}`;
}

function volumeText({
  mount,
  freeBytes,
  folders,
}: {
  readonly mount: string;
  readonly freeBytes: number;
  readonly folders: readonly string[];
}): string {
  const isDocker = folders.some((folder) => folder.includes('/docker') || folder.includes('/containerd'));
  return `${Math.floor(freeBytes / 1024 ** 3)} GiB free on ${mount}${isDocker ? ' (Docker)' : ''}`;
}

function poolTexts({ slots }: HostDetail, queues: readonly PoolQueue[]): readonly string[] {
  return [...Map.groupBy(slots, ({ pool }) => pool)].map(([pool, here]) => {
    const queue = queues.find((each) => each.pool === pool);
    const online = here.filter(({ azure }) => azure === 'online').length;
    const disabled = here.filter((slot) => slot.disabled === true).length;
    const agents = `${online}/${here.length} agents online${disabled === 0 ? '' : `, ${disabled} disabled`}`;
    const isUnread = here.some(({ azure }) => azure === undefined);
    // The name of a pool may depend on facts of the host.
    if (queue === undefined) return `${pool}: ${isUnread ? 'unknown (pool not read)' : 'no such pool'}`;
    return `${pool}: ${isUnread ? 'agents unknown' : agents}; ${queueText(queue)}`;
  });
}

/** Returns the pages of the jobs. */
function linkLines(slots: readonly SlotDetail[], { links }: Density, options: ScreenOptions): string[] {
  const found = slots.flatMap(({ slot, link }) => (link === undefined ? [] : [{ slot, link }]));
  const groups = Map.groupBy(found, ({ slot, link }) => (links === 'each' ? slot : link.replace(/\d+$/, '')));
  return [...groups].flatMap(([start, group]) => {
    const [first] = group;
    if (group.length === 1) return labelled(`slot ${first?.slot}`, first?.link ?? '', options);
    const numbers = group.map(({ slot, link }) => `${slot}: ${link.slice(start.length)}`);
    return labelled('links', `${start}N, N of slot ${numbers.join(', ')}`, options);
  });
}

function drainLines({ row, detail }: HostScreen, options: ScreenOptions): string[][] {
  const { drains } = detail;
  if ('unknown' in drains) return [labelled('drains', `unknown (${drains.unknown})`, options)];
  if (drains.value.length === 0) return [labelled('drains', 'none', options)];
  return drains.value.map((drain) => [
    ...labelled('drain', drainLine(drain), options),
    // A run's drain is a problem, which has the next action.
    ...(drain.run === undefined ? nextLines(drainEnd(drain, row.host), options) : []),
  ]);
}

function problemLines({ row }: HostScreen, { problems }: Density, options: ScreenOptions): string[][] {
  const all = hostTroubles([row]);
  const more = all.length - problems;
  return [
    ...all
      .slice(0, problems)
      .map((trouble) => [
        ...troubleLines({ ...trouble, next: '' }, options),
        ...seenLines(trouble, row, options),
        ...nextLines(trouble.next, options),
      ]),
    ...(more > 0
      ? [labelled('', `and ${count(more, 'problem')} more: azp-fleet status ${row.host} --json`, options)]
      : []),
  ];
}

/** Returns where a problem was seen, and when. */
function seenLines({ code = '' }: Trouble, { checkedAt }: StatusRow, options: ScreenOptions): string[] {
  const [family = ''] = code.split('.');
  if (!['gpu', 'xid', 'smi', 'cuda'].includes(family)) return [];
  const at = checkedAt === undefined ? undefined : minuteOf(checkedAt);
  return labelled('  seen', `GPU check, ${at ?? 'at an unknown time'}`, options);
}

function nextLines(text: string, { width, paint }: ScreenOptions): string[] {
  if (text === '') return [];
  return wrapNext(text, width - 1, labelWidth).map((line, index) =>
    index === 0 ? `${paint('dim', padded('  next', labelWidth))}${line}` : line,
  );
}

const labelWidth = 10;

function labelled(label: string, text: string, { width, paint }: ScreenOptions): string[] {
  return wrap(text, width - 1, labelWidth, labelWidth).map((line, index) =>
    index === 0 ? `${paint('dim', padded(label, labelWidth))}${line}` : line,
  );
}
