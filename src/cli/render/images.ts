import type { Bases } from '../../shared/image/choose.ts';
import type { BuiltImage } from '../../fleet/client/image-build.ts';
import type { ImageStatus } from '../../shared/contract/status.ts';
import type { ImageRow, Wanted } from '../../fleet/status/image.ts';
import { foldNames } from '../../fleet/inventory/fold-names.ts';
import type { Paint } from './color.ts';
import { alike } from './groups/alike.ts';
import { wrap } from './lines/wrap.ts';
import { columns } from './table.ts';

/** The offered bases, newest first, with what each asks of driver and GPUs. */
export function baseTable({ cuda, cpu, repository, flavour, arch }: Bases, width: number): string {
  const rows = cuda.map(({ version, os, minCc, belowCc }) => [
    version.split('.').slice(0, 2).join('.'),
    `${repository}:${version}-${flavour}-${os[0] ?? ''}`,
    belowCc === undefined ? `${minCc} and up` : `${minCc} to below ${belowCc}`,
    os.join(', '),
  ]);
  const all = [['CUDA', 'BASE', 'COMPUTE CAPABILITY', 'SYSTEMS'], ...rows, ['-', cpu.tag, 'no GPU', cpu.os]];
  return `${columns(all, width).join('\n')}\n\nAll for ${arch.join(' and ')}. A host gets the newest that its driver's CUDA allows.\n`;
}

/** Each host: the image it gets, why, and what is there. */
export function imageText(
  rows: readonly ImageRow[],
  options: { readonly width: number; readonly paint: Paint },
): string {
  const told = rows.map((row) => ({ host: row.host, value: partsOf(row) }));
  return `${alike(told)
    .map(({ hosts, value }) => imageLines(hosts, value, options).join('\n'))
    .join('\n\n')}\n`;
}

/** Label and text by turns; a text without a label belongs to what is above it. */
function partsOf({
  problem,
  wanted,
  dockerfile,
  slots = [],
  present,
  archives = [],
  others = [],
}: ImageRow): readonly (readonly string[])[] {
  return [
    ...(problem === undefined
      ? []
      : [
          ['problem', problem.what],
          ['next', problem.next ?? ''],
        ]),
    ...(wanted === undefined ? [] : wantedParts(wanted)),
    ...(dockerfile === undefined ? [] : [['on top', topText(dockerfile)]]),
    ...slots.map(({ slot, image }) => [`slot ${slot}`, `${image} (named by the inventory)`]),
    ...(present === undefined ? [] : [['on host', presentText(present)]]),
    ...(present?.pushed === undefined ? [] : [['pushed', present.pushed]]),
    ...(present?.output ?? []).map((line) => ['', line]),
    ...others.map((image) => ['', presentText(image)]),
    ...archives.map(({ archive, sha256, at }) => [
      'agent',
      `${archive}, first seen ${at.slice(0, 10)} and held to that since: sha256 ${sha256}`,
    ]),
  ];
}

function imageLines(
  hosts: readonly string[],
  told: ReturnType<typeof partsOf>,
  { width, paint }: { readonly width: number; readonly paint: Paint },
): string[] {
  const lines = told.flatMap(([label = '', text = '']) =>
    wrap(text, width - 1, 11, 11).map((line, index) =>
      index === 0 ? `  ${paint('dim', label.padEnd(9))}${line}` : line,
    ),
  );
  return [...wrap(foldNames(hosts), width - 1, 0, 0).map((line) => paint('bold', line)), ...lines];
}

function wantedParts(wanted: Wanted): readonly (readonly string[])[] {
  if (wanted.kind !== 'chosen') return [[wanted.kind, `${wanted.reference} (named by the inventory)`]];
  const { choice } = wanted;
  return choice.ok
    ? [
        ['base', choice.tag],
        ['because', choice.why],
      ]
    : [
        ['problem', choice.what],
        ['next', choice.next],
      ];
}

function topText({ folder, builder, push }: NonNullable<ImageRow['dockerfile']>): string {
  return builder === undefined ? folder : `${folder}, built by ${builder} and pushed to ${push}`;
}

function presentText({ state, reference, digest, cause, progress }: ImageStatus): string {
  const rest = cause ?? progress ?? digest?.slice(0, 19);
  return [reference ?? '', state, rest === undefined ? '' : `(${rest})`]
    .filter((part) => part !== '')
    .join(' ');
}

/** What a host's build or pull has come to. */
export function builtText(host: string, { reference, digest, isNew }: BuiltImage): string {
  const outcome = isNew ? 'idle agents move to it, busy ones after their job' : 'the same as before';
  return `${host}: ${reference} (${digest.slice(0, 19)}): ${outcome}\n`;
}
