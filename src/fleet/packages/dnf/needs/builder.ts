import { sh } from '../../../../shared/base/shell.ts';

/** What NVIDIA's packages lean on (NVIDIA/yum-packaging-nvidia-driver, `cuda`), and where some release keeps it for builders. */
const leansOn: readonly string[] = ['ocl-icd', 'opencl-filesystem'];

/** Repositories that Red Hat's systems have and switch off: Rocky's and Alma's from 9 on, before, Oracle's, Red Hat's own. */
const builders =
  'crb|powertools|ol[0-9]+_codeready_builder|codeready-builder-for-rhel-[0-9]+-[a-z0-9_]+-rpms';

/**
 * Shell text for `before` of the driver's transaction: where nothing offers what the packages lean on, the repository for builders
 * is read from now on, if the host has one. It needs `switch_on`. What nobody has then, dnf says itself.
 */
export const withBuilder = sh`for name in ${leansOn}; do
  if [ -z "$(installed "$name")" ] && [ -z "$(offered "$name")" ]; then
    builder=$(dnf_run -q repolist --disabled 2>/dev/null | awk '{ print $1 }' | grep -Ex ${builders} | head -n 1)
    if [ -n "$builder" ]; then switch_on "$builder"; fi
  fi
done`;
