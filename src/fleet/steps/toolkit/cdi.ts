import { failFunction, sh } from '../../../shared/base/shell.ts';
import { cdiLibraries, describesGpus } from '../../../shared/contract/gpus.ts';
import type { Facts } from '../../facts/facts.ts';
import type { DriverUse } from '../../packages/names.ts';
import { asideOf, cdiMark } from '../../facts/probes/ours.ts';

/** Where the specification is written when no service of the package does it. */
export const cdiFolder = '/etc/cdi';

/**
 * Writes the CDI specification anew. From toolkit 1.18 on a service of the package owns it, and makes it at boot, in /run,
 * which wins over /etc; of an older one it is written where it is. `inEtc`: files that describe GPUs there. Once /run has a
 * specification, they are set aside: they lose against it today, and would win after a boot without the service. `uses`: what
 * agents may do beyond computing. The toolkit describes what libraries the host has, and says nothing of those that it has not.
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

/** What was made for us goes; what was set aside comes back, unless there is another one of its name. */
export function cdiUndoScript({ made, aside }: Facts['ours']['cdi']): string {
  return [
    ...made.map((path) => sh`rm -f ${path}`),
    ...aside.map((path) => sh`if [ ! -e ${path} ]; then mv ${asideOf(path)} ${path}; fi`),
    ...(made.length === 0 ? [] : [sh`rmdir ${cdiFolder} 2>/dev/null || :`]),
  ].join('\n');
}

const write = `if systemctl cat nvidia-cdi-refresh.service >/dev/null 2>&1; then
  systemctl restart nvidia-cdi-refresh.service || fail 'the CDI specification cannot be written' \\
    'nvidia-cdi-refresh.service ends well' "$(journalctl -u nvidia-cdi-refresh.service -n 5 --no-pager -o cat)" \\
    'see whether nvidia-smi works on the host'
else
  install -d -m 755 /etc/cdi
  output=/etc/cdi/nvidia.yaml
  if [ -e /var/run/cdi/nvidia.yaml ]; then output=/var/run/cdi/nvidia.yaml; fi
  nvidia-ctk cdi generate --output="$output" || fail 'the CDI specification cannot be written' \\
    'nvidia-ctk cdi generate ends well' 'the messages above' 'see whether nvidia-smi works on the host'
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
  'run nvidia-ctk cdi generate on the host and look at its output'`;

/** Shell function `gives LIBRARY`: one of the specifications that win has it. */
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
  fail ${`agents may use ${use}, and the CDI specification has no library for it, because the host has none`} \
    ${`${cdiLibraries[use].replaceAll('\\', '')} in it`} 'none' \
    ${`bring the driver's libraries for ${use} to the host, at its version and from where the driver is from (a .run file has them unless --no-opengl-files was given), or take ${use} out of driverCapabilities, and run again`}`;
}
