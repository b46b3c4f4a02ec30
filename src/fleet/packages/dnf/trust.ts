import { sh } from '../../../shared/base/shell.ts';
import type { TrustStore } from '../package-manager.ts';
import { siteCaFile } from './files.ts';

/** What update-ca-trust makes of all authorities as they are. */
const bundle = '/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem';

/** ca-certificates is always there: dnf itself needs it. */
export const dnfTrust: TrustStore = {
  file: siteCaFile,
  // The bundle has each certificate under a heading of its own: it has their lines, not their file.
  trusted: sh`[ -r ${siteCaFile} ] && [ -r ${bundle} ] && ! grep -vxFf ${bundle} ${siteCaFile} | grep -Eq '^[A-Za-z0-9+/]{20,}=*$'`,
  script: (caPem) => sh`install -d -m 755 /etc/pki/ca-trust/source/anchors
printf %s ${caPem} >${siteCaFile}.new
mv ${siteCaFile}.new ${siteCaFile}
update-ca-trust extract`,
  withdraw: sh`rm -f ${siteCaFile} ${siteCaFile}.new
update-ca-trust extract`,
};
