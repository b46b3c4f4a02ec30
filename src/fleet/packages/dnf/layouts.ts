import type { System } from '../system.ts';
import { nvidiaMachine, type Vendor } from '../vendors.ts';

/** How a vendor's repository lies below its base. */
interface Layout {
  readonly uri: string;
  /** The key that signs its packages: trusted because it came over TLS, or from the site's own mirror. */
  readonly key: string;
}

export const layouts: Readonly<Record<Vendor, (base: string, system: System) => Layout>> = {
  // NVIDIA has other keys for other systems; each repository carries its own (NVIDIA/cuda-repo-management, README).
  nvidia: (base, { nvidia, machine }) => {
    const uri = `${base}/${nvidia.folder}/${nvidiaMachine[machine]}`;
    return { uri, key: `${uri}/repodata/repomd.xml.key` };
  },
  docker: (base, { docker, machine }) => ({
    uri: `${base}/${docker.folder}/${docker.release}/${machine}/stable`,
    key: `${base}/${docker.folder}/gpg`,
  }),
  'nvidia-container-toolkit': (base, { machine }) => ({
    uri: `${base}/stable/rpm/${machine}`,
    key: `${base}/gpgkey`,
  }),
};
