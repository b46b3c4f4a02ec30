import type { DriverUse, Flavor } from '../../../packages/names.ts';
import { openBranches } from '../generations.ts';

/** The installer can leave alone a module that is loaded, and nouveau, from here on (its options; NVIDIA/nvidia-installer). */
export const besideLoaded = { first: 550 } as const;

interface Installation {
  readonly branch: string;
  readonly flavor: Flavor;
  readonly uses: readonly DriverUse[];
  /** Something holds the GPUs, or the modules must be signed first: nothing is loaded. */
  readonly unloaded: boolean;
  /** For another kernel than the running one. */
  readonly kernel: string | undefined;
}

/** What the installer of a `.run` file is told: to ask nothing, and what the plan has said. Pure. */
export function installerOptions({ branch, flavor, uses, unloaded, kernel }: Installation): string[] {
  return [
    '--silent',
    '--dkms',
    // Before, there is one kind.
    ...(Number(branch) < openBranches.first ? [] : [flavor === 'open' ? '-m=kernel-open' : '-m=kernel']),
    // What encodes and decodes is none of them.
    uses.includes('graphics') ? '--no-install-libglvnd' : '--no-opengl-files',
    ...(unloaded
      ? ['--skip-module-load', '--allow-installation-with-running-driver', '--no-nouveau-check']
      : []),
    ...(kernel === undefined ? [] : [`--kernel-name=${kernel}`]),
  ];
}
