import { sh } from '../../shared/base/shell.ts';
import type { Vendor } from './vendors.ts';

/** A source of others that ours stands in the place of. */
export interface SetAside {
  /** As its owner calls it. */
  readonly file: string;
  /** What it is called now. */
  readonly aside: string;
}

/** How a source ends that was switched off for a vendor's: apt and dnf pass over it, and it tells whose doing that was. */
export function asideEnding(vendor: Vendor): string {
  return `.azp-fleet-${vendor}.disabled`;
}

/** Shell text: switches off the source `$other`. */
export function setAside(vendor: Vendor): string {
  return sh`mv "$other" "$other"${asideEnding(vendor)}`;
}

/** Script: gives sources back as they were. What has its name again meanwhile is left alone. */
export function giveBack(sources: readonly SetAside[]): string {
  return [
    ...sources.map(
      ({ file, aside }) => sh`if [ ! -e ${file} ] && [ -e ${aside} ]; then mv ${aside} ${file}; fi`,
    ),
    'rm -f /run/azp-fleet/package-lists',
  ].join('\n');
}
