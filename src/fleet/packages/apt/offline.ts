import { Raw, sh } from '../../../shared/base/shell.ts';
import { packagesFolder, type GatherQuestion, type ListedPackage } from '../package-manager.ts';
import { fetchScript, separately, type FolderParts } from '../scripts.ts';
import { noteBrought, proxyExports } from '../shell.ts';
import { requestLines } from './install.ts';
import { aptPrelude } from './prelude.ts';
import { aptSource, aptTrust, sourceParts } from './source.ts';

/** apt's name for the index of a flat repository. */
export const indexName = 'Packages';

/**
 * Shell function `describe FOLDER`: writes the Release file of the index. Without it, apt 2.6 accepts the folder only after
 * several attempts.
 */
const describeFunction = `describe() {
  printf 'Date: Thu, 01 Jan 1970 00:00:00 UTC\\nSHA256:\\n %s %s ${indexName}\\n' \\
    "$(sha256sum <"$1/${indexName}" | cut -c 1-64)" "$(wc -c <"$1/${indexName}" | tr -d ' ')" >"$1/Release"
}`;

/**
 * Shell text: while the script runs, apt uses only the folder and keeps its lists there, and the host's sources and lists stay
 * unchanged. The folder is trusted: its files were checked against the bundle's digests, and apt checks each package against the
 * index.
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

/** Returns shell text for a source with the packages of the index alone. */
function onlyThese(index: string): string {
  // The pins of the pinning package are unknown, and the index has only one version of each package.
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
 * Fetches packages in a temporary container, whose sources it may change. apt resolves as if nothing were installed, so that all
 * dependencies are fetched.
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
# Images of distributions make apt delete what it has fetched.
rm -f /etc/apt/apt.conf.d/docker-clean
printf 'APT::Sandbox::User "root";\nAcquire::Retries "3";\n' >/etc/apt/apt.conf.d/zz-azp-fleet
# Nothing shows the sources of the container.
source_added() { :; }
restore_pins() {
  rm -rf /etc/apt/preferences.d
  cp -a "$out/pins" /etc/apt/preferences.d
}`;

/** Replaces the archive by the site's mirror, as the agents' image does. */
const fromMirror = `for file in /etc/apt/sources.list /etc/apt/sources.list.d/*; do
  if [ -f "$file" ]; then
    sed -E -i "s#https?://((archive|security|ports)\\.ubuntu\\.com|(deb|security)\\.debian\\.org)#$archive#" "$file"
  fi
done`;

/** `take` fetches without installing; `before` of transactions calls `bring` and `pin`. */
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

/** Writes the index: names without characters that a URI encodes, the fields that apt resolves by, and each digest. */
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

/** Parses an index of `gatherScript`. Missing fields are empty. */
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

/** Removes files from the folder that its index does not name. */
export const tidyScript = sh`cd ${packagesFolder}/pool || exit
for file in *; do
  if ! grep -qxF "Filename: ./pool/$file" ../${indexName}; then rm -f "$file"; fi
done`;
