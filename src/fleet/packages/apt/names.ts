import { quote, sh } from '../../../shared/base/shell.ts';
import type { DriverSpec } from '../../inventory/fleet.ts';
import { defaultVersions } from '../../inventory/schema/defaults.ts';
import { type DriverNames, type LibraryNames, type SystemNames } from '../names.ts';
import { lackingOf, namesOf } from './driver-names.ts';
import { kernelBuild } from './headers.ts';
import { componentFiles } from './source.ts';

/**
 * Names of Debian and Ubuntu. Their removal keeps /var/lib/docker. docker-buildx, docker-compose and docker-compose-v2 have the
 * files of Docker's plugins, without a conflict that apt knows of (docker/docs#25506): dpkg fails over them.
 */
const engine: SystemNames['engine'] = {
  own: 'docker.io',
  conflicts: [
    'docker.io',
    'docker-buildx',
    'docker-cli',
    'docker-compose',
    'docker-compose-v2',
    'docker-doc',
    'podman-docker',
    'containerd',
    'runc',
  ],
};

/** Names of Debian and Ubuntu. */
export const desktop: SystemNames['desktop'] = {
  own: [
    'xserver-xorg',
    'xinit',
    'gdm3',
    'lightdm',
    'sddm',
    'xdm',
    'lxdm',
    'gnome-shell',
    'plasma-workspace',
    'plasma-desktop',
    'xfce4-session',
    'cinnamon',
    'sway',
    'weston',
    '*-desktop',
    '*-desktop-minimal',
  ],
  driver: [
    'xserver-xorg-video-nvidia*',
    'libnvidia-gl*',
    'libnvidia-encode*',
    'libnvidia-decode*',
    'libnvidia-fbc1*',
    'libnvcuvid1',
    'lib*gl*-nvidia*',
    'nvidia-driver-libs',
    'nvidia-*-icd',
    'nvidia-vdpau-driver',
  ],
};

/**
 * Libraries that .NET, and so the agent, loads (learn.microsoft.com/dotnet/core/install, "dependencies" of each system), by
 * their names in all supported releases, the newest first.
 */
export const agentLibraries: readonly LibraryNames[] = [
  { what: 'ICU', names: ['libicu78', 'libicu76', 'libicu74', 'libicu72', 'libicu70'] },
  { what: 'OpenSSL', names: ['libssl3t64', 'libssl3'] },
  { what: 'Kerberos', names: ['libgssapi-krb5-2'] },
  { what: 'zlib', names: ['zlib1g'] },
];

/** The common part of NVIDIA's packages for Debian and Ubuntu. */
const driverCommons = {
  family: [
    'nvidia-*',
    'libnvidia-*',
    'libcuda*',
    'libnvcuvid*',
    'lib*-nvidia*',
    'firmware-nvidia-*',
    'xserver-xorg-video-nvidia*',
  ],
  // Other branches, the distribution's driver, and the drawing libraries of both.
  replaced: [
    '*nvidia*',
    'libcuda*',
    'libnvcuvid*',
    'libxnvctrl*',
    'cuda-drivers*',
    'glx-alternative-*',
    'glx-diversions',
    'update-glx',
  ],
  obsolete: (installed, spec, desired) => {
    const own = spec.method === 'distro';
    const keep = new Set([...desired, ...(own ? [] : [pinningPackage(spec)])]);
    return installed
      .filter((name) => ours.test(name) || others(spec, desired).test(name))
      .filter((name) => !keep.has(name) && !belongs(name, spec, desired))
      .toSorted();
  },
  build: kernelBuild,
  // DKMS builds for later kernels. With libglvnd-dev installed, the installer keeps the system's libglvnd.
  runfile: {
    packages: (uses) => [
      'dkms',
      'libelf-dev',
      ...(uses.includes('graphics') ? ['pkg-config', 'libglvnd-dev'] : []),
    ],
  },
  refreshInitramfs: 'if command -v update-initramfs >/dev/null; then update-initramfs -u; fi',
} as const satisfies Partial<DriverNames>;

const ours =
  /^nvidia-(driver-pinning-.+|(kernel|dkms|headless|utils|driver|fabricmanager)(-.*)?-\d{3}(-server)?(-open)?|kernel(-open)?-dkms|open-kernel-dkms|kernel-source(-open)?|dkms(-\d{3})?(-open)?)$|^libnvidia-compute-\d{3}(-server)?$/;

/**
 * Returns names that only the other packager uses; libraries have the same names and change their version. Remains of NVIDIA's
 * former packages, which were built like Debian's, make modprobe load Debian's module name (`install nvidia modprobe -i
 * nvidia-current`). So do the settings of Debian's proprietary modules beside its open ones, by their higher priority.
 */
