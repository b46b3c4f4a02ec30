import { foldNames } from '../../fleet/inventory/fold-names.ts';
import { compareVersions } from '../../fleet/packages/version.ts';
import type { EditedValue } from '../../fleet/upgrade/edit.ts';
import { type Configured, type PartName, partNames, type PartRow } from '../../fleet/upgrade/parts.ts';
import type { Reading } from '../../shared/base/reading.ts';
import type { Support } from '../../shared/base/support-dates.ts';
import type { Paint, Style } from './color.ts';
import { wrap } from './lines.ts';
import { type Cell, type Column, tableLines } from './table.ts';
import { merged, troubleLines } from './trouble.ts';

/** The parts of one host. */
export interface HostParts {
  readonly host: string;
  readonly parts: readonly PartRow[];
}

interface Page {
  readonly width: number;
  readonly paint: Paint;
}

const columns: readonly Column[] = [
  { heading: ['part'], yields: 9 },
  { heading: ['installed'], yields: 3 },
  { heading: ['configured'], yields: 1 },
  { heading: ['offered'], yields: 2 },
  { heading: ['support'], yields: 4 },
  { heading: ['hosts'], yields: 9 },
];

/** Returns one table by parts; hosts that are alike share a row. Below it, why offers are unknown. */
export function partsText(hosts: readonly HostParts[], page: Page): string {
  const rows = partNames.flatMap((part) => rowsOf(part, hosts));
  const reasons = merged(
    hosts.flatMap(({ host, parts }) =>
      parts.flatMap(({ part, installed, offered }) =>
        [
          installed.kind === 'unknown' ? `installed ${part} unknown: ${installed.why}` : undefined,
          offered.kind === 'unknown' ? `offered ${part} unknown: ${offered.why}` : undefined,
        ].flatMap((what) =>
          what === undefined ? [] : [{ places: [host], severity: 'info' as const, what, next: '' }],
        ),
      ),
    ),
  );
  return [
    ...tableLines(columns, rows, page),
    ...(reasons.length === 0 ? [] : ['', ...reasons.flatMap((each) => reasonLines(each, page))]),
    '',
    ...wrap('Nothing was changed. To upgrade: azp-fleet upgrade PART HOST… --to VERSION', page.width, 0, 0),
    '',
  ].join('\n');
}

function reasonLines(trouble: Parameters<typeof troubleLines>[0], page: Page): readonly string[] {
  return troubleLines(trouble, page).filter((line) => line.trim() !== '' && !/next:\s*$/.test(line));
}

function rowsOf(part: PartName, hosts: readonly HostParts[]): readonly (readonly Cell[])[] {
  const found = hosts.flatMap(({ host, parts }) =>
    parts.flatMap((row) => (row.part === part ? [{ host, row }] : [])),
  );
  const alike = Map.groupBy(found, ({ row }) => JSON.stringify(row));
  return [...alike.values()].flatMap((same) => {
    const row = same[0]?.row;
    return row === undefined
      ? []
      : [[...cellsOf(row), { texts: [foldNames(same.map(({ host }) => host))] as const }]];
  });
}

function cellsOf({ part, installed, configured, offered, support }: PartRow): readonly Cell[] {
  return [
    { texts: [part] },
    { texts: [readingText(installed)] },
    configuredCell(configured),
    offeredCell(offered, installed, part),
    supportCell(support),
  ];
}

function readingText(reading: Reading<string>): string {
  if (reading.kind === 'value') return reading.value;
  return reading.kind === 'absent' ? 'none' : 'unknown';
}

function configuredCell({ version = '', orNewer, left }: Configured): Cell {
  if (left !== undefined) return { texts: [left, 'left alone'] };
  return orNewer === true ? { texts: [`${version} or newer`, `${version}+`] } : { texts: [version] };
}

/** The newest release, and the newest of the installed line where that is another one. */
function offeredCell(offered: PartRow['offered'], installed: Reading<string>, part: PartName): Cell {
  if (offered.kind === 'unknown') return { texts: ['unknown'] };
  const [newest = 'none'] = offered.value;
  const line = part === 'driver' && installed.kind === 'value' ? installed.value.split('.')[0] : undefined;
  const own = offered.value.find((version) => version.split('.')[0] === line);
  if (own !== undefined && own !== newest) return { texts: [`${own}, ${newest}`, newest] };
  const isNewer = installed.kind === 'value' && compareVersions(newest, installed.value) > 0;
  return { texts: [newest], ...(isNewer ? { style: 'bold' as const } : {}) };
}

const styles: Readonly<Record<Support['state'], Style | undefined>> = {
  supported: undefined,
  ending: 'yellow',
  ended: 'red',
  unknown: 'dim',
};

function supportCell(support: Support | undefined): Cell {
  if (support === undefined) return { texts: ['-'] };
  const { state, ends } = support;
  const words = { supported: 'until', ending: 'ends', ended: 'ended', unknown: 'unknown' };
  const style = styles[state];
  return {
    texts: [[words[state], ends ?? ''].join(' ').trim()],
    ...(style === undefined ? {} : { style }),
  };
}

/** Returns the lines on the values that an upgrade writes into the inventory; hosts with the same value are one line. */
export function editLines(
  file: string,
  edits: readonly EditedValue[],
  { width, paint }: Page,
): readonly string[] {
  if (edits.length === 0) return [];
  const alike = Map.groupBy(edits, ({ place, part, to }) =>
    place.startsWith('hosts.') ? `${part} ${to}` : `${place} ${part} ${to}`,
  );
  const lines = [...alike.values()].map((same) => {
    const [first] = same;
    const hosts = same.map(({ place }) => place.replace(/^hosts\./, ''));
    const place = first?.place.startsWith('hosts.') === true ? `hosts: ${foldNames(hosts)}` : first?.place;
    return `${first?.part} ${first?.to} at ${place}`;
  });
  return [
    paint('bold', `${file}, once the first hosts work`),
    ...lines.flatMap((line) =>
      wrap(line, width, 4, 6).map((text, index) =>
        index === 0 ? `  ${paint('yellow', '~')} ${text}` : text,
      ),
    ),
  ];
}
