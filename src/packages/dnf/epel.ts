import { quote, sh } from '../../base/shell.ts';

/** Where a system's DKMS comes from: no release of Red Hat's has it, and EPEL does. */
export interface Epel {
  /** The package that brings the repository, where the system's own sources have it. */
  readonly release: string;
  /** Its number in EPEL: `9`. */
  readonly major: string;
}

/**
 * Shell text for `before` of the driver's transaction: where nothing offers dkms, EPEL comes first, from the system's own
 * sources, or (Red Hat's own have no such package) from the Fedora project. It needs `more_packages`.
 */
export function withDkms(epel: Epel | undefined): string {
  const have = 'if [ -z "$(installed dkms)" ] && [ -z "$(offered dkms)" ]; then';
  if (epel === undefined) {
    return sh`if [ -z "$(installed dkms)" ] && [ -z "$(offered dkms)" ]; then
  fail 'no package source offers dkms, which builds the driver' dkms none \
    'put dkms into a package source of the host, and run again'
fi`;
  }
  const url = `https://dl.fedoraproject.org/pub/epel/epel-release-latest-${epel.major}.noarch.rpm`;
  return `${have}
  if [ -n "$(offered ${quote(epel.release)})" ]; then
    ${sh`more_packages ${epel.release}`}
  else
    ${sh`more_packages ${url}`}
  fi
fi`;
}
