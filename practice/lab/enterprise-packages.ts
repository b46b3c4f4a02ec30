import type { Deb, DebFile } from './deb.ts';
import { dockerPackages } from './docker-packages.ts';
import { driverPackages, toolkitPackages } from './nvidia-packages.ts';
import { labFiles, mirror } from './paths.ts';
import type { Rpm } from './rpm.ts';
import { armoredKey } from './signing.ts';

type Untaken = Omit<Rpm, 'takenFrom'>;

/** The kernel of a newly installed host, and the one of an upgrade. */
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

/** BaseOS, AppStream and extras in one. The kernels are files without code; the containers’ tools are empty. */
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
  // The libraries that .NET loads are Debian's; agents in host mode are stand-ins here.
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

/** Returns the packages of a kernel. Several are installed at the same time: dnf knows them by what they provide. */
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

export interface Repository {
  /** Below the mirror's root, in the vendors' layout for release 9. */
  readonly path: string;
  readonly rpms: readonly Rpm[];
  readonly modules?: string;
}

/** Two branches; the older one has an earlier release. */
const drivers = ['580.65.06', '580.95.05', '595.71.05'];

export async function enterpriseRepositories(): Promise<readonly Repository[]> {
  const { debs } = await dockerPackages('bookworm');
  return [
    { path: 'rocky/9', rpms: enterpriseSystem },
    { path: 'epel/9', rpms: epel },
    { path: 'docker/centos/9/x86_64/stable', rpms: debs.map(dockerRpm) },
    { path: 'nvidia/rhel9/x86_64', rpms: drivers.flatMap(driverRpms), modules: drivers.map(stream).join('') },
    { path: 'toolkit/stable/rpm/x86_64', rpms: toolkitPackages().map(toolkitRpm) },
  ];
}

