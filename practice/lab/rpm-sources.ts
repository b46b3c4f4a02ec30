/** Where a stand-in's name, relations and repository are taken from. */
export const rpmSources = {
  'nvidia-driver': 'NVIDIA/yum-packaging-nvidia-driver, nvidia-driver.spec of main (570)',
  'nvidia-kmod-common': 'NVIDIA/yum-packaging-nvidia-kmod-common, nvidia-kmod-common.spec of main (570)',
  'nvidia-persistenced': 'NVIDIA/yum-packaging-nvidia-persistenced, nvidia-persistenced.spec of main (570)',
  'dkms-nvidia': 'NVIDIA/yum-packaging-dkms-nvidia, dkms-nvidia.spec and dkms-open-nvidia.spec of main',
  'docker-ce-packaging':
    'docker/docker-ce-packaging, rpm/SPECS, and docker/containerd-packaging, rpm/containerd.spec',
  'container-toolkit': 'NVIDIA/nvidia-container-toolkit and libnvidia-container, packaging/rpm/SPECS',
  'rocky-9':
    "Rocky Linux 9: the system's own BaseOS, AppStream and extras, with the relations that tests need",
  'rocky-9-appstream': 'Rocky Linux 9, AppStream: ocl-icd-2.2.13-4.el9',
  'centos-8':
    'CentOS Stream 8, PowerTools: opencl-filesystem-1.0-6.el8; which repository of release 9 has it no list that was to be had says',
  'epel-9': 'EPEL 9: dkms, with what its spec names of compilers and headers',
} as const;

export type RpmSource = keyof typeof rpmSources;

/** Throws where somebody has made a package up. */
export function mustBeTaken(name: string, takenFrom: string | undefined): void {
  if (takenFrom === undefined || !Object.hasOwn(rpmSources, takenFrom))
    throw new Error(`${name} does not say what it was taken from: see rpm-sources.ts`);
}
