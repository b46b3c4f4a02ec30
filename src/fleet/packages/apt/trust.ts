import { sh } from '../../../shared/base/shell.ts';
import type { TrustStore } from '../package-manager.ts';
import { proxyExports } from '../proxy.ts';
import { siteCaFile } from './files.ts';
import { aptPrelude } from './prelude.ts';

/** What update-ca-certificates makes last, of all authorities as they are. */
const bundle = '/etc/ssl/certs/ca-certificates.crt';

export const aptTrust: TrustStore = {
  file: siteCaFile,
  trusted: sh`[ -r ${siteCaFile} ] && [ -r ${bundle} ] && case $(cat ${bundle}) in *"$(cat ${siteCaFile})"*) ;; *) false ;; esac`,
  script: (caPem, proxy) =>
    [
      ...proxyExports(proxy),
      aptPrelude,
      sh`if ! command -v update-ca-certificates >/dev/null; then
  update ''
  apt install ca-certificates
fi
install -d -m 755 /usr/local/share/ca-certificates
printf %s ${caPem} >${siteCaFile}.new
mv ${siteCaFile}.new ${siteCaFile}
update-ca-certificates`,
    ].join('\n'),
  withdraw: sh`rm -f ${siteCaFile} ${siteCaFile}.new
update-ca-certificates --fresh`,
};