function others({ method, branch }: DriverSpec, desired: readonly string[]): RegExp {
  if (method === 'distro')
    return desired.includes('nvidia-open-kernel-dkms') ? vendorsOrProprietary : vendors;
  return Number(branch) < 570 ? /^$/ : debians;
}

const vendors =
  /^(nvidia-driver-cuda|nvidia-open|cuda-drivers(-\d{3})?|libnvidia-compute|nvidia-dkms(-open)?)$/;
const vendorsOrProprietary = new RegExp(`${vendors.source}|^nvidia-kernel-support$`);
const debians = /^nvidia-(alternative|smi|open-kernel-support)$/;

/**
 * Tells whether the desired modules depend on the package: `nvidia-kernel-source-580-open` for `nvidia-dkms-580-open`. A change
 * within the branch keeps it at another version.
 */
function belongs(name: string, { branch, method }: DriverSpec, desired: readonly string[]): boolean {
  const series = method === 'distro' ? `${branch}-server` : branch;
  const [, part, suffix = '', open = ''] = new RegExp(`^nvidia-(.+?)(-${series})?(-open)?$`).exec(name) ?? [];
  if (part === undefined || (suffix === '' && part !== 'kernel-source')) return false;
  return !twoKinds.test(part) || desired.includes(`nvidia-dkms${suffix}${open}`);
}

/** Packages with a separate name for open modules. */
const twoKinds = /^(dkms|kernel-source|headless|headless-no-dkms|driver)$/;

/** The package whose pins keep apt on the branch or version. */
function pinningPackage(spec: DriverSpec): string {
  return `nvidia-driver-pinning-${spec.version ?? spec.branch}`;
}

/** Returns the given shell text, then the vendor's pinning package. Older branches and distributions have none and rely on holds. */
function prepare(spec: DriverSpec, ...more: readonly string[]): string {
  if (spec.method === 'distro') return more.join('\n');
  const pin = quote(pinningPackage(spec));
  return [...more, `if [ -n "$(offered ${pin})" ]; then pin ${pin}; fi`].join('\n');
}

/** The common part of Debian and Ubuntu: DKMS signs what it builds. */
const common = {
  // Both patch their kernels for it: Debian's features/all/db-mok-keyring/KEYS-Make-use-of-platform-keyring-for-module-signature,
  // Ubuntu's "SAUCE: (lockdown) KEYS: Make use of platform keyring for module signature verify" (its shim review names it).
  trustsFirmware: () => true,
  // `linux-modules-nvidia-580-server-open-6.8.0-45-generic`: Canonical signed it for exactly this kernel.
  covers: (packages, release) =>
    Object.keys(packages).some((name) => signedModules.test(name) && name.endsWith(`-${release}`)),
  builtHere: (packages) => Object.keys(packages).some((name) => /^nvidia-[a-z0-9-]*dkms/.test(name)),
} satisfies Partial<DriverNames['signing']>;

const signedModules = /^linux-modules-nvidia-\d{3}(-server)?(-open)?-\d/;

/** DKMS creates its key with its first build, or by `dkms generate_mok`. */
const debianSigning: DriverNames['signing'] = {
  ...common,
  certificate: '/var/lib/dkms/mok.pub',
  create: 'sudo apt-get install dkms mokutil && sudo dkms generate_mok',
  readyMade: () => undefined,
};

/** Ubuntu's dkms signs with the key of the package shim-signed. */
const ubuntuSigning: DriverNames['signing'] = {
  ...common,
  certificate: '/var/lib/shim-signed/mok/MOK.der',
  create: 'sudo update-secureboot-policy --new-key',
  readyMade: ({ arch, packages }, { branch }, flavor) => {
    const image = Object.keys(packages).find((name) => /^linux-image-(?!\d|unsigned|extra)/.test(name));
    if (arch !== 'x86_64' || image === undefined) return undefined;
    const kind = `${branch}-server`;
    const modules = `linux-modules-nvidia-${kind}${flavor === 'open' ? '-open' : ''}-${image.slice('linux-image-'.length)}`;
    return `take the driver that Ubuntu has signed, where it has that branch (sudo apt-get install ${modules} nvidia-utils-${kind}, then reboot)`;
  },
};

/** Components of Debian's archive: NVIDIA's packages depend on contrib; Debian's own driver is in contrib and non-free. */
const components = {
  repo: ['contrib'],
  distro: ['contrib', 'non-free', 'non-free-firmware'],
} as const;

/**
 * Returns shell text that adds the components that no source of main's release has, from main's archive, and removes them if apt
 * then fails. A component of another release, as for a backport, has other versions.
 */
