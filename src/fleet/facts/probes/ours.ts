import type { Facts } from '../facts.ts';
import { KeyedLines } from '../lines.ts';
import type { FactProbe } from '../probe.ts';
import { packageManagers } from '../../packages/distribution.ts';
import { longestRecord, type PackageRecord, readRecord, recordFile } from '../../packages/package-record.ts';
import { asideEnding } from '../../packages/sources.ts';
import { allVendors, vendors } from '../../packages/vendors.ts';
import { textOf } from './files.ts';
import { Raw, sh } from '../../../shared/base/shell.ts';
import { auditFile } from '../../audit/host-script.ts';
import { agentUsers, HostPaths } from '../../../shared/contract/paths.ts';

const { first, last } = agentUsers.ids;

/**
 * Reads azp-fleet's folders and users. Ignores files that stay without an installation, or that a
 * removal's own run writes: the lock, the audit files, records of changes, of remaining packages and of a .run driver.
 */
export const oursProbe: FactProbe<Omit<Facts['ours'], 'daemonJsonBefore' | 'cdi' | 'sources' | 'packages'>> =
  {
    name: 'ours',
    facts: ['ours'],
    byHand: sh`ls -a ${[HostPaths.opt, HostPaths.etc, HostPaths.state, HostPaths.agents]}`,
    script: () => sh`for folder in ${[HostPaths.opt, HostPaths.etc, HostPaths.state, HostPaths.agents]}; do
  [ -d "$folder" ] || continue
  for entry in "$folder"/* "$folder"/.[!.]*; do
    case $entry in ${HostPaths.state}/lock.last | ${auditFile}* | ${HostPaths.changes} | ${recordFile}* | ${HostPaths.runfile}) continue ;; esac
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
    line: /^(folder|user|runfile) /,
    parse: (output) => {
      const lines = new KeyedLines(output);
      const [, version, extent] =
        /^(\d{3,4}(?:\.\d+){1,2}) (compute|graphics)$/.exec(lines.first('runfile') ?? '') ?? [];
      return {
        ...(version === undefined ? {} : { runfile: { version, graphics: extent === 'graphics' } }),
        folders: lines.all('folder').filter((path) => /^[\w./-]+$/.test(path)),
        users: lines.all('user').filter((name) => /^[a-z0-9_-]{1,32}$/.test(name)),
      };
    },
  };

/** Reads the backup of daemon.json from before azp-fleet's first change. */
export const daemonJsonBeforeProbe: FactProbe<string | undefined> = {
  name: 'daemon-json-before',
  facts: ['ours'],
  byHand: 'cat /etc/docker/daemon.json.before-azp-fleet',
  ...textOf('/etc/docker/daemon.json.before-azp-fleet'),
};

/** The last line of azp-fleet's specification in /etc/cdi, made by a toolkit without a service for it. */
export const cdiMark = '# Made for azp-fleet, and taken away with the NVIDIA Container Toolkit.';

const suffix = '.before-azp-fleet';

/** Returns the name of a file set aside. Engines read only .yaml and .json files. */
export function asideOf(path: string): string {
  return `${path}${suffix}`;
}

/** Reads the specifications that azp-fleet made or set aside. */
export const oursCdiProbe: FactProbe<Facts['ours']['cdi']> = {
  name: 'ours-cdi',
  facts: ['ours'],
  byHand: 'ls -l /etc/cdi',
  script: () => `set --
for file in /etc/cdi/*; do
  case $file in *${suffix}) echo "aside $file"; continue ;; esac
  if [ -f "$file" ]; then set -- "$@" "$file"; fi
done
if [ "$#" -gt 0 ]; then grep -lsxF '${cdiMark}' "$@"; fi`,
  line: /^(aside )?\//,
  parse: (output) => {
    const paths = (line: RegExp) => [...output.matchAll(line)].map(([, path = '']) => path);
    return {
      made: paths(/^(\/etc\/cdi\/[\w.-]{1,200})$/gm),
      aside: paths(/^aside (\/etc\/cdi\/[\w.-]{1,200})$/gm).map((path) => path.slice(0, -suffix.length)),
    };
  },
};

/** Reads the record of packages that azp-fleet found, installed and held. */
export const oursPackagesProbe: FactProbe<PackageRecord | undefined> = {
  name: 'ours-packages',
  facts: ['ours'],
  byHand: sh`cat ${recordFile}`,
  script: () => sh`if [ -e ${recordFile} ]; then head -c ${longestRecord} ${recordFile} || exit; fi`,
  line: /^(part|theirs|kept|brought|held) /,
  parse: readRecord,
};

const ending = '.disabled';

/** Shell text that adds vendors whose repositories, or mirrors in azp-fleet's sources, a file contains. */
const named = allVendors.map(
  (
    vendor,
  ) => sh`address=$(sed -n 's/^URIs: *//p; s/^baseurl=//p' "$folder"/azp-fleet-${vendor}.* 2>/dev/null | head -n 1)
    if grep -Eq ${vendors[vendor].pattern} "$aside" || { [ -n "$address" ] && grep -Fq "$address" "$aside"; }; then
      names="$names,"${vendor}
    fi`,
);

/** Reads disabled repositories of others. */
export const oursSourcesProbe: FactProbe<Facts['ours']['sources']> = {
  name: 'ours-sources',
  facts: ['ours'],
  byHand: sh`ls ${packageManagers.map(({ sourceFolder }) => sourceFolder)}`,
  script: () => `${sh`for folder in ${packageManagers.map(({ sourceFolder }) => sourceFolder)}; do`}
  for aside in "$folder"/*${ending}; do
    [ -f "$aside" ] || continue
    file=\${aside%${ending}}
    file=\${file%.azp-fleet-*}
    state=free names=-
    if [ -e "$file" ]; then state=taken; fi
    ${named.join('\n    ')}
    echo "$state $names $aside"
  done
done`,
  line: /^(free|taken) [a-z,-]* \//,
  parse: (output) => {
    const lines = new KeyedLines(output);
    return (['free', 'taken'] as const).flatMap((state) =>
      lines.all(state).flatMap((line) => source(line, state === 'taken')),
    );
  },
};

function source(line: string, taken: boolean): Facts['ours']['sources'] {
  const [, list = '', aside] = /^([a-z,-]*) (\/[^\p{C}]{1,300})$/u.exec(line) ?? [];
  if (aside === undefined) return [];
  const names = allVendors.filter((vendor) => list.split(',').includes(vendor));
  const by = allVendors.find((vendor) => aside.endsWith(asideEnding(vendor)));
  // A disabled file without a record and for another repository is not azp-fleet's concern.
  if (by === undefined && names.length === 0) return [];
  const file = aside.slice(0, -(by === undefined ? ending : asideEnding(by)).length);
  return [{ file, aside, by, names, taken }];
}
