import type { Verdict } from '../../shared/health/verdict.ts';
import type { AgentCounts, AzureCounts, StatusRow } from '../../fleet/status/row.ts';
import type { Style } from './color.ts';
import type { Cell, Column } from './table.ts';

/** The verdict and the host stay whole longest: they are what one looks for. */
export const columns: readonly Column[] = [
  { heading: ['host'], yields: 99 },
  { heading: ['os'], yields: 2, optional: true },
  { heading: ['gpus'], yields: 97 },
  { heading: ['driver'], yields: 4, optional: true },
  { heading: ['docker'], yields: 3, optional: true },
  { heading: ['toolkit', 'tk'], yields: 6, optional: true },
  { heading: ['manager', 'mgr'], yields: 8, optional: true },
  { heading: ['agents'], yields: 5 },
  { heading: ['azure'], yields: 1, optional: true },
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

export function statusCells(row: StatusRow): readonly Cell[] {
  const { os, gpus, manager, verdict } = row;
  return [
    { texts: [row.host] },
    { texts: os === undefined ? ['-'] : osTexts(os) },
    { texts: gpus === undefined ? ['-'] : gpuTexts(gpus) },
    { texts: versionTexts(row.driver, 2, 1) },
    { texts: versionTexts(row.docker, 2, 1) },
    { texts: versionTexts(row.toolkit, 2) },
    managerCell(manager),
    row.drained ? { texts: ['drained'], style: 'yellow' } : localCell(row.local),
    azureCell(row.azure, row.local?.wanted),
    { texts: [verdict.state], style: verdictStyle[verdict.state] },
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

function osTexts({ id, version, pretty, arch }: NonNullable<StatusRow['os']>): Texts {
  const [name, short] = osNames[id] ?? [id === '' ? pretty : id, id.slice(0, 4)];
  const arm = arch === 'aarch64' ? ' arm64' : '';
  return [`${name} ${version}${arm}`.trim(), `${short}${version}`];
}

function gpuTexts({ count, names }: NonNullable<StatusRow['gpus']>): Texts {
  if (count === 0) return ['none', '0'];
  if (names.length === 0) return [String(count)];
  const list = (short: (name: string) => string): string =>
    [...Map.groupBy(names, short)].map(([name, group]) => `${group.length}× ${name}`).join(', ');
  return [list(model), list(family), String(count)];
}

/** `RTX 4080 SUPER`, `A100-SXM4-80GB`: the maker and the series say nothing that the number does not. */
function model(name: string): string {
  return name
    .replace(/^NVIDIA /, '')
    .replace(/^(?:GeForce|Tesla|Quadro) /, '')
    .replace(/ Generation$/, '');
}

/** `RTX 4080`, `A100`. */
function family(name: string): string {
  return /^(?:RTX )?[^\s-]+/.exec(model(name))?.[0] ?? name;
}

/** A version without the packagers' part, and its first parts. */
function versionTexts(version: string | undefined, ...parts: readonly number[]): Texts {
  if (version === undefined) return ['-'];
  const upstream = version.replace(/[+~-].*/, '');
  return [upstream, ...parts.map((count) => upstream.split('.').slice(0, count).join('.'))];
}

function managerCell(manager: StatusRow['manager']): Cell {
  if (manager === undefined) return { texts: ['-'] };
  if (manager.state === 'active') return { texts: [manager.version ?? 'active', 'ok'] };
  return { texts: [manager.state ?? 'absent', 'no'], style: 'red' };
}

function localCell(local: AgentCounts | undefined): Cell {
  if (local === undefined) return { texts: ['-'] };
  const { ready, wanted, busy } = local;
  const texts: Texts =
    busy === 0 ? [`${ready}/${wanted}`] : [`${ready}/${wanted}, ${busy} busy`, `${ready}/${wanted}`];
  return ready < wanted ? { texts, style: 'yellow' } : { texts };
}

function azureCell(azure: AzureCounts | undefined, wanted = azure?.registered ?? 0): Cell {
  if (azure === undefined) return { texts: ['?'] };
  const short = `${azure.online}/${wanted}`;
  const disabled = azure.disabled === 0 ? '' : `, ${azure.disabled} disabled`;
  const texts: Texts = [`${short} online${disabled}`, short];
  return azure.online < wanted || azure.disabled > 0 ? { texts, style: 'yellow' } : { texts };
}
