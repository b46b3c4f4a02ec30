import { Raw, sh } from '../../../shared/base/shell.ts';
import { packagesFolder, type GatherQuestion, type ListedPackage } from '../package-manager.ts';
import { fetchScript, separately, type FolderParts } from '../scripts.ts';
import { noteBrought, proxyExports } from '../shell.ts';
import { requestLines } from './install.ts';
import { aptPrelude } from './prelude.ts';
import { aptSource, aptTrust, sourceParts } from './source.ts';

/** Of a flat repository, seen from its root: apt's own name for it. */
export const indexName = 'Packages';

/**
 * Shell function `describe FOLDER`: what a repository says of its index. Without, apt 2.6 takes a folder for one only after
 * several attempts.
 */
const describeFunction = `describe() {
  printf 'Date: Thu, 01 Jan 1970 00:00:00 UTC\\nSHA256:\\n %s %s ${indexName}\\n' \\
    "$(sha256sum <"$1/${indexName}" | cut -c 1-64)" "$(wc -c <"$1/${indexName}" | tr -d ' ')" >"$1/Release"
}`;

/**
 * Shell text: for as long as the script runs, apt knows the folder and nothing else, and keeps its lists there, so that the
 * host's own sources are not asked and its own lists stay. What lies in the folder was checked by the digests of the bundle,
 * and the index holds apt to the digest of every package: it is trusted as a script of ours is.
 */
const onlyTheFolder = sh`${new Raw(describeFunction)}
folder=${packagesFolder}
mkdir -p "$folder/lists/partial"
if [ -e "$folder/${new Raw(indexName)}" ]; then describe "$folder"; fi
echo "deb [trusted=yes] file:$folder ./" >"$folder/sources.list"
{
  if [ -e /etc/apt/apt.conf ]; then cat /etc/apt/apt.conf; fi
  cat <<END
Dir::Etc::SourceList "$folder/sources.list";
Dir::Etc::SourceParts "/dev/null";
Dir::State::Lists "$folder/lists";
Dir::Cache::PkgCache "";
Dir::Cache::SrcPkgCache "";
APT::Sandbox::User "root";
END
} >"$folder/last.conf"
cat >"$folder/apt.conf" <<END
Dir::Etc::Main "$folder/last.conf";
END
export APT_CONFIG="$folder/apt.conf"
`;

/** A source that has nothing but what the index says. Quoted, the text is taken as it is. */
function onlyThese(index: string): string {
  // The package that pins brings nothing that is known before it is there, and there is no other version beside it.
  return `${describeFunction}
pin() {
  bring "$@"
}
mkdir index
cat >index/Packages <<'END OF INDEX'
${index}
END OF INDEX
describe index
echo "deb [trusted=yes] file:$scratch/index ./" >sources.list
timeout -k 5 60 apt-get -q update </dev/null`;
}

/** Uses the folder of packages instead of every source. */
export const aptFolder: FolderParts = {
  onlyTheFolder,
  onlyThese: (index) => [onlyThese(index)],
  standIns: () => [],
  others: (alone) => ({
    trust: { ...aptTrust, script: (caPem, proxy) => alone(aptTrust.script(caPem, proxy)) },
  }),
};

/**
 * Runs in a container that is thrown away, so its own sources are changed at will. Packages are resolved as if nothing were
 * installed: the whole of what they need comes along, whatever a host has of it.
 */
export function gatherScript({ transactions, system, site }: GatherQuestion): string {
  const vendors = [...new Set(transactions.flatMap(({ vendor }) => vendor ?? []))];
  const { mirrors, proxy, caPem } = site;
  return [
    'exec 3>&1 >&2',
    functions,
    ...(mirrors.apt === undefined ? [] : [sh`archive=${mirrors.apt}`, fromMirror]),
    ...(caPem === undefined ? [] : [separately(aptTrust.script(caPem, proxy))]),
    ...vendors.map((vendor) => separately(aptSource(vendor, system, site).script)),
    ...proxyExports(proxy),
    aptPrelude,
    "update ''",
    ...vendors.map((vendor) => sh`cp ${sourceParts(vendor, system, site).keyFile} keys/${vendor}`),
    gathering,
    'take install ca-certificates',
    ...transactions.flatMap((each) => [fetchScript(each, requestLines), 'restore_pins']),
    finish,
  ].join('\n');
}

