import type { Deb } from './deb.ts';
import { dockerPackages } from './docker-packages.ts';
import { enterpriseSystem, epel } from './enterprise-system.ts';
import { driverPackages, toolkitPackages } from './nvidia-packages.ts';
import type { Rpm } from './rpm.ts';

export interface Repository {
  /** Below the mirror's root, as the vendors lay it out for release 9. */
  readonly path: string;
  readonly rpms: readonly Rpm[];
  readonly modules?: string;
}

/** Of two branches; the older one had a release before. */
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

/** The same files under rpm's names; what Debian's packages do after their installation is Debian's own. */
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

/** What the macros `systemd_preun` and `systemd_postun` become. */
function services(...units: readonly string[]): Pick<Rpm, 'preun' | 'postun'> {
  return {
    preun: `if [ "$1" = 0 ]; then systemctl --no-reload disable -q --now ${units.join(' ')} || :; fi`,
    postun: 'systemctl daemon-reload || :',
  };
}

/** The relations are those of docker/docker-ce-packaging and docker/containerd-packaging. Nothing is started. */
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

/** The packages that compute alone takes, each with all that its spec requires. */
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

/** Its settings are made at the installation, and belong to no package (nvidia-container-toolkit.spec). */
const base: Partial<Rpm> = {
  post: `mkdir -p /etc/nvidia-container-runtime
[ -e /etc/nvidia-container-runtime/config.toml ] || touch /etc/nvidia-container-runtime/config.toml
systemctl daemon-reload
systemctl enable -q --now nvidia-cdi-refresh.path
systemctl enable -q nvidia-cdi-refresh.service`,
  ...services('nvidia-cdi-refresh.path', 'nvidia-cdi-refresh.service'),
};

/** The branch as a stream of NVIDIA's module: where another stream is enabled, its packages are hidden. */
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
