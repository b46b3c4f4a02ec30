import { dirname } from 'node:path';

import { sh } from '../../shared/base/shell.ts';

/** On the host. */
export const recordFile = '/var/lib/azp-fleet/package-record';
const folder = dirname(recordFile);

/** What is taken away from a host only where it is asked for by its own name. */
export const partNames = ['toolkit', 'docker', 'driver'] as const;
export type PartName = (typeof partNames)[number];

const kinds = ['part', 'theirs', 'kept', 'brought', 'held'] as const;

/** What we have done to packages of a host, in its own file there. Names are without their architecture. */
export interface PackageRecord {
  /** It knows of these: what it does not name of them is not ours. */
  readonly part: readonly PartName[];
  /** Were there when we came. */
  readonly theirs: readonly string[];
  /** Of those the ones that somebody had held. */
  readonly kept: readonly string[];
  /** Came with us: names, or shell patterns of names where nobody could say beforehand what would come. */
  readonly brought: readonly string[];
  /** Of theirs the ones that we hold. */
  readonly held: readonly string[];
}

/** Of its own file the record is read so far: ours have some hundred lines of at most a hundred characters. */
export const longestRecord = 65_536;

/** A line for each thing, in a fixed order. */
export function recordLines(record: PackageRecord): string[] {
  return kinds.flatMap((kind) => [...new Set(record[kind])].map((value) => `${kind} ${value}`));
}

/** What stands in the file; undefined: there is none. Whatever is not understood is left out. */
export function readRecord(text: string): PackageRecord | undefined {
  if (text === '') return undefined;
  const all = (kind: (typeof kinds)[number]) => {
    const line = new RegExp(String.raw`^${kind} ([A-Za-z0-9*][A-Za-z0-9+._*-]{0,100})$`, 'gm');
    return [...new Set([...text.matchAll(line)].map(([, value = '']) => value))];
  };
  const named = all('part');
  return {
    part: partNames.filter((part) => named.includes(part)),
    theirs: all('theirs'),
    kept: all('kept'),
    brought: all('brought'),
    held: all('held'),
  };
}

/**
 * Shell text that comes before what it tells of: the lines that the file lacks are on the disk when it ends, or the script
 * ends with it.
 */
export function noteScript(lines: readonly string[]): string {
  return sh`lacking=$(printf '%s\n' ${lines} | while read -r line; do grep -qsxF "$line" ${recordFile} || echo "$line"; done)
if [ -n "$lacking" ]; then
  install -d -m 0700 ${folder}
  { cat ${recordFile} 2>/dev/null || :; printf '%s\n' "$lacking"; } >${recordFile}.new
  sync ${recordFile}.new
  mv ${recordFile}.new ${recordFile}
  sync ${folder}
fi`;
}

/** Script: of the record these lines stay; none: it goes. */
export function reduceScript(lines: readonly string[]): string {
  if (lines.length === 0) return sh`rm -f ${recordFile}`;
  return sh`printf '%s\n' ${lines} >${recordFile}.new
sync ${recordFile}.new
mv ${recordFile}.new ${recordFile}`;
}
