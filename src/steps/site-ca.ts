import { sha256 } from '../base/digest.ts';
import { sh } from '../base/shell.ts';
import type { Facts } from '../facts/facts.ts';
import { managedFiles } from '../facts/probes/files.ts';
import type { Change } from './change.ts';
import { aptPrelude } from './apt/prelude.ts';
import { proxyExports } from './apt/proxy.ts';
import { runChange } from './changes.ts';
import type { Desired } from './step.ts';

/**
 * The site's own certificate authority, before anything is downloaded: a proxy that looks into TLS, or mirrors and a
 * registry with private certificates. dockerd reads the system's authorities when it starts.
 */
export function* siteCa(facts: Facts, desired: Desired): Generator<Change> {
  const { proxy } = desired;
  if (proxy.caPem === undefined || !lacksSiteCa(facts, desired)) return;
  yield runChange(
    'driver',
    'site-ca',
    {
      title: "trust the site's certificate authority",
      why: `${managedFiles.siteCa} is not as wanted`,
      disturbs: 'nothing',
    },
    { script: [...proxyExports(proxy), aptPrelude, script(proxy.caPem)].join('\n'), timeoutS: 900 },
  );
}

/** The change above is due; a running dockerd must be restarted after it. */
export function lacksSiteCa(facts: Facts, { proxy: { caPem } }: Desired): boolean {
  return caPem !== undefined && facts.files[managedFiles.siteCa] !== sha256(caPem);
}

function script(caPem: string): string {
  return sh`if ! command -v update-ca-certificates >/dev/null; then
  update ''
  apt install ca-certificates
fi
install -d -m 755 /usr/local/share/ca-certificates
printf %s ${caPem} >${managedFiles.siteCa}.new
mv ${managedFiles.siteCa}.new ${managedFiles.siteCa}
update-ca-certificates`;
}
