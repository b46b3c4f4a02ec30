import { createHash } from 'node:crypto';

import type { PoolQueue } from '../../fleet/status/collect.ts';
import type { GpuDetail, HostDetail, SlotDetail } from '../../fleet/status/detail.ts';
import type { Known } from '../../fleet/status/series.ts';
import type { StatusRow } from '../../fleet/status/row.ts';
import type { GpuHistory, Series } from '../../fleet/status/series.ts';
import { ageText } from '../../fleet/verdict/sources.ts';
import { foreignLine } from '../../shared/base/foreign-text.ts';
import { drainLine, minuteOf } from '../../shared/contract/drain.ts';
import { factTexts, stateText } from './host-status.ts';
import { count } from './lines.ts';
import { pageScript, pageStyle } from './status-page-assets.ts';
import { hostCounts, hostTroubles, modelOf, queueText, worstFirst } from './status.ts';
import type { Trouble } from './trouble.ts';

/** One host of the page. */
export interface PageHost {
  readonly row: StatusRow;
  readonly detail: HostDetail;
  /** Absent: the host could not be read. */
  readonly history?: Known<GpuHistory>;
}

interface PageOptions {
  readonly queues: readonly PoolQueue[];
  /** How many jobs may run at once. */
  readonly jobs: Trouble | undefined;
  /** Problems of pools and of the run. */
  readonly problems: readonly string[];
  /** This machine's wall clock. */
  readonly now: number;
}

