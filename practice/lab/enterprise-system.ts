import type { DebFile } from './deb.ts';
import { labFiles, mirror } from './paths.ts';
import type { Rpm } from './rpm.ts';

type Untaken = Omit<Rpm, 'takenFrom'>;
import { armoredKey } from './signing.ts';

/** The kernel that such a host is installed with, and the one that an upgrade brings. */
export const kernels = ['5.14.0-503.11.1.el9_5', '5.14.0-570.12.1.el9_6'] as const;

const epelKey = '/etc/pki/rpm-gpg/RPM-GPG-KEY-EPEL-9';
const text = (path: string, content: string): DebFile => ({ path, content: { text: content } });
const program = (path: string, source: string): DebFile => ({
  path,
  content: { copy: labFiles('rocky9', 'packaged', source) },
  executable: true,
});
const compiler = (name: string, version: string): Untaken => ({
  name,
  version,
  files: [{ path: `/usr/bin/${name}`, content: { text: '#!/bin/sh\nexit 1\n' }, executable: true }],
});

/** BaseOS, AppStream and extras in one. The kernels are files without code in them; containers’ tools hold nothing. */
const own: readonly Untaken[] = [
  {
    name: 'rocky-release',
    version: '0:9.5-1.el9',
    provides: ['system-release = 9.5', 'system-release(releasever) = 9'],
  },
  { name: 'bash', version: '0:5.1.8-9.el9', provides: ['/bin/sh'] },
  ...kernels.flatMap(kernel),
  compiler('gcc', '0:11.5.0-5.el9'),
  compiler('make', '1:4.3-8.el9'),
  { name: 'container-selinux', version: '4:2.235.0-2.el9' },
  { name: 'runc', version: '4:1.2.4-2.el9', files: [text('/usr/bin/runc', '')] },
  { name: 'buildah', version: '2:1.39.4-1.el9', requires: ['runc'] },
  { name: 'podman', version: '5:5.4.0-9.el9' },
  // What .NET loads is Debian's; agents straight on the host are stand-ins here.
  ...[
    'libicu-0:67.1-9.el9',
    'openssl-libs-1:3.2.2-6.el9_5',
    'krb5-libs-0:1.21.1-4.el9_5',
    'zlib-0:1.2.11-40.el9',
  ].map(library),
  {
    name: 'podman-docker',
    version: '5:5.4.0-9.el9',
    requires: ['podman'],
    conflicts: ['docker', 'docker-ce', 'docker-ee', 'docker-latest', 'moby-engine'],
    files: [text('/usr/bin/docker', '')],
  },
  {
    name: 'python3-dnf-plugin-versionlock',
    version: '0:4.3.0-20.el9',
    provides: ['dnf-command(versionlock)'],
    files: [
      {
        path: '/usr/lib/python3/dist-packages/dnf-plugins/versionlock.py',
        content: { link: '/opt/lab/versionlock.py' },
      },
      text('/etc/dnf/plugins/versionlock.list', ''),
      text(
        '/etc/dnf/plugins/versionlock.conf',
        '[main]\nenabled = 1\nlocklist = /etc/dnf/plugins/versionlock.list\n',
      ),
    ],
  },
  {
    name: 'epel-release',
    version: '0:9-10.el9',
    files: [
      text(
        '/etc/yum.repos.d/epel.repo',
        `[epel]\nname=EPEL\nbaseurl=${mirror}/epel/9\nenabled=1\ngpgcheck=1\ngpgkey=file://${epelKey}\n`,
      ),
      { path: epelKey, content: { copy: armoredKey } },
    ],
  },
];

export const enterpriseSystem: readonly Rpm[] = [
  ...own.map((rpm): Rpm => ({ ...rpm, takenFrom: 'rocky-9' })),
  { name: 'linux-firmware', version: '0:20250212-148.el9', takenFrom: 'nvidia-kmod-common' },
  { name: 'ocl-icd', version: '0:2.2.13-4.el9', takenFrom: 'rocky-9-appstream' },
  { name: 'opencl-filesystem', version: '0:1.0-6.el9', takenFrom: 'centos-8' },
];

export const epel: readonly Rpm[] = [
  {
    name: 'dkms',
    version: '0:3.2.2-1.el9',
    takenFrom: 'epel-9',
    requires: ['gcc', 'make', 'kernel-devel'],
    files: [program('/usr/sbin/dkms', 'dkms')],
  },
];

function library(full: string): Untaken {
  const [, name = '', version = ''] = /^(.+?)-(\d+:.+)$/.exec(full) ?? [];
  return { name, version };
}

/** Several are installed at a time: dnf knows them by what they provide. */
function kernel(version: string): Untaken[] {
  const release = `${version}.x86_64`;
  return [
    {
      name: 'kernel-core',
      version: `0:${version}`,
      requires: ['linux-firmware'],
      provides: ['installonlypkg(kernel)', `kernel-uname-r = ${release}`],
      files: [
        text(`/boot/vmlinuz-${release}`, ''),
        text(`/lib/modules/${release}/modules.builtin`, ''),
        { path: `/lib/modules/${release}/build`, content: { link: `/usr/src/kernels/${release}` } },
      ],
      post: `touch /lib/modules/${release}/modules.dep`,
    },
    {
      name: 'kernel-devel',
      version: `0:${version}`,
      provides: ['installonlypkg(kernel)', `kernel-devel-uname-r = ${release}`],
      files: [text(`/usr/src/kernels/${release}/Makefile`, '')],
    },
  ];
}
