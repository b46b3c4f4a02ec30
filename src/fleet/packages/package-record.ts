import { dirname } from 'node:path';

import { sh } from '../../shared/base/shell.ts';

/** Path on the host. */
export const recordFile = '/var/lib/azp-fleet/package-record';
const folder = dirname(recordFile);

/** Parts of the stack that `remove` removes only by name. */
export const partNames = ['toolkit', 'docker', 'driver'] as const;
export type PartName = (typeof partNames)[number];

const kinds = ['part', 'theirs', 'kept', 'brought', 'held'] as const;

/** Which packages azp-fleet installed or held on a host, kept in a file there. Names have no architecture. */
export interface PackageRecord {
  /** Parts that the record covers: azp-fleet did not install packages of these that the record does not name. */
  readonly part: readonly PartName[];
  /** Installed before azp-fleet. */
  readonly theirs: readonly string[];
  /** Of those, the ones that were on hold. */
  readonly kept: readonly string[];
  /** Installed by azp-fleet: names, or shell patterns if the names were unknown before. */
  readonly brought: readonly string[];
  /** Of `theirs`, the ones that azp-fleet holds. */
  readonly held: readonly string[];
}

/** The most bytes that are read of the file. A record has some hundred lines of at most 100 characters. */
export const longestRecord = 65_536;

/** Returns the record's lines in a fixed order. */
export function recordLines(record: PackageRecord): string[] {
  return kinds.flatMap((kind) => [...new Set(record[kind])].map((value) => `${kind} ${value}`));
}

/** Parses the file; undefined: it does not exist. Lines that are not understood are ignored. */
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
 * Returns shell text that adds missing lines to the file and syncs them to the disk, before the script changes what they
 * describe. If that fails, the script ends.
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

/** Script: reduces the record to these lines, or removes it if there are none. */
export function reduceScript(lines: readonly string[]): string {
  if (lines.length === 0) return sh`rm -f ${recordFile}`;
  return sh`printf '%s\n' ${lines} >${recordFile}.new
sync ${recordFile}.new
mv ${recordFile}.new ${recordFile}`;
}
