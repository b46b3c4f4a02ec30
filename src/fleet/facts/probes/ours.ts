import { Raw, sh } from '../../../shared/base/shell.ts';
import { agentUsers, HostPaths } from '../../../shared/contract/paths.ts';
import { recordFile } from '../../packages/package-record.ts';
import type { Facts } from '../facts.ts';
import { KeyedLines } from '../lines.ts';
import type { FactProbe } from '../probe.ts';

const { first, last } = agentUsers.ids;

/**
 * Looking at a host leaves its lock there, undoing the notes of its own changes, and packages and a .run file's driver that
 * stay what is noted of them: none says that something is left.
 */
export const oursProbe: FactProbe<Omit<Facts['ours'], 'daemonJsonBefore' | 'cdi' | 'sources' | 'packages'>> =
  {
    name: 'ours',
    script: () => sh`for folder in ${[HostPaths.opt, HostPaths.etc, HostPaths.state, HostPaths.agents]}; do
  [ -d "$folder" ] || continue
  for entry in "$folder"/* "$folder"/.[!.]*; do
    case $entry in ${HostPaths.state}/lock.last | ${HostPaths.changes} | ${recordFile}* | ${HostPaths.runfile}) continue ;; esac
    [ -e "$entry" ] || [ -L "$entry" ] || continue
    echo "folder $folder"
    break
  done
done
if [ -e ${HostPaths.runfile}/fetched ]; then echo ${`folder ${HostPaths.state}`}; fi
while IFS=: read -r name _ id _; do
  case $name in ${new Raw(agentUsers.prefix)}*) ;; *) continue ;; esac
  if [ "$id" -ge ${first} ] && [ "$id" -le ${last} ]; then echo "user $name"; fi
done </etc/passwd
if [ -r ${HostPaths.runfile}/installed ]; then
  read -r version extent <${HostPaths.runfile}/installed || :
  echo "runfile $version $extent"
fi`,
    parse: ({ stdout }) => {
      const lines = new KeyedLines(stdout);
      const [, version, extent] =
        /^(\d{3,4}(?:\.\d+){1,2}) (compute|graphics)$/.exec(lines.first('runfile') ?? '') ?? [];
      return {
        ...(version === undefined ? {} : { runfile: { version, graphics: extent === 'graphics' } }),
        folders: lines.all('folder').filter((path) => /^[\w./-]+$/.test(path)),
        users: lines.all('user').filter((name) => /^[a-z0-9_-]{1,32}$/.test(name)),
      };
    },
  };

/** The copy that is made before daemon.json is first written. */
export const daemonJsonBeforeProbe: FactProbe<string | undefined> = {
  name: 'daemon-json-before',
  script: () => 'cat /etc/docker/daemon.json.before-azp-fleet 2>/dev/null',
  parse: ({ code, stdout }) => (code === 0 ? stdout : undefined),
};