function debianComponents({ method }: Pick<DriverSpec, 'method'>): string {
  const whose = method === 'distro' ? method : 'repo';
  const file = componentFiles[whose];
  return `ours=$sources/${file.replace(/.*\//, '')} lacking=
# The words in $() are apt's own placeholders.
# shellcheck disable=SC2016
entry=$(apt-get indextargets --format '$(CODENAME) $(REPO_URI) $(RELEASE) $(SOURCESENTRY)' \\
  'Created-By: Packages' 'Origin: Debian' 'Component: main' | head -n 1)
codename=\${entry%% *} entry=\${entry#* }
need_component() {
  # shellcheck disable=SC2016
  if ! apt-get indextargets --format '$(CODENAME) $(SOURCESENTRY)' 'Created-By: Packages' "Component: $1" |
    grep -vF "$ours:" | cut -d ' ' -f 1 | grep -qxF -e "$codename"; then lacking="$lacking $1"; fi
}
${components[whose].map((component) => sh`need_component ${component}`).join('\n')}
if [ -n "$lacking" ] && ! grep -qxF "Components:$lacking" "$ours" 2>/dev/null; then
  origin=\${entry##* }
  origin=\${origin%:*}
  if [ -n "$entry" ] && [ -r "$origin" ]; then
    signed=$(sed -n 's/^Signed-By: *//p; s/^deb.*signed-by=\\([^] ]*\\).*/\\1/p' "$origin" | head -n 1)
    release=\${entry#* }
    {
      echo '# Written by azp-fleet: what the NVIDIA driver needs of the archive beside main.'
      printf 'Types: deb\\nURIs: %s\\nSuites: %s\\nComponents:%s\\n' "\${entry%% *}" "\${release%% *}" "$lacking"
      if [ -n "$signed" ]; then echo "Signed-By: $signed"; fi
    } >"$ours.new"
    # After an interruption here, the next run reads all lists again, also of this source.
    rm -f /run/azp-fleet/package-lists
    mv "$ours.new" "$ours"
    if apt-get indextargets >/dev/null 2>&1; then
      source_added ${quote(file)} "$lacking"
      update "$ours"${whose === 'distro' ? '' : ' optional'}
    else
      rm -f "$ours"
    fi
  fi
fi`;
}

/** `branch`: of the release's own driver packages. */
export function debian(branch: string): SystemNames {
  return {
    engine,
    desktop,
    agentLibraries,
    kernels: { x86_64: ['linux-image-amd64'], aarch64: ['linux-image-arm64'] },
    driver: {
      ...driverCommons,
      own: { branch },
      signing: debianSigning,
      packages: (spec, flavor, nvswitches) => debianDriver(spec).packages(flavor, nvswitches),
      extras: (spec, uses) => debianDriver(spec).extras(uses),
      lacks: (packages, uses) => lackingOf(['debian', 'debianOwn'], packages, uses),
      variants: ({ method }) => [method === 'distro' ? 'nvidia-smi' : 'nvidia-driver-cuda'],
      formerly: ['nvidia-driver-cuda', 'nvidia-smi'],
      optional: (spec) => debianDriver(spec).optional,
      beside: (spec) => debianDriver(spec).beside,
      prepare: (spec) => prepare(spec, debianComponents(spec)),
    },
  };
}

function debianDriver(spec: DriverSpec): ReturnType<typeof namesOf> {
  return namesOf(spec.method === 'distro' ? 'debianOwn' : 'debian', spec);
}

const plain = ['libnvidia-compute', 'libnvidia-compute-[0-9][0-9][0-9]'];
const forServers = ['libnvidia-compute-[0-9][0-9][0-9]-server'];

/** Ubuntu's driver is Canonical's for servers. */
export const ubuntu: SystemNames = {
  engine,
  desktop,
  agentLibraries,
  kernels: { x86_64: ['linux-image-generic'], aarch64: ['linux-image-generic'] },
  driver: {
    ...driverCommons,
    own: { branch: defaultVersions.driverBranch, older: [470] },
    signing: ubuntuSigning,
    packages: (spec, flavor, nvswitches) => ubuntuDriver(spec).packages(flavor, nvswitches),
    extras: (spec, uses) => ubuntuDriver(spec).extras(uses),
    lacks: (packages, uses) => lackingOf(['ubuntu', 'ubuntuOwn'], packages, uses),
    variants: ({ method }) => (method === 'distro' ? forServers : plain),
    formerly: [...plain, ...forServers],
    optional: (spec) => ubuntuDriver(spec).optional,
    prepare: (spec) => prepare(spec),
  },
};

function ubuntuDriver(spec: DriverSpec): ReturnType<typeof namesOf> {
  return namesOf(spec.method === 'distro' ? 'ubuntuOwn' : 'ubuntu', spec);
}
