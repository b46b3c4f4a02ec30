import type { DriverSpec } from '../../inventory/fleet.ts';
import type { DriverNames } from '../names.ts';
import { kernelBuild } from './headers.ts';
import { quote } from '../../base/shell.ts';

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
    const keep = new Set([...wanted, pinningPackage(spec)]);
    return installed
      .filter((name) => ours.test(name) && !keep.has(name) && !belongs(name, spec, wanted))
      .toSorted();
  },
  build: kernelBuild,
  refreshInitramfs: 'if command -v update-initramfs >/dev/null; then update-initramfs -u; fi',
} as const satisfies Partial<DriverNames>;

const ours =
  /^nvidia-(driver-pinning-.+|(kernel|dkms|headless|utils|driver|fabricmanager)(-.*)?-\d{3}(-server)?(-open)?|kernel(-open)?-dkms|kernel-source(-open)?|dkms(-\d{3})?(-open)?)$|^libnvidia-compute-\d{3}(-server)?$/;

/**
 * What the wanted modules lean on is of their branch and kind: `nvidia-kernel-source-580-open` of `nvidia-dkms-580-open`.
 * In a change within the branch it stays, at another version.
 */
function belongs(name: string, { branch }: DriverSpec, wanted: readonly string[]): boolean {
  const [, part, suffix = '', open = ''] = new RegExp(`^nvidia-(.+?)(-${branch})?(-open)?$`).exec(name) ?? [];
  if (part === undefined || (suffix === '' && part !== 'kernel-source')) return false;
  return !twoKinds.test(part) || wanted.includes(`nvidia-dkms${suffix}${open}`);
}

/** Packages that are another one for open modules. */
const twoKinds = /^(dkms|kernel-source|headless|headless-no-dkms|driver)$/;

/** Keeps apt on the branch, or on the version, whatever appears in the repository. */
function pinningPackage(spec: DriverSpec): string {
  return `nvidia-driver-pinning-${spec.version ?? spec.branch}`;
}

/** What else is needed, then the vendor's pinning package. Older branches have none; the holds do it then. */
export function prepare(spec: DriverSpec, ...more: readonly string[]): string {
  const pin = quote(pinningPackage(spec));
  return [...more, `if [ -n "$(offered ${pin})" ]; then pin ${pin}; fi`].join('\n');
}
