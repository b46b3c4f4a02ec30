import { enterpriseMirror } from './enterprise-repository.ts';
import { type Release, releases } from './paths.ts';

/**
 * A Debian that is dressed up as another system, with that system's package manager on it. Its folder in practice/images
 * is laid over the image of a host. What is real, and what is not, says the folder's Dockerfile.
 */
export interface Dress {
  readonly of: Release;
  /** Debian's packages that it has beside those of every host. */
  readonly packages: readonly string[];
  /** Has the lab's mirror serve what such a system installs, built in its bare image; returns arguments of its Dockerfile. */
  readonly prepare: (image: string) => Promise<Readonly<Record<string, string>>>;
}

export const dressed = {
  rocky9: {
    of: 'bookworm',
    packages: 'dnf dnf-plugins-core rpm createrepo-c curl gnupg python3 libdevmapper1.02.1 libseccomp2'.split(
      ' ',
    ),
    prepare: enterpriseMirror,
  },
} as const satisfies Readonly<Record<string, Dress>>;

export type DressedRelease = keyof typeof dressed;
/** What a lab host may be. */
export type HostRelease = Release | DressedRelease;
export const hostReleases: readonly HostRelease[] = [
  ...releases,
  ...(Object.keys(dressed) as DressedRelease[]),
];

export function isDressed(release: HostRelease): release is DressedRelease {
  return release in dressed;
}
