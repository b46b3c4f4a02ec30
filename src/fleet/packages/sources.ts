import { Raw, sh } from '../../shared/base/shell.ts';
import type { PackageSource } from './package-manager.ts';
import type { Vendor } from './vendors.ts';

/** A vendor's package source as a host should have it. */
export interface SourceParts extends Omit<PackageSource, 'script'> {
  readonly uri: string;
  /** Extended regular expression: sources that match it, or name the URI, are for the same repository. */
  readonly supersedes: string;
  /** Source of the key. With apt: shell text that writes it into `$key`. With dnf: its address. */
  readonly key: string;
}

/** A source of the host's owner that is switched off, because that of azp-fleet replaces it. */
export interface SetAside {
  /** Its path before. */
  readonly file: string;
  /** Its path now. */
  readonly aside: string;
}

/** Returns the ending of a switched-off source: apt and dnf ignore such files, and it names the vendor. */
export function asideEnding(vendor: Vendor): string {
  return `.azp-fleet-${vendor}.disabled`;
}

/** Shell text: switches off the source `$other`. */
export function setAside(vendor: Vendor): Raw {
  return new Raw(sh`mv "$other" "$other"${asideEnding(vendor)}`);
}

/** Script: renames switched-off sources back, unless a file has the old name again. */
export function restoreSources(sources: readonly SetAside[]): string {
  return [
    ...sources.map(
      ({ file, aside }) => sh`if [ ! -e ${file} ] && [ -e ${aside} ]; then mv ${aside} ${file}; fi`,
    ),
    'rm -f /run/azp-fleet/package-lists',
  ].join('\n');
}

/** Shell text: switches off all other sources for the repository of `$file`. It needs `$uri` and `$supersedes`. */
export function switchOffOthers(vendor: Vendor, globs: string): string {
  return `for other in ${globs}; do
  if [ ! -e "$other" ] || [ "$other" = "$file" ]; then continue; fi
  if grep -Eq "$supersedes" "$other" || grep -Fq "$uri" "$other"; then
    echo "switching off $other: $file replaces it"
    ${setAside(vendor).text}
  fi
done`;
}

/** Shell text of a simulation: links the host's sources into `$sources`, without those that `replaced` replace. */
export function linkSources(globs: string, replaced: readonly SourceParts[]): string {
  return [
    `for other in ${globs}; do`,
    '  if [ ! -e "$other" ]; then continue; fi',
    ...replaced.map(
      ({ uri, file, supersedes }) =>
        sh`  if [ "$other" = ${file} ] || grep -Eq ${supersedes} "$other" || grep -Fq ${uri} "$other"; then continue; fi`,
    ),
    '  ln -s "$other" "$sources/"',
    'done',
  ].join('\n');
}

/** Removes files of a source; the package manager drops it when it reads its lists again. */
export function withdrawFiles(files: readonly string[]): {
  readonly files: readonly string[];
  readonly script: string;
} {
  return { files, script: sh`rm -f ${files} /run/azp-fleet/package-lists` };
}