/** Text that is HTML already. */
class Html {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

type Part = Html | string | number | readonly Html[];

/** Builds HTML: every text in it is escaped, and cleaned of control characters. */
function markup(fixed: TemplateStringsArray, ...parts: readonly Part[]): Html {
  const shown = parts.map((part) => {
    if (part instanceof Html) return part.text;
    if (typeof part === 'object') return part.map(({ text }) => text).join('');
    return escaped(String(part));
  });
  return new Html(fixed.map((text, index) => text + (shown[index] ?? '')).join(''));
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escaped(text: string): string {
  return foreignLine(text, Number.POSITIVE_INFINITY).replaceAll(/[&<>"']/g, (sign) => entities[sign] ?? '');
}

const none = new Html('');

/** Returns a page of all hosts that needs no other file: style and script are in it, and its policy allows no others. Pure. */
export function statusPage(hosts: readonly PageHost[], options: PageOptions): string {
  const { queues, problems, jobs, now } = options;
  const at = new Date(now).toISOString();
  const notes = [...problems, ...(jobs === undefined || jobs.severity === 'info' ? [] : [jobs.what])];
  const groups = Map.groupBy(hosts, ({ row }) => row.verdict.state);
  const shown = worstFirst.filter((state) => groups.has(state));
  const counts = hostCounts(shown.flatMap((state) => groups.get(state) ?? []).map(({ row }) => row));
  const page = markup`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<link rel="icon" href="data:,">
<title>${counts}</title>
<style>${new Html(pageStyle)}</style>
</head>
<body>
<header>
<h1>${counts}</h1>
<p>As of <time datetime="${at}">${minuteOf(at) ?? at}</time></p>
${hosts.some(hasSeries) ? markup`<p class="facts">${legend}</p>` : none}
${queues.map((queue) => markup`<p>Queue of pool ${queue.pool}: ${queueText(queue)}</p>\n`)}
${notes.map((note) => markup`<p class="bad">${note}</p>\n`)}
<div id="find" hidden>
<label for="filter">Filter hosts</label>
<input id="filter" type="search" autocomplete="off" spellcheck="false" aria-describedby="keys">
<p id="keys">Keys: / filter, Esc clear, j and k next and previous host</p>
<p id="found" role="status"></p>
</div>
<nav aria-label="Verdicts"><ul>
${shown.map((state) => markup`<li><a href="#${state}">${groups.get(state)?.length ?? 0} ${state}</a></li>\n`)}
</ul></nav>
</header>
<main>
${shown.map((state) => groupSection(state, groups.get(state) ?? [], now))}
</main>
<script>${new Html(pageScript)}</script>
</body>
</html>
`;
  return page.text;
}

const digest = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
/** Nothing is loaded from anywhere; the icon is empty. */
const policy = `default-src 'none'; img-src data:; style-src ${digest(pageStyle)}; script-src ${digest(pageScript)}; base-uri 'none'; form-action 'none'`;

function groupSection(state: string, hosts: readonly PageHost[], now: number): Html {
  return markup`<section aria-labelledby="${state}">
<h2 id="${state}" class="${state}">${state.slice(0, 1).toUpperCase()}${state.slice(1)} (${hosts.length})</h2>
${hosts.map((host, index) => hostArticle(host, `${state}-${index}`, now))}
</section>
`;
}

const legend = 'Line of a GPU: utilization from 0 to 100 % over the last 24 hours; gaps are unknown';

function hasSeries({ history }: PageHost): boolean {
  return history !== undefined && 'value' in history && history.value.series.size > 0;
}

function hostArticle(
  { row, detail, history = { unknown: 'host not read' } }: PageHost,
  id: string,
  now: number,
): Html {
  const { host, verdict, oldest } = row;
  const age = oldest === undefined ? '' : `, ${ageText(oldest.ageS)} old`;
  const drains = 'value' in detail.drains ? detail.drains.value : [];
  const gpus = detail.slots.flatMap((slot) => gpuItems(slot, history, now));
  const facts = factTexts(row, detail).map(([label, text]) => `${label}: ${text}`);
  const list = markup`<ul class="gpus" aria-label="GPUs of ${host}">${gpus}</ul>`;
  return markup`<article class="host" tabindex="-1" aria-labelledby="${id}">
<h3 id="${id}">${host} <span class="${verdict.state}">${verdict.state}${age}</span></h3>
${hostTroubles([row]).map(troubleItem)}
${drains.map((drain) => markup`<p>${drainLine(drain)}</p>\n`)}
${gpus.length === 0 ? markup`<p>No slots known</p>` : list}
<p class="facts">${facts.join(' · ')}</p>
</article>
`;
}

function troubleItem({ what, next, code, severity }: Trouble): Html {
  const name = code === undefined ? '' : ` [${code}]`;
  const tone = severity === 'fail' ? 'bad' : 'warn';
  return markup`<p class="${tone}">${what}${name}</p>
${next === '' ? none : markup`<p class="next">Next: ${next}</p>`}
`;
}

/** Returns one tile for each GPU of a slot, or one for a slot whose GPUs are unknown, or that has none. */
function gpuItems(slot: SlotDetail, history: Known<GpuHistory>, now: number): readonly Html[] {
  if ('unknown' in slot.gpus) return [tile(slot, `GPUs unknown: ${slot.gpus.unknown}`, none, now)];
  if (slot.gpus.value.length === 0) return [tile(slot, 'no GPU', none, now)];
  return slot.gpus.value.map((gpu) => tile(slot, gpuName(gpu), loadOf(gpu, history), now));
}

function gpuName({ name, uuid, unknown }: GpuDetail): string {
  return name === undefined ? `${uuid}: ${unknown ?? 'unknown'}` : modelOf(name);
}

function tile(slot: SlotDetail, name: string, load: Html, now: number): Html {
  const began = Date.parse(slot.since ?? '');
  const since = Number.isNaN(began) ? '' : ` for ${ageText(Math.max(0, now - began) / 1000)}`;
  const job = slot.job ?? slot.cause ?? '';
  const link = slot.link !== undefined && /^https?:\/\//.test(slot.link) ? slot.link : undefined;
  const shown =
    link === undefined
      ? markup`${job}`
      : markup`<a href="${link}" rel="noreferrer">${job === '' ? link : job}</a>`;
  return markup`<li>
<p><strong>${slot.slot}</strong> ${name}</p>
${load}
<p>${stateText(slot)}${since}</p>
${job === '' && link === undefined ? none : markup`<p>${shown}</p>`}
</li>
`;
}

function loadOf(gpu: GpuDetail, history: Known<GpuHistory>): Html {
  const { utilizationPercent: used, temperatureC, memoryUsedMiB, memoryTotalMiB } = gpu;
  const value = (number: number | undefined): string =>
    number === undefined ? '?' : String(Math.round(number));
  const gib = (mib: number | undefined): string =>
    mib === undefined ? '?' : String(Math.round(mib / 102.4) / 10);
  return markup`<p>${value(used)} %, ${value(temperatureC)} °C, ${gib(memoryUsedMiB)}/${gib(memoryTotalMiB)} GiB</p>
${used === undefined ? none : bar(bounded(used))}
${historyOf(gpu, history)}
`;
}

/** The text beside it says the same. */
function bar(percent: number): Html {
  return markup`<svg class="bar" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
<rect width="100" height="4"/><rect class="used" width="${percent}" height="4"/>
</svg>`;
}

function bounded(percent: number): number {
  return Math.max(0, Math.min(100, Math.round(percent)));
}

/** Returns the line of a GPU, or that there is none yet, or why it is unknown. */
function historyOf({ uuid }: GpuDetail, history: Known<GpuHistory>): Html {
  const unknown = (why: string): Html => markup`<p class="facts">history unknown: ${why}</p>`;
  if ('unknown' in history) return unknown(history.unknown);
  if (uuid.startsWith('MIG-')) return unknown('nvidia-smi reports no utilization of MIG devices');
  const { series, omitted } = history.value;
  const values = series.get(uuid);
  if (values !== undefined) return sparkline(values) ?? unknown('utilization not reported');
  return omitted > 0 ? unknown('too many GPUs for one answer') : markup`<p class="facts">no history yet</p>`;
}

/** Returns a line for each stretch of known values, one of a single value is a dot; undefined: no value is known. */
function sparkline(series: Series): Html | undefined {
  const values = series.map((value) =>
    value === undefined || Number.isNaN(value) ? undefined : bounded(value),
  );
  const known = values.filter((value) => value !== undefined);
  if (known.length === 0) return undefined;
  const path = values.map((value, index) => {
    if (value === undefined) return '';
    const isFirst = values[index - 1] === undefined;
    return `${isFirst ? 'M' : 'L'}${index} ${100 - value}${isFirst ? 'h.1' : ''}`;
  });
  const width = Math.max(1, values.length - 1);
  return markup`<svg class="line" viewBox="0 0 ${width} 100" preserveAspectRatio="none" role="img" aria-label="${seriesText(values, known)}">
<path d="${path.join('')}"/>
</svg>`;
}

/** Returns the line in words, for screen readers. */
function seriesText(values: Series, known: readonly number[]): string {
  const mean = known.reduce((sum, value) => sum + value, 0) / known.length;
  const last = values.at(-1);
  const unknown = values.length - known.length;
  return [
    `Utilization in 24 hours: min ${Math.min(...known)} %`,
    `mean ${Math.round(mean)} %`,
    `max ${Math.max(...known)} %`,
    last === undefined ? 'last unknown' : `last ${last} %`,
    ...(unknown === 0 ? [] : [`${count(unknown, 'value')} unknown`]),
  ].join(', ');
}
