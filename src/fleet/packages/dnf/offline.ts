import { quote, Raw, sh } from '../../../shared/base/shell.ts';
import { packagesFolder, type GatherQuestion, type ListedPackage } from '../package-manager.ts';
import { fetchScript, holdScript, separately, type FolderParts } from '../scripts.ts';
import { noteBrought, proxyExports } from '../shell.ts';
import { dnfTransactions, requestLines } from './install.ts';
import { bringFunctions, consequenceFilters, dnfPrelude } from './prelude.ts';
import { dnfSource, dnfTrust, sourceFunctions, sourceParts } from './source.ts';

/** Path of the index in a repository. */
export const indexPath = 'repodata/primary.xml';

const repository = 'azp-fleet-bundle';

/**
 * Shell function `describe FOLDER SOURCES`: writes the folder's repomd.xml, and a .repo file into SOURCES. `module_hotfixes`: the
 * folder has no metadata of modules, whatever stream the host has enabled (dnf/db/group.py, `_test_fail_safe`). The folder is
 * trusted: its files were checked against the bundle's digests, and dnf checks each package against the index (dnf/base.py,
 * `verifyLocalPkg`).
 */
const describeFunction = sh`describe() {
  digest=$(sha256sum <"$1/${new Raw(indexPath)}" | cut -c 1-64)
  cat >"$1/repodata/repomd.xml" <<END
<repomd xmlns="http://linux.duke.edu/metadata/repo"><revision>$digest</revision><data type="primary">
<checksum type="sha256">$digest</checksum><open-checksum type="sha256">$digest</open-checksum>
<location href="${new Raw(indexPath)}"/><timestamp>0</timestamp>
</data></repomd>
END
  cat >"$2/${new Raw(repository)}.repo" <<END
[${new Raw(repository)}]
name=${new Raw(repository)}
baseurl=file://$1
enabled=1
gpgcheck=0
repo_gpgcheck=0
module_hotfixes=1
END
}`;

/**
 * Plugins that contact Red Hat or Amazon with each call of dnf, or store names for completion in /var/cache/dnf. dnf ignores
 * unknown names.
 */
const withoutPlugins = [
  'subscription-manager',
  'product-id',
  'release-notification',
  'generate_completion_cache',
]
  .map((name) => `--disableplugin=${name}`)
  .join(' ');

/** Returns shell functions that fail instead of adding a repository. `next`: the next action. */
function noRepositories(next: string): string {
  return `more_packages() {
  fail "the bundle lacks packages that \${1##*/} provides" 'all of them in the bundle' none ${quote(next)}
}
more_source() {
  more_packages "$1"
}`;
}

/**
 * Shell text: while the script runs, dnf uses only the folder and keeps its lists there, and the host's sources and lists stay
 * unchanged. The function replaces the program wherever the script calls it. Packages, locks and logs are the host's.
 */
const onlyTheFolder = sh`${new Raw(describeFunction)}
folder=${packagesFolder}
mkdir -p "$folder/sources"
if [ -e "$folder/${new Raw(indexPath)}" ]; then describe "$folder" "$folder/sources"; fi
dnf() {
  command dnf --setopt=reposdir="$folder/sources" --setopt=cachedir="$folder/cache" \
    ${new Raw(withoutPlugins)} "$@"
}
`;

/** Returns shell text for a source with the packages of the index alone. dnf does not read the packages themselves. */
function onlyThese(index: string): string {
  return `${describeFunction}
mkdir -p index/repodata
cat >index/${indexPath} <<'END OF INDEX'
${index}
END OF INDEX
describe "$scratch/index" "$sources"`;
}

/** Uses the folder of packages instead of every source. */
export const dnfFolder: FolderParts = {
  onlyTheFolder,
  onlyThese: (index, next) => [onlyThese(index), noRepositories(next), 'read_lists'],
  standIns: (next) => [noRepositories(next)],
  others: (alone) => ({
    hold: (names, siblings) => alone(holdScript(dnfTransactions, names, siblings)),
  }),
};