/** Returns the same files under rpm's names; the scripts of Debian's packages are Debian's own. */
function as(deb: Deb, version: string, rest: Partial<Rpm> & Pick<Rpm, 'takenFrom'>): Rpm {
  const files = (deb.files ?? []).map((file) => ({
    ...file,
    path: file.path.replace(/^\/lib\//, '/usr/lib/'),
  }));
  return { name: deb.name, version, files, ...rest };
}

function upstream({ version }: Deb): string {
  return version.replace(/^\d+:/, '').replace(/-.*$/, '');
}

/** Returns the expansion of the macros `systemd_preun` and `systemd_postun`. */
function services(...units: readonly string[]): Pick<Rpm, 'preun' | 'postun'> {
  return {
    preun: `if [ "$1" = 0 ]; then systemctl --no-reload disable -q --now ${units.join(' ')} || :; fi`,
    postun: 'systemctl daemon-reload || :',
  };
}

/** Returns an rpm with the relations of docker/docker-ce-packaging and docker/containerd-packaging. No service is started. */
function dockerRpm(deb: Deb): Rpm {
  const version = `${upstream(deb)}-1.el9`;
  const takenFrom = 'docker-ce-packaging';
  switch (deb.name) {
    case 'docker-ce':
      return as(deb, `3:${version}`, {
        takenFrom,
        requires: ['docker-ce-cli', 'containerd.io', 'container-selinux'],
        conflicts: ['docker', 'docker-io', 'docker-ee'],
        obsoletes: ['docker-engine'],
        post: 'getent group docker >/dev/null || groupadd --system docker\nsystemctl daemon-reload',
        ...services('docker.service', 'docker.socket'),
      });
    case 'docker-ce-cli':
      return as(deb, `1:${version}`, { takenFrom, conflicts: ['docker', 'docker-ee-cli'] });
    case 'containerd.io':
      return as(deb, `0:${version}`, {
        takenFrom,
        conflicts: ['containerd', 'runc'],
        obsoletes: ['containerd', 'runc'],
        ...services('containerd.service'),
      });
    default:
      return as(deb, `0:${version}`, { takenFrom });
  }
}

/** Returns the packages that compute needs, each with all that its spec requires. */
export function driverRpms(version: string): Rpm[] {
  const full = `3:${version}`;
  const debs = Object.fromEntries(driverPackages(version).map((deb) => [deb.name, deb]));
  const from = (name: string, rest: Partial<Rpm> & Pick<Rpm, 'takenFrom'>): Rpm[] => {
    const deb = debs[name];
    return deb === undefined ? [] : [as(deb, `${full}-1.el9`, rest)];
  };
  const exactly = (...names: readonly string[]): string[] => names.map((name) => `${name} = ${full}`);
  const bare = (name: string, takenFrom: Rpm['takenFrom'], requires: readonly string[] = []): Rpm => ({
    name,
    version: `${full}-1.el9`,
    takenFrom,
    requires,
  });
  const module = (name: string, other: string): Partial<Rpm> & Pick<Rpm, 'takenFrom'> => ({
    name,
    takenFrom: 'dkms-nvidia',
    provides: [`nvidia-kmod = ${full}`],
    conflicts: [other],
    requires: ['dkms', ...exactly('nvidia-kmod-common')],
    post: 'systemctl enable -q nvidia-boot.service\ndkms autoinstall -k "$(uname -r)" || :',
    preun: `dkms remove -m nvidia-open -v ${version} -q --all || :
if [ "$1" = 0 ]; then systemctl --no-reload disable -q nvidia-boot.service; fi`,
  });
  return [
    ...from('nvidia-driver-cuda', {
      takenFrom: 'nvidia-driver',
      requires: [
        ...exactly('nvidia-driver-cuda-libs', 'nvidia-kmod-common', 'nvidia-persistenced'),
        'opencl-filesystem',
        'ocl-icd',
      ],
    }),
    ...from('libcuda1', {
      name: 'nvidia-driver-cuda-libs',
      takenFrom: 'nvidia-driver',
      requires: exactly('libnvidia-ml', 'libnvidia-cfg'),
    }),
    bare('libnvidia-ml', 'nvidia-driver'),
    bare('libnvidia-cfg', 'nvidia-driver'),
    bare('nvidia-modprobe', 'nvidia-kmod-common'),
    bare('nvidia-kmod-common', 'nvidia-kmod-common', [
      'linux-firmware',
      'nvidia-modprobe',
      ...exactly('nvidia-kmod'),
    ]),
    ...from('nvidia-persistenced', {
      takenFrom: 'nvidia-persistenced',
      requires: [`libnvidia-cfg >= ${full}`],
      post: 'systemctl daemon-reload',
      ...services('nvidia-persistenced.service'),
    }),
    ...from('nvidia-kernel-open-dkms', module('kmod-nvidia-open-dkms', 'kmod-nvidia-latest-dkms')),
    ...from('nvidia-kernel-dkms', module('kmod-nvidia-latest-dkms', 'kmod-nvidia-open-dkms')),
  ];
}

function toolkitRpm(deb: Deb): Rpm {
  const version = deb.version.replace(/-1$/, '');
  const requires = (deb.depends ?? []).map((each) => each.replace(/^(\S+) .*/, `$1 = ${version}`));
  const refreshes = deb.files?.some(({ path }) => path.endsWith('.path')) === true;
  return as(deb, `0:${version}-1`, { takenFrom: 'container-toolkit', requires, ...(refreshes ? base : {}) });
}

/** The toolkit's settings are written at the installation, and belong to no package (nvidia-container-toolkit.spec). */
const base: Partial<Rpm> = {
  post: `mkdir -p /etc/nvidia-container-runtime
[ -e /etc/nvidia-container-runtime/config.toml ] || touch /etc/nvidia-container-runtime/config.toml
systemctl daemon-reload
systemctl enable -q --now nvidia-cdi-refresh.path
systemctl enable -q nvidia-cdi-refresh.service`,
  ...services('nvidia-cdi-refresh.path', 'nvidia-cdi-refresh.service'),
};

/** Returns the branch as a stream of NVIDIA's module: if another stream is enabled, its packages are hidden. */
function stream(version: string): string {
  const artifacts = driverRpms(version).map((rpm) => {
    const [, epoch = '', rest = ''] = /^(\d+):(.*)$/.exec(rpm.version) ?? [];
    return `      - ${rpm.name}-${epoch}:${rest}.x86_64\n`;
  });
  return `---
document: modulemd
version: 2
data:
  name: nvidia-driver
  stream: "${version.split('.')[0] ?? ''}-open"
  version: ${version.replaceAll('.', '')}
  context: 12345678
  arch: x86_64
  summary: driver
  description: driver
  license:
    module: [MIT]
  artifacts:
    rpms:
${artifacts.join('')}...
`;
}
