import { sh } from '../../../shared/base/shell.ts';
import { HostPaths, managerUnit } from '../../../shared/contract/paths.ts';
import type { Facts } from '../facts.ts';
import { KeyedLines } from '../lines.ts';
import type { FactProbe } from '../probe.ts';

export type InstalledManager = Omit<Facts['manager'], 'status' | 'release'>;

/**
 * Reads the installed manager. The installation id is from its state, or from the previous state if that is damaged, as the
 * manager does. Secrets never leave the host: only digests, salted with the machine-id.
 */
export const managerProbe: FactProbe<InstalledManager> = {
  name: 'manager',
  facts: ['manager'],
  byHand: sh`systemctl show ${managerUnit}`,
  script: () => sh`
if [ -L ${HostPaths.current} ]; then printf 'current '; readlink ${HostPaths.current}; fi
if [ -e ${HostPaths.unit} ] && [ -d /run/systemd/system ]; then
  shown=$(systemctl show -p ActiveState -p UnitFileState -p NeedDaemonReload ${managerUnit} init.scope) || exit
  printf '%s\n' "$shown" | tr '=' ' '
fi
digest() { # NAME FILE
  [ -r "$2" ] || return 0
  read -r id </etc/machine-id
  printf '%s ' "$1"
  printf '%s:%s' "$id" "$(cat "$2")" | sha256sum
}
digest credential ${HostPaths.token}
digest registries ${HostPaths.registries}
digest webhook ${HostPaths.webhook}
if [ -r ${HostPaths.managerState} ]; then
  sed -n 's/^ *"installation": "\([0-9A-Za-z-]\{1,64\}\)",\{0,1\}$/installation \1/p' \
    ${HostPaths.managerState} ${HostPaths.managerState}.previous 2>/dev/null
fi
if [ -d ${HostPaths.current}/dockeragent ]; then
  printf 'context '
  (cd ${HostPaths.current}/dockeragent && find . -type f -exec sha256sum {} + | LC_ALL=C sort -k 2) | sha256sum
fi
for archive in ${HostPaths.folders}/*.tar; do
  [ ! -f "$archive" ] || printf 'folder %s\n' "$(basename "$archive" .tar)"
done
for archive in ${HostPaths.archives}/*.tar.gz; do
  [ ! -f "$archive" ] || printf 'archive %s\n' "$(basename "$archive" .tar.gz)"
done
for left in ${HostPaths.token}.next ${HostPaths.unit}.*.part*; do
  [ ! -f "$left" ] || printf 'left %s\n' "$left"
done
find ${HostPaths.etc} ${HostPaths.opt} ${HostPaths.folders} -type f -name '*.part*' 2>/dev/null | sed 's/^/left /'
:`,
  line: /^(current|ActiveState|UnitFileState|NeedDaemonReload|credential|registries|webhook|installation|context|folder|archive|left)( |$)/,
  parse: (output) => {
    const lines = new KeyedLines(output);
    return {
      current: lines.first('current'),
      unitActive: lines.first('ActiveState'),
      unitEnabled: lines.first('UnitFileState') === 'enabled',
      reloadNeeded: reloadNeeded(lines.all('NeedDaemonReload')),
      credentialDigest: lines.first('credential')?.slice(0, 64),
      registriesDigest: lines.first('registries')?.slice(0, 64),
      webhookDigest: lines.first('webhook')?.slice(0, 64),
      installation: lines.first('installation'),
      context: lines.first('context')?.slice(0, 64),
      folders: lines.all('folder').filter(isDigest),
      archives: lines.all('archive').filter(isDigest),
      leftovers: lines.all('left').filter((path) => /^[\w./-]+$/.test(path)),
    };
  },
};

const isDigest = (name: string): boolean => /^[0-9a-f]{64}$/.test(name);

/**
 * Returns whether the manager's unit needs a reload. In systemd 257 (not 252) a unit enabled without a reload makes all units
 * report yes, even init.scope, which has no file; such an answer is ignored.
 */
function reloadNeeded([unit, scope]: readonly string[]): boolean {
  return unit === 'yes' && scope !== 'yes';
}
