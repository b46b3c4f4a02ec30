import { failFunction, sh } from '../../../shared/base/shell.ts';
import { cdiLibraries, describesGpus } from '../../../shared/contract/gpus.ts';
import type { Facts } from '../../facts/facts.ts';
import type { DriverUse } from '../../packages/names.ts';
import { asideOf, cdiMark } from '../../facts/probes/ours.ts';

/** The folder of the specification where the package has no service for it. */
export const cdiFolder = '/etc/cdi';

/**
 * Returns a script that writes the CDI specification. From toolkit 1.18 on a service of the package writes it at boot in /run, which
 * has precedence over /etc; for an older toolkit nvidia-ctk writes it. `inEtc`: files in /etc/cdi that describe GPUs. They are set
 * aside once /run has a specification: they would be used after a boot without the service. `uses`: what agents may do beyond
 * computing; the script fails where the specification lacks the libraries, because the host has none.
 */
export function cdiScript(inEtc: readonly string[], uses: readonly DriverUse[] = []): string {
  return [
    failFunction,
    write,
    ...(inEtc.length === 0 ? [] : [setAside(inEtc)]),
    check,
    ...(uses.length === 0 ? [] : [gives, ...uses.map(checkUse)]),
  ].join('\n');
}

/** Returns a script that removes azp-fleet's specification and restores the files set aside, unless a new one has their name. */
export function cdiUndoScript({ made, aside }: Facts['ours']['cdi']): string {
  return [
    ...made.map((path) => sh`rm -f ${path}`),
    ...aside.map((path) => sh`if [ ! -e ${path} ]; then mv ${asideOf(path)} ${path}; fi`),
    ...(made.length === 0 ? [] : [sh`rmdir ${cdiFolder} 2>/dev/null || :`]),
  ].join('\n');
}

const write = `if systemctl cat nvidia-cdi-refresh.service >/dev/null 2>&1; then
  systemctl restart nvidia-cdi-refresh.service || fail 'writing the CDI specification failed' \\
      'nvidia-cdi-refresh.service succeeds' "$(journalctl -u nvidia-cdi-refresh.service -n 5 --no-pager -o cat)" \\
    'run nvidia-smi on the host'
    else
  install -d -m 755 /etc/cdi
  output=/etc/cdi/nvidia.yaml
  if [ -e /var/run/cdi/nvidia.yaml ]; then output=/var/run/cdi/nvidia.yaml; fi
  nvidia-ctk cdi generate --output="$output" || fail 'writing the CDI specification failed' \\
      'nvidia-ctk cdi generate succeeds' 'the messages above' 'run nvidia-smi on the host'
  if [ "$output" = /etc/cdi/nvidia.yaml ]; then echo '${cdiMark}' >>"$output"; fi
fi`;

function setAside(paths: readonly string[]): string {
  const moves = paths.map((path) => sh`  if [ -e ${path} ]; then mv ${path} ${asideOf(path)}; fi`);
  return [
    sh`if grep -Eqs ${describesGpus} /var/run/cdi/*.yaml /var/run/cdi/*.json; then`,
    ...moves,
    'fi',
  ].join('\n');
}

const check = `${sh`grep -Eqs ${describesGpus}`} /etc/cdi/*.yaml /etc/cdi/*.json /var/run/cdi/*.yaml /var/run/cdi/*.json ||
  fail 'no CDI specification describes the GPUs' 'nvidia.com/gpu in /var/run/cdi or /etc/cdi' 'nothing' \\
  'run nvidia-ctk cdi generate on the host and check its output'`;

/** Shell function `gives LIBRARY`: succeeds if a specification that has precedence contains the library. */
const gives = `gives() {
  winner=
  for spec in /var/run/cdi/*.yaml /var/run/cdi/*.json /etc/cdi/*.yaml /etc/cdi/*.json; do
    case $spec in /etc/*) [ -z "$winner" ] || continue ;; esac
    ${sh`grep -Eqs ${describesGpus}`} "$spec" || continue
    case $spec in /var/*) winner=$spec ;; esac
    if grep -q "$1" "$spec"; then return; fi
  done
  return 1
}`;

function checkUse(use: DriverUse): string {
  return sh`gives ${cdiLibraries[use]} ||
  fail ${`agents may use ${use}, and the host has no ${use} library that the CDI specification could contain`} \
    ${`${cdiLibraries[use].replaceAll('\\', '')} in it`} 'none' \
    ${`install the driver's libraries for ${use} at its version, from the driver's repository (a .run file has them unless run with --no-opengl-files), or remove ${use} from driverCapabilities, and run again`}`;
}
