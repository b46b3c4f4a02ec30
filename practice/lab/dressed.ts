import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

import { contents, digest } from './digest.ts';
import { docker } from './engine.ts';
import { enterpriseRepositories, kernels } from './enterprise-packages.ts';
import { withLock } from './lock.ts';
import { type Release, inState, labFiles, mirror, mirrorRoot, releases } from './paths.ts';
import { buildRepositories, writeRpmSource } from './rpm.ts';
import { say } from './say.ts';
import { armoredKey, signingHome } from './signing.ts';

/**
 * A Debian that looks like another system, with that system's package manager. Its folder in practice/images
 * is laid over the image of a host. What is real, and what is not, says the folder's Dockerfile.
 */
export interface Dress {
  readonly of: Release;
  /** Debian's packages in addition to those of every host. */
  readonly packages: readonly string[];
  /** Makes the lab's mirror serve the packages of such a system, built in its bare image; returns arguments of its Dockerfile. */
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
/** The kinds of lab hosts. */
export type HostRelease = Release | DressedRelease;
export const hostReleases: readonly HostRelease[] = [
  ...releases,
  ...(Object.keys(dressed) as DressedRelease[]),
];

export function isDressed(release: HostRelease): release is DressedRelease {
  return release in dressed;
}

/** Where each vendor keeps the key of its packages; that of the system comes with its image. */
const keys = [
  'docker/centos/gpg',
  'nvidia/rhel9/x86_64/repodata/repomd.xml.key',
  'rocky/9/RPM-GPG-KEY-Rocky-9',
];

/** Has the mirror serve Rocky's, EPEL's and the vendors' packages for release 9, built in `image`, unless it does. */
function enterpriseMirror(image: string): Promise<Readonly<Record<string, string>>> {
  return withLock('enterprise', async () => {
    const here = ['rpm.ts', 'dressed.ts', 'enterprise-packages.ts', 'nvidia-packages.ts'];
    const now = digest(
      image,
      ['gpu', 'rocky9/packaged'].map((folder) => contents(labFiles(folder))),
      here.map((name) => contents(join(import.meta.dirname, name))),
    );
    // In the mirror's folder, so that it is removed with the packages that it describes.
    const stamp = join(mirrorRoot, 'enterprise.digest');
    if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== now) {
      say('building the stand-in repositories of rpm packages');
      await build(image);
      writeFileSync(stamp, now);
      say('built the stand-in repositories of rpm packages');
    }
    return { MIRROR: mirror, KERNEL: kernels[0], PACKAGES: now };
  });
}

async function build(image: string): Promise<void> {
  const work = inState('rpm');
  rmSync(work, { recursive: true, force: true });
  const [sources, out] = [join(work, 'sources'), join(work, 'out')];
  const repositories = await enterpriseRepositories();
  for (const { path, rpms, modules } of repositories) {
    mkdirSync(join(sources, path), { recursive: true });
    for (const rpm of rpms) writeRpmSource(rpm, join(sources, path));
    if (modules !== undefined) writeFileSync(join(sources, path, 'modules.yaml'), modules);
  }
  mkdirSync(out);
  const folders = ['-v', `${work}:/rpms`, '-v', `${signingHome}:/gnupg`, '--env', 'GNUPGHOME=/gnupg'];
  const script = ['sh', '-c', buildRepositories, 'sh', '/rpms/sources', '/rpms/out'];
  await docker(['run', '--rm', '--network', 'none', ...folders, '--entrypoint', '', image, ...script]);
  for (const { path } of repositories) {
    const place = join(mirrorRoot, path);
    rmSync(place, { recursive: true, force: true });
    mkdirSync(join(place, '..'), { recursive: true });
    renameSync(join(out, path), place);
  }
  for (const key of keys) copyFileSync(armoredKey, join(mirrorRoot, key));
  rmSync(work, { recursive: true });
}
