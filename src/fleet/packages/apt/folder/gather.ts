import { sh } from '../../../../shared/base/shell.ts';
import { byItself, fetched } from '../../offline/fetched.ts';
import type { GatherQuestion } from '../../offline/gather-question.ts';
import { proxyExports } from '../../proxy.ts';
import { requestLines } from '../request.ts';
import { aptPrelude } from '../prelude.ts';
import { aptSource, sourceParts } from '../source.ts';
import { aptTrust } from '../trust.ts';
import { indexName } from '../flat.ts';

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
    ...(caPem === undefined ? [] : [byItself(aptTrust.script(caPem, proxy))]),
    ...vendors.map((vendor) => byItself(aptSource(vendor, system, site).script)),
    ...proxyExports(proxy),
    aptPrelude,
    "update ''",
    ...vendors.map((vendor) => sh`cp ${sourceParts(vendor, system, site).keyFile} keys/${vendor}`),
    gathering,
    'take install ca-certificates',
    ...transactions.flatMap((each) => [fetched(each, requestLines), 'restore_pins']),
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
bring() {
  brought="$brought $*"
}
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
