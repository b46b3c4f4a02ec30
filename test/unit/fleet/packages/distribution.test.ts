import { describe, expect, it } from 'vitest';

import { platformOf, unsupported } from '../../../../src/fleet/packages/distribution.ts';
import { allVendors } from '../../../../src/fleet/packages/vendors.ts';

const site = { mirrors: {}, proxy: { noProxy: [] } };
const host = (id: string, versionId: string, arch = 'x86_64') => ({
  os: { id, versionId, pretty: `${id} ${versionId}` },
  arch,
});

/** Hosts' os-release, and the folders of their packages: NVIDIA's, Docker's. */
const systems: readonly [string, string, string, string][] = [
  ['debian', '12', 'debian12', '/debian\nSuites: bookworm\n'],
  ['debian', '13', 'debian13', '/debian\nSuites: trixie\n'],
  ['ubuntu', '22.04', 'ubuntu2204', '/ubuntu\nSuites: jammy\n'],
  ['ubuntu', '24.04', 'ubuntu2404', '/ubuntu\nSuites: noble\n'],
  ['ubuntu', '26.04', 'ubuntu2604', '/ubuntu\nSuites: resolute\n'],
  ['rhel', '8.10', 'rhel8', '/rhel/8/'],
  ['rhel', '9.6', 'rhel9', '/rhel/9/'],
  ['rhel', '10.0', 'rhel10', '/rhel/10/'],
  ['rocky', '8.10', 'rhel8', '/centos/8/'],
  ['rocky', '9.4', 'rhel9', '/centos/9/'],
  ['rocky', '10.1', 'rhel10', '/centos/10/'],
  ['almalinux', '8.10', 'rhel8', '/centos/8/'],
  ['almalinux', '9.5', 'rhel9', '/centos/9/'],
  ['almalinux', '10.0', 'rhel10', '/centos/10/'],
  ['ol', '8.9', 'rhel8', '/centos/8/'],
  ['ol', '9.5', 'rhel9', '/centos/9/'],
  ['ol', '10.0', 'rhel10', '/centos/10/'],
  ['centos', '9', 'rhel9', '/centos/9/'],
  ['centos', '10', 'rhel10', '/centos/10/'],
  ['amzn', '2023', 'amzn2023', '/centos/9/'],
];

describe('the supported systems', () => {
  it.each(systems)('%s %s', (id, versionId, nvidia, docker) => {
    for (const [arch, folder] of [
      ['x86_64', 'x86_64'],
      ['aarch64', 'sbsa'],
    ] as const) {
      const platform = platformOf(host(id, versionId, arch));
      if (platform === undefined) throw new Error('not supported');
      const [driver = '', engine = '', toolkit = ''] = allVendors.map(
        (vendor) => platform.packages.source(vendor, platform, site).text,
      );
      expect(driver).toContain(
        `https://developer.download.nvidia.com/compute/cuda/repos/${nvidia}/${folder}\n`,
      );
      expect(engine).toContain(`https://download.docker.com/linux${docker}`);
      expect(toolkit).toMatch(/https:\/\/nvidia\.github\.io\/libnvidia-container\/stable\/(deb|rpm)\/\w+\n/);
    }
  });

  const upgrade = 'upgrade it to one of';
  it.each([
    [
      'ubuntu',
      '20.04',
      'it gets updates by a subscription only (ESM), and NVIDIA and Docker have no current packages for it',
      upgrade,
    ],
    ['debian', '11', 'its support has ended, and NVIDIA has no current driver packages for it', upgrade],
    ['rhel', '7.9', 'its support has ended', upgrade],
    ['amzn', '2', 'its support has ended', upgrade],
    [
      'fedora',
      '43',
      'a release has support for 13 months, and its kernels are newer than those that drivers are made for',
      'use',
    ],
    ['sles', '15.7', 'its package manager (zypper) is not supported', 'use'],
    ['opensuse-leap', '16.0', 'its package manager (zypper) is not supported', 'use'],
    ['opensuse-tumbleweed', '20261120', 'its package manager (zypper) is not supported', 'use'],
  ])('%s %s is refused, with the reason', (id, versionId, why, next) => {
    expect(platformOf(host(id, versionId))).toBeUndefined();
    expect(unsupported(host(id, versionId))).toEqual({
      what: `${id} ${versionId} is not supported: ${why}`,
      next: expect.stringMatching(`^${next} debian 12/13, ubuntu 22\\.04/24\\.04/26\\.04, `) as string,
    });
  });

  it.each([
    host('ubuntu', '24.10'),
    host('arch', '20261120'),
    host('rocky', '9.4', 'ppc64le'),
    host('rocky', '100'),
  ])('$os.pretty on $arch is not supported', (each) => {
    expect(platformOf(each)).toBeUndefined();
    expect(unsupported(each).what).toBe(`${each.os.pretty} on ${each.arch} is not supported`);
  });
});
