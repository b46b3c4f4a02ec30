import { allVendors, type Vendor } from '../vendors.ts';

export function sourceFile(vendor: Vendor): string {
  return `/etc/apt/sources.list.d/azp-fleet-${vendor}.sources`;
}

/** apt goes by the ending: `.gpg` is binary, `.asc` is text. */
export function keyFile(vendor: Vendor): string {
  return `/etc/apt/keyrings/azp-fleet-${vendor}.${vendor === 'nvidia' ? 'gpg' : 'asc'}`;
}

/** What of Debian's archive beside main the driver needs, by where it is from. */
export const componentFiles = {
  repo: '/etc/apt/sources.list.d/azp-fleet-contrib.sources',
  distro: '/etc/apt/sources.list.d/azp-fleet-non-free.sources',
} as const;

export const siteCaFile = '/usr/local/share/ca-certificates/azp-fleet-site.crt';

export const aptFolders: readonly string[] = [
  '/etc/apt/sources.list.d',
  '/etc/apt/keyrings',
  '/usr/local/share/ca-certificates',
];

export const aptFiles: readonly string[] = [
  ...allVendors.flatMap((vendor) => [sourceFile(vendor), keyFile(vendor)]),
  componentFiles.distro,
  siteCaFile,
];
