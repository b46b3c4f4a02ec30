import type { Mount } from '../../offline/mount.ts';

interface Named {
  readonly id: string;
  readonly versionId: string;
}

/**
 * Whoever makes the system keeps its image. Rocky's own are not Docker's official ones, which ended with 9.3
 * (rocky-linux/sig-cloud-instance-images, issue 57).
 */
const images: Readonly<Record<string, string>> = {
  almalinux: 'almalinux:',
  amzn: 'amazonlinux:',
  ol: 'oraclelinux:',
  rhel: 'redhat/ubi',
  rocky: 'rockylinux/rockylinux:',
};

export function imageOf({ id, versionId }: Named): string {
  const image = images[id];
  if (image === undefined) throw new Error(`no image of ${id}`);
  return `${image}${versionId}`;
}

/**
 * Red Hat's image has no headers of kernels, and what its repositories need besides stands in the subscription of the machine
 * that it runs on: dnf's plugin in the image reads it there (containers-common, `mounts.conf`).
 */
export function subscription({ id }: Named): readonly Mount[] {
  if (id !== 'rhel') return [];
  return [
    { source: '/etc/pki/entitlement', target: '/run/secrets/etc-pki-entitlement' },
    { source: '/etc/rhsm', target: '/run/secrets/rhsm' },
  ];
}
