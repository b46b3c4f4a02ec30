import { epelFiles } from './needs/epel.ts';
import { toolsetFiles, toolsetFolder } from './needs/toolset.ts';
import { allVendors, type Vendor } from '../vendors.ts';

/** Of the repository in dnf's own words, and of its file. */
export function repositoryId(vendor: Vendor): string {
  return `azp-fleet-${vendor}`;
}

export function sourceFile(vendor: Vendor): string {
  return `/etc/yum.repos.d/${repositoryId(vendor)}.repo`;
}

export function keyFile(vendor: Vendor): string {
  return `/etc/pki/rpm-gpg/${repositoryId(vendor)}`;
}

export const siteCaFile = '/etc/pki/ca-trust/source/anchors/azp-fleet-site.crt';

export const dnfFolders: readonly string[] = [
  '/etc/yum.repos.d',
  '/etc/pki/rpm-gpg',
  '/etc/pki/ca-trust/source/anchors',
  '/etc/dnf/plugins',
  toolsetFolder,
];

export const dnfFiles: readonly string[] = [
  ...allVendors.flatMap((vendor) => [sourceFile(vendor), keyFile(vendor)]),
  ...epelFiles,
  ...toolsetFiles,
  siteCaFile,
];

/** What keeps packages at their version, a line a package: `docker-ce-3:29.7.2-1.el9.*`. */
export const lockList = '/etc/dnf/plugins/versionlock.list';
