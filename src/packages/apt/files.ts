import { allVendors, type Vendor } from '../vendors.ts';

export function sourceFile(vendor: Vendor): string {
  return `/etc/apt/sources.list.d/azp-fleet-${vendor}.sources`;
}

/** apt goes by the ending: `.gpg` is binary, `.asc` is text. */
export function keyFile(vendor: Vendor): string {
  return `/etc/apt/keyrings/azp-fleet-${vendor}.${vendor === 'nvidia' ? 'gpg' : 'asc'}`;
}

/** Of Debian's contrib, where NVIDIA's packages need it. */
export const contribFile = '/etc/apt/sources.list.d/azp-fleet-contrib.sources';

export const siteCaFile = '/usr/local/share/ca-certificates/azp-fleet-site.crt';

export const aptFolders: readonly string[] = [
  '/etc/apt/sources.list.d',
  '/etc/apt/keyrings',
  '/usr/local/share/ca-certificates',
];

export const aptFiles: readonly string[] = [
  ...allVendors.flatMap((vendor) => [sourceFile(vendor), keyFile(vendor)]),
  siteCaFile,
];
