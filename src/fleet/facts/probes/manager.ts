import { sha256 } from '../../../shared/base/digest.ts';
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
  systemctl show -p ActiveState -p UnitFileState -p NeedDaemonReload ${managerUnit} init.scope || exit
fi
digest() { # NAME FILE
  [ -r "$2" ] || return 0
  read -r id </etc/machine-id
  printf '%s ' "$1"
  # Most secrets are one line, which no program has to read.
  { IFS= read -r text; IFS= read -r more && more=there; } <"$2"
  [ -z "$more" ] || text=$(cat "$2")
  printf '%s:%s' "$id" "$text" | sha256sum
}
digest credential ${HostPaths.token}
digest registries ${HostPaths.registries}
digest webhook ${HostPaths.webhook}
if [ -r ${HostPaths.managerState} ]; then
  sed -n 's/^ *"installation": "\([0-9A-Za-z-]\{1,64\}\)",\{0,1\}$/installation \1/p' \
    ${HostPaths.managerState} ${HostPaths.managerState}.previous 2>/dev/null
fi
if [ -d ${HostPaths.current}/dockeragent ]; then
  echo context
  (cd ${HostPaths.current}/dockeragent && exec find . -type f -exec sha256sum {} +)
fi
for archive in ${HostPaths.folders}/*.tar; do
  [ ! -f "$archive" ] || printf 'folder %s\n' "$archive"
done
for archive in ${HostPaths.archives}/*.tar.gz; do
  [ ! -f "$archive" ] || printf 'archive %s\n' "$archive"
done
for left in ${HostPaths.token}.next ${HostPaths.unit}.*.part*; do
  [ ! -f "$left" ] || printf 'left %s\n' "$left"
done
find ${HostPaths.etc} ${HostPaths.opt} ${HostPaths.folders} -type f -name '*.part*' -exec printf 'left %s\n' {} + 2>/dev/null
:`,
  line: /^(current|credential|registries|webhook|installation|folder|archive|left)( |$)|^(ActiveState|UnitFileState|NeedDaemonReload)=|^context$|^\\?[0-9a-f]{64}  \.\//,
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
      context: lines.has('context') ? folderDigest(filesIn(output)) : undefined,
      folders: lines.all('folder').flatMap(digestIn),
      archives: lines.all('archive').flatMap(digestIn),
      leftovers: lines.all('left').filter((path) => /^[\w./-]+$/.test(path)),
    };
  },
};

interface FileDigest {
  readonly path: string;
  readonly sha256: string;
}

/** Returns the sha256 over `SHA256  ./PATH` lines sorted by path, as `sha256sum` prints them in the folder. */
export function folderDigest(files: readonly FileDigest[]): string {
  const lines = files.toSorted((left, right) =>
    Buffer.compare(Buffer.from(left.path), Buffer.from(right.path)),
  );
  return sha256(lines.map((file) => `${file.sha256}  ./${file.path}\n`).join(''));
}

/** Parses lines of sha256sum; the first character of one with an unusual path is a backslash. */
function filesIn(output: string): FileDigest[] {
  return [...output.matchAll(/^\\?([0-9a-f]{64})  \.\/(.*)$/gm)].map(([, digest = '', path = '']) => ({
    path,
    sha256: digest,
  }));
}

/** Returns the digest that names an archive. */
const digestIn = (path: string): readonly string[] =>
  /\/([0-9a-f]{64})\.tar(\.gz)?$/.exec(path)?.slice(1, 2) ?? [];

/**
 * Returns whether the manager's unit needs a reload. In systemd 257 (not 252) a unit enabled without a reload makes all units
 * report yes, even init.scope, which has no file; such an answer is ignored.
 */
function reloadNeeded([unit, scope]: readonly string[]): boolean {
  return unit === 'yes' && scope !== 'yes';
}
