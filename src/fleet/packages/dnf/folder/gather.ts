import { sh } from '../../../../shared/base/shell.ts';
import { byItself, fetched } from '../../offline/fetched.ts';
import type { GatherQuestion } from '../../offline/gather-question.ts';
import { proxyExports } from '../../proxy.ts';
import { consequenceFilters } from '../consequences.ts';
import { sourceFunctions } from '../put-source.ts';
import { bringFunctions } from '../downloads.ts';
import { dnfPrelude } from '../prelude.ts';
import { requestLines } from '../request.ts';
import { dnfSource, sourceParts } from '../source.ts';
import { dnfTrust } from '../trust.ts';
import { indexPath } from './flat.ts';
import { writeIndex } from './write-index.ts';

/**
 * Runs in a container that is thrown away, so its own sources are changed at will. Packages are resolved into an empty root:
 * the whole of what they need comes along, whatever a host has of it. dnf of all generations (4.7 in release 8 to 4.20 in
 * release 10, 4.14 in Amazon Linux 2023) checks signatures of what it only downloads, too (dnf/cli/cli.py, `do_transaction`),
 * which `dnf download` does not.
 */
export function gatherScript({ transactions, system, site }: GatherQuestion): string {
  const vendors = [...new Set(transactions.flatMap(({ vendor }) => vendor ?? []))];
  const { proxy, caPem } = site;
  return [
    'exec 3>&1 >&2',
    functions,
    ...proxyExports(proxy),
    ...(caPem === undefined ? [] : [byItself(dnfTrust.script(caPem, proxy))]),
    tools,
    ...vendors.map((vendor) => byItself(dnfSource(vendor, system, site).script)),
    dnfPrelude,
    consequenceFilters,
    sourceFunctions,
    bringFunctions,
    ...vendors.map((vendor) => sh`cp ${sourceParts(vendor, system, site).keyFile} keys/${vendor}`),
    gathering,
    "update ''",
    "take 'dnf-command(versionlock)'",
    ...transactions.map((each) => fetched(each, requestLines)),
    writeIndex,
    finish,
  ].join('\n');
}

const functions = `umask 022
out=/var/lib/azp-fleet-gathered
mkdir -p "$out/pool" "$out/keys" "$out/root"
cd "$out" || exit`;

/** Amazon's image has neither find nor tar, and Oracle's no tar. */
const tools = `set --
for tool in awk find tar; do
  if ! command -v "$tool" >/dev/null; then set -- "$@" "/usr/bin/$tool"; fi
done
if [ "$#" -gt 0 ]; then dnf -y install "$@"; fi`;

/**
 * `take` fetches and installs nothing; `bring` and `more_packages` are what `before` of transactions calls. What EPEL and
 * NVIDIA's packages lean on is in repositories that images have and switch off; Oracle's kernels are, too. Whatever
 * the image says of a repository, no package of it comes without a signature that fits.
 */
const gathering = `known=$(dnf -q repolist --all)
set --
for id in $(printf '%s\\n' "$known" | awk '{ print $1 }' |
  grep -Ex 'crb|powertools|ol[0-9]+_(codeready_builder|UEKR[0-9]+)|codeready-builder-for-rhel-[0-9]+-[a-z0-9_]+-rpms'); do
  set -- "$@" "--enablerepo=$id"
done
repositories=$*
dnf() {
  # The names of repositories hold no blanks, and are meant to be split.
  # shellcheck disable=SC2086
  command dnf --installroot="$out/root" --releasever=/ '--setopt=*.gpgcheck=1' $repositories "$@"
}
take() {
  [ "$#" -gt 0 ] || return 0
  for pause in 10 0; do
    aloud dnf_run -y --downloadonly --downloaddir="$out/pool" install "$@"
    if fetched "$pause"; then break; fi
  done
  [ "$code" -eq 0 ] || fail 'dnf cannot fetch the packages' "$*" \\
    "\${trouble:-$(printf '%s\\n' "$words" | sed -n 's/^Problem repository: /its packages carry no signature that a known key fits: /p')}" \\
    'check the network, the proxy and the mirrors in the inventory, and run again'
}
bring() {
  brought="$brought $*"
}
more_packages() {
  command dnf -y install "$1"
}`;

/** Names as rpm makes them, whatever the repository called the files. */
const finish = sh`for file in pool/*.rpm; do
  plain=$(rpm -qp --nosignature --qf '%{NAME}-%{VERSION}-%{RELEASE}.%{ARCH}.rpm' "$file")
  if [ "$file" != "pool/$plain" ]; then mv "$file" "pool/$plain"; fi
done
write_index
mv ${indexPath} .
tar -cf - primary.xml keys pool >&3`;