const functions = `umask 022
out=/azp-fleet-gathered
mkdir -p "$out/pool/partial" "$out/keys"
cd "$out" || exit
: >nothing-installed
cp -a /etc/apt/preferences.d pins
# Images of distributions let apt throw away what it has fetched.
rm -f /etc/apt/apt.conf.d/docker-clean
printf 'APT::Sandbox::User "root";\nAcquire::Retries "3";\n' >/etc/apt/apt.conf.d/zz-azp-fleet
# What the container reads is shown to nobody.
source_added() { :; }
restore_pins() {
  rm -rf /etc/apt/preferences.d
  cp -a "$out/pins" /etc/apt/preferences.d
}`;

/** The same replacement as in the agents' image. */
const fromMirror = `for file in /etc/apt/sources.list /etc/apt/sources.list.d/*; do
  if [ -f "$file" ]; then
    sed -E -i "s#https?://((archive|security|ports)\\.ubuntu\\.com|(deb|security)\\.debian\\.org)#$archive#" "$file"
  fi
done`;

/** \`take\` fetches and installs nothing; \`bring\` and \`pin\` are what \`before\` of transactions calls. */
const gathering = `take() {
  apt_get -o Dir::State::status="$out/nothing-installed" -o Dir::Cache::Archives="$out/pool" --download-only "$@"
}
${noteBrought}
pin() {
  bring "$@"
  for name in "$@"; do
    take install "$name"
    for file in "$out"/pool/"$name"_*.deb; do
      dpkg-deb --fsys-tarfile "$file" | tar -xf - -C /etc/apt/preferences.d --strip-components=4 ./etc/apt/preferences.d
    done
  done
}`;

/** Names without what a URI would encode; of each package what apt resolves by, and what holds it to its content. */
const finish = `rm -rf pool/partial pool/lock nothing-installed pins
for file in pool/*.deb; do
  name=$(dpkg-deb -f "$file" Package)
  version=$(dpkg-deb -f "$file" Version)
  plain=\${name}_\${version#*:}_$(dpkg-deb -f "$file" Architecture).deb
  if [ "$file" != "pool/$plain" ]; then mv "$file" "pool/$plain"; fi
  dpkg-deb -f "pool/$plain" | awk '
    /^[^ ]/ { keep = /^(Package|Source|Version|Architecture|Multi-Arch|Essential|Protected|Important|Priority|Installed-Size|Depends|Pre-Depends|Provides|Conflicts|Breaks|Replaces):/ }
    keep { print }'
  printf 'Filename: ./pool/%s\nSize: %s\nSHA256: %s\n\n' "$plain" "$(wc -c <"pool/$plain" | tr -d ' ')" \
    "$(sha256sum <"pool/$plain" | cut -c 1-64)"
done >${indexName}
tar -cf - ${indexName} keys pool >&3`;

/** What an index of `gatherScript` names. Fields that it lacks are empty. */
export function listedPackages(index: string): ListedPackage[] {
  return index
    .trim()
    .split('\n\n')
    .map((stanza) => {
      const field = (name: string): string => new RegExp(`^${name}: (.*)$`, 'm').exec(stanza)?.[1] ?? '';
      return {
        name: field('Package'),
        version: field('Version'),
        architecture: field('Architecture'),
        file: field('Filename').replace('./pool/', ''),
        sha256: field('SHA256'),
      };
    });
}

/** Takes out of the folder what its index does not name. */
export const tidyScript = sh`cd ${packagesFolder}/pool || exit
for file in *; do
  if ! grep -qxF "Filename: ./pool/$file" ../${indexName}; then rm -f "$file"; fi
done`;
