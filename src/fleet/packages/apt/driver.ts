import type { DriverSpec } from '../../inventory/fleet.ts';
import type { DriverNames } from '../names.ts';
import { kernelBuild } from './headers.ts';
import { quote } from '../../../shared/base/shell.ts';

/** What NVIDIA's packages for Debian and those for Ubuntu have in common. */
export const driverCommons = {
  family: [
    'nvidia-*',
    'libnvidia-*',
    'libcuda*',
    'libnvcuvid*',
    'lib*-nvidia*',
    'firmware-nvidia-*',
    'xserver-xorg-video-nvidia*',
  ],
  // Other branches, the distribution's own driver, and what a host without a desktop has of either to draw with.
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
  obsolete: (installed, spec, wanted) => {
    const own = spec.method === 'distro';
    const keep = new Set([...wanted, ...(own ? [] : [pinningPackage(spec)])]);
    return installed
      .filter((name) => ours.test(name) || others(spec, wanted).test(name))
      .filter((name) => !keep.has(name) && !belongs(name, spec, wanted))
      .toSorted();
  },
  build: kernelBuild,
  // DKMS for the kernels to come; with libglvnd's own the installer leaves the system's in place.
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
 * What only the other one's packages are called; libraries have the same names, and get its version. NVIDIA's had Debian's
 * structure once. What stayed of that would have the kernel look for its module under Debian's name (`install nvidia modprobe
 * -i nvidia-current`). So would the settings of Debian's proprietary modules beside its open ones: of the two alternatives
 * theirs has the higher priority.
 */
function others({ method, branch }: DriverSpec, wanted: readonly string[]): RegExp {
  if (method === 'distro') return wanted.includes('nvidia-open-kernel-dkms') ? vendorsOrProprietary : vendors;
  return Number(branch) < 570 ? /^$/ : debians;
}

const vendors =
  /^(nvidia-driver-cuda|nvidia-open|cuda-drivers(-\d{3})?|libnvidia-compute|nvidia-dkms(-open)?)$/;
const vendorsOrProprietary = new RegExp(`${vendors.source}|^nvidia-kernel-support$`);
const debians = /^nvidia-(alternative|smi|open-kernel-support)$/;

/**
 * What the wanted modules lean on is of their branch and kind: `nvidia-kernel-source-580-open` of `nvidia-dkms-580-open`.
 * In a change within the branch it stays, at another version.
 */
function belongs(name: string, { branch, method }: DriverSpec, wanted: readonly string[]): boolean {
  const series = method === 'distro' ? `${branch}-server` : branch;
  const [, part, suffix = '', open = ''] = new RegExp(`^nvidia-(.+?)(-${series})?(-open)?$`).exec(name) ?? [];
  if (part === undefined || (suffix === '' && part !== 'kernel-source')) return false;
  return !twoKinds.test(part) || wanted.includes(`nvidia-dkms${suffix}${open}`);
}

/** Packages that are another one for open modules. */
const twoKinds = /^(dkms|kernel-source|headless|headless-no-dkms|driver)$/;

/** Keeps apt on the branch, or on the version, whatever appears in the repository. */
function pinningPackage(spec: DriverSpec): string {
  return `nvidia-driver-pinning-${spec.version ?? spec.branch}`;
}

/**
 * What else is needed, then the vendor's pinning package. Older branches have none, nor has a distribution; the holds do it
 * then.
 */
export function prepare(spec: DriverSpec, ...more: readonly string[]): string {
  if (spec.method === 'distro') return more.join('\n');
  const pin = quote(pinningPackage(spec));
  return [...more, `if [ -n "$(offered ${pin})" ]; then pin ${pin}; fi`].join('\n');
}