/**
 * Fetches packages in a temporary container, whose sources it may change. dnf resolves into an empty root, so that all dependencies
 * are fetched. All supported versions of dnf (4.7 in release 8 to 4.20 in release 10, 4.14 in Amazon Linux 2023) check signatures
 * also with --downloadonly (dnf/cli/cli.py, `do_transaction`); `dnf download` does not.
 */
export function gatherScript({ transactions, system, site }: GatherQuestion): string {
  const vendors = [...new Set(transactions.flatMap(({ vendor }) => vendor ?? []))];
  const { proxy, caPem } = site;
  return [
    'exec 3>&1 >&2',
    functions,
    ...proxyExports(proxy),
    ...(caPem === undefined ? [] : [separately(dnfTrust.script(caPem, proxy))]),
    tools,
    ...vendors.map((vendor) => separately(dnfSource(vendor, system, site).script)),
    dnfPrelude,
    consequenceFilters,
    sourceFunctions,
    bringFunctions,
    ...vendors.map((vendor) => sh`cp ${sourceParts(vendor, system, site).keyFile} keys/${vendor}`),
    gathering,
    "update ''",
    "take 'dnf-command(versionlock)'",
    ...transactions.map((each) => fetchScript(each, requestLines)),
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
 * `take` fetches without installing; `before` of transactions calls `bring` and `more_packages`. Dependencies of EPEL's and NVIDIA's
 * packages, and Oracle's kernels, are in repositories that images have disabled. `gpgcheck=1` checks the signature of each package,
 * whatever the image configures.
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
    "\${trouble:-$(printf '%s\\n' "$words" | sed -n 's/^Problem repository: /packages not signed by a known key: /p')}" \\
    'check the network, the proxy and the mirrors in the inventory, and run again'
}
${noteBrought}
more_packages() {
  command dnf -y install "$1"
}`;

/** Renames files as rpm names packages, and writes the index and the archive. */
const finish = sh`for file in pool/*.rpm; do
  plain=$(rpm -qp --nosignature --qf '%{NAME}-%{VERSION}-%{RELEASE}.%{ARCH}.rpm' "$file")
  if [ "$file" != "pool/$plain" ]; then mv "$file" "pool/$plain"; fi
done
write_index
mv ${indexPath} .
tar -cf - primary.xml keys pool >&3`;

/** Query format of rpm: one fact a line, fields separated by tabs. */
const format = [
  String.raw`name\t%{NAME}\t%{EPOCHNUM}\t%{VERSION}\t%{RELEASE}\t%{ARCH}\t%{LONGSIZE}\n`,
  ...['PROVIDE', 'REQUIRE', 'CONFLICT', 'OBSOLETE'].map(
    (tag) => String.raw`[${tag.toLowerCase()}s\t%{${tag}NAME}\t%{${tag}FLAGS}\t%{${tag}VERSION}\n]`,
  ),
  String.raw`[file\t%{FILENAMES}\n]`,
].join('');

/**
 * Shell function `write_index`: writes primary.xml of the packages in `pool`, which dnf resolves by, always the same for the same
 * packages (fields as in rpm-software-management/createrepo_c, xml_dump_primary.c). It lists the files that other packages may
 * require: those that createrepo_c lists, /usr/libexec, and what a package in the pool requires. Weak dependencies are left out,
 * because no script installs them.
 */
export const writeIndex = sh`write_index() {
  mkdir -p ${indexPath.slice(0, indexPath.lastIndexOf('/'))}
  for file in pool/*.rpm; do
    printf 'package\t%s\t%s\t%s\n' "$file" "$(wc -c <"$file")" "$(sha256sum <"$file" | cut -c 1-64)"
    rpm -qp --nosignature --qf ${format} "$file"
  done >facts
  awk -F '\t' '
    function text(value) {
      gsub(/&/, "\\&amp;", value)
      gsub(/</, "\\&lt;", value)
      gsub(/>/, "\\&gt;", value)
      gsub(/"/, "\\&quot;", value)
      return value
    }
    function evr(whole,   epoch, release) {
      epoch = "0"
      if (match(whole, /^[0-9]+:/)) {
        epoch = substr(whole, 1, RLENGTH - 1)
        whole = substr(whole, RLENGTH + 1)
      }
      if (match(whole, /-[^-]*$/)) {
        release = " rel=\"" text(substr(whole, RSTART + 1)) "\""
        whole = substr(whole, 1, RSTART - 1)
      }
      return " epoch=\"" epoch "\" ver=\"" text(whole) "\"" release
    }
    function relation(name, flags, version,   kind) {
      kind = word[int(flags / 2) % 8]
      return "<rpm:entry name=\"" text(name) "\"" (kind == "" ? "" : " flags=\"" kind "\"" evr(version)) "/>\n"
    }
    function finish(   at) {
      if (place == "") return
      print "<format>"
      for (at = 1; at in kinds; at++) if (list[kinds[at]] != "") printf "<rpm:%s>\n%s</rpm:%s>\n", kinds[at], list[kinds[at]], kinds[at]
      printf "%s</format></package>\n", files
    }
    BEGIN {
      split("provides requires conflicts obsoletes", kinds, " ")
      word[1] = "LT"; word[2] = "GT"; word[4] = "EQ"; word[5] = "LE"; word[6] = "GE"
    }
    NR == FNR { if ($1 == "requires") asked[$2]; if ($1 == "package") count++; next }
    !head++ {
      print "<?xml version=\"1.0\" encoding=\"UTF-8\"?>"
      printf "<metadata xmlns=\"http://linux.duke.edu/metadata/common\" xmlns:rpm=\"http://linux.duke.edu/metadata/rpm\" packages=\"%d\">\n", count
    }
    $1 == "package" { finish(); files = ""; split("", list); split("", seen); place = $2; bytes = $3; digest = $4 }
    $1 == "name" {
      printf "<package type=\"rpm\"><name>%s</name><arch>%s</arch><version epoch=\"%s\" ver=\"%s\" rel=\"%s\"/>\n", text($2), $6, $3, text($4), text($5)
      printf "<checksum type=\"sha256\" pkgid=\"YES\">%s</checksum><size package=\"%s\" installed=\"%s\"/>\n", digest, bytes, $7
      printf "<location href=\"%s\"/>\n", text(place)
    }
    $1 ~ /^(provides|requires|conflicts|obsoletes)$/ && $2 != "(none)" && $2 !~ /^rpmlib\(/ && !seen[$0]++ {
      list[$1] = list[$1] relation($2, $3, $4)
    }
    $1 == "file" && ($2 ~ /^[\/]etc[\/]|bin[\/]|^[\/]usr[\/](libexec[\/]|lib[\/]sendmail$)/ || $2 in asked) {
      files = files "<file>" text($2) "</file>\n"
    }
    END { finish(); print "</metadata>" }' facts facts >${indexPath}
  rm facts
}`;

/** Parses an index of `writeIndex`. Missing fields are empty. */
export function listedPackages(index: string): ListedPackage[] {
  return index
    .split('<package ')
    .slice(1)
    .map((text) => {
      const first = (pattern: RegExp): string => pattern.exec(text)?.[1] ?? '';
      const epoch = first(/<version epoch="(\d*)"/);
      const version = `${first(/<version [^>]*ver="([^"]*)"/)}-${first(/<version [^>]*rel="([^"]*)"/)}`;
      return {
        name: first(/<name>([^<]*)</),
        version: epoch === '0' ? version : `${epoch}:${version}`,
        architecture: first(/<arch>([^<]*)</),
        file: first(/<location href="pool\/([^"]*)"/),
        sha256: first(/<checksum [^>]*>([^<]*)</),
      };
    });
}

/** Removes files from the folder that its index does not name. */
export const tidyScript = sh`cd ${packagesFolder}/pool || exit
for file in *; do
  if ! grep -qF "<location href=\"pool/$file\"/>" ../${indexPath}; then rm -f "$file"; fi
done`;
