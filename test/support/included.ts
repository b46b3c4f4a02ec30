import { sha256 } from '../../src/shared/base/digest.ts';
import type { PackageSet, Included } from '../../src/fleet/steps/bundle/content.ts';
import { index as dnfIndex } from './dnf-index.ts';

const file = (name: string) => ({
  kind: 'file' as const,
  file: '/bundle',
  sha256: sha256(name),
  size: 1_500_000,
  gunzip: false,
  part: { start: 512, bytes: 1_500_000 },
});

/** Index of a bundle with two packages. */
export const index = `Package: docker-ce
Version: 5:29.7.2-1~debian.12~bookworm
Architecture: amd64
Filename: ./pool/docker-ce_29.7.2-1_amd64.deb
Size: 1500000
SHA256: ${sha256('docker-ce')}

Package: gcc
Version: 4:12.2.0-3
Architecture: amd64
Filename: ./pool/gcc_12.2.0-3_amd64.deb
Size: 1500000
SHA256: ${sha256('gcc')}
`;

const ofApt: PackageSet = {
  index,
  packages: [
    { file: 'docker-ce_29.7.2-1_amd64.deb', artifact: file('docker-ce') },
    { file: 'gcc_12.2.0-3_amd64.deb', artifact: file('gcc') },
  ],
};
const ofDnf: PackageSet = {
  index: dnfIndex,
  packages: [
    { file: 'docker-ce-29.7.2-1.el9.x86_64.rpm', artifact: file('docker-ce') },
    { file: 'passt-0^20240806-2.el9.x86_64.rpm', artifact: file('passt') },
  ],
};

/** A bundle with packages for one system and these images. */
export function includedOf(
  images: readonly string[],
  system = 'debian-12',
  agents: readonly string[] = [],
): Included {
  return {
    rebuild: 'make it again where there is a network: azp-fleet bundle inventory.yaml -o site.bundle',
    context: Buffer.from('context'),
    packages: ({ id, versionId, machine }) =>
      `${id}-${versionId}` === system && machine === 'x86_64'
        ? /^(debian|ubuntu)/.test(system)
          ? ofApt
          : ofDnf
        : undefined,
    image: (reference) => (images.includes(reference) ? { archive: file(reference) } : undefined),
    images: () => images,
    agent: (sha256) => (agents.includes(sha256) ? file(sha256) : undefined),
  };
}
