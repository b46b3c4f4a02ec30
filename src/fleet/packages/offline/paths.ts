/** On a host that takes its packages from a bundle. They lie in `pool` below it. */
export const packagesFolder = '/var/lib/azp-fleet/packages';

/** Holds the digest of the index, once all that the index names is there. */
export const folderMark = `${packagesFolder}/mark`;
