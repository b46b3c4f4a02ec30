import type { DriverSpec } from '../../inventory/fleet.ts';
import type { DriverNames } from '../names.ts';
import { kernelBuild } from './headers.ts';
import { quote } from '../../base/shell.ts';

/** What NVIDIA's packages for Debian and those for Ubuntu have in common. */
export const driverCommons = {
  family: ['nvidia-*', 'libnvidia-*', 'libcuda*', 'firmware-nvidia-*'],
  // Other branches, the distribution's own driver, and what a desktop has of either.
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
    return installed.filter((name) => ours.test(name) && !keep.has(name)).toSorted();
  },
  build: kernelBuild,
  refreshInitramfs: 'if command -v update-initramfs >/dev/null; then update-initramfs -u; fi',
} as const satisfies Partial<DriverNames>;

const ours =
  /^nvidia-(driver-pinning-.+|(kernel|dkms|headless|utils|driver|fabricmanager)(-.*)?-\d{3}(-server)?(-open)?|kernel(-open)?-dkms|dkms(-\d{3})?(-open)?)$|^libnvidia-compute-\d{3}(-server)?$/;

/** Keeps apt on the branch, or on the version, whatever appears in the repository. */
function pinningPackage(spec: DriverSpec): string {
  return `nvidia-driver-pinning-${spec.version ?? spec.branch}`;
}

/** What else is needed, then the vendor's pinning package. Older branches have none; the holds do it then. */
export function prepare(spec: DriverSpec, ...more: readonly string[]): string {
  const pin = quote(pinningPackage(spec));
  return [...more, `if [ -n "$(offered ${pin})" ]; then pin ${pin}; fi`].join('\n');
}

/** NVSwitches need it. Its name lost the branch with 580. */
export function fabricManager(spec: DriverSpec, nvswitches: number): string[] {
  if (nvswitches === 0) return [];
  return [Number(spec.branch) < 580 ? `nvidia-fabricmanager-${spec.branch}` : 'nvidia-fabricmanager'];
}
