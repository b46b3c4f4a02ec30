import { quote, sh } from '../../../shared/base/shell.ts';
import type { Dialect } from '../answers.ts';
import type { SimulationParts } from '../scripts.ts';
import { makeFolder, noteBrought, simulatedFail } from '../shell.ts';
import type { Obstacle, Question } from '../simulation.ts';
import { linkSources } from '../sources.ts';
import type { Vendor } from '../vendors.ts';
import { dnfTransactions } from './install.ts';
import { consequenceFilters, dnfPrelude, lockList } from './prelude.ts';
import { repositoryId, sourceGlobs, sourceParts } from './source.ts';

/** The simulation downloads only lists, so it needs no keys. */
function sources({ missing, system, site }: Question, vendors: readonly Vendor[]): readonly string[] {
  const added = missing.map((vendor) => sourceParts(vendor, system, site));
  return [
    linkSources(sourceGlobs, added),
    ...added.map(
      ({ file, text }) => `printf %s ${quote(text)} >"$sources/${file.slice(file.lastIndexOf('/') + 1)}"`,
    ),
    'read_lists',
    ...vendors.map((vendor) => sh`listen ${vendor} ${repositoryId(vendor)}`),
  ];
}

/**
 * Shell text that makes dnf use the folder `$scratch` while the script runs. Its lists are links to the host's, which dnf replaces
 * by renaming; `$sources` has the host's repositories; the lock list is a copy. The rpm database is the host's: the script
 * starts nothing that writes to it.
 */
const makeScratch = `${makeFolder}
cd "$scratch"
sources=$scratch/repos
mkdir -p cache log plugins "$sources"
if [ -d /var/cache/dnf ]; then
  cp -rs /var/cache/dnf/. cache/
  rm -f cache/*.pid
fi
for conf in /etc/dnf/plugins/*.conf; do
  if [ -e "$conf" ]; then cp "$conf" plugins/; fi
done
printf '[main]\\nenabled=1\\nlocklist=%s/locks\\n' "$scratch" >plugins/versionlock.conf
cat ${lockList} >all-locks 2>/dev/null || :
cp all-locks locks`;

/** Returns shell text that makes dnf trust the site's authority beside the host's. */
function trustSite(caPem: string): string {
  return sh`{ cat /etc/pki/tls/certs/ca-bundle.crt 2>/dev/null || :; printf '%s\n' ${caPem}; } >ca.crt
authority=--setopt=sslcacert=$scratch/ca.crt`;
}

/**
 * Shell functions of a simulation. They need the prelude, and replace its functions that end the script, change the host, or wait:
 * `dnf_run`, `fail`, `choose`, `update`, `bring`, `lock_list`, `more_packages`, `more_source`, `switch_on`, `put_source`, `refuse`.
 *
 * `read_lists` reads all lists. `listen VENDOR ID` prints whether that repository answered.
 * `begin KEY` and `finish CODE` enclose one transaction. Between them, `unheld NAME…` removes locks from the copied list,
 * `more_packages PACKAGE` unpacks a package that adds a repository and reads that (`$line`: what could not be read of it), and
 * `ask WORD…` prints dnf's answer, the disk space that it takes, and the locks that prevent it. `$brought` has further packages.
 * The completion plugin is off, because it writes to /var/cache/dnf wherever the lists are.
 */
const simulationFunctions = `dnf_run() {
  dnf --setopt=install_weak_deps=0 --setopt=best=1 --setopt=clean_requirements_on_remove=0 \\
    '--setopt=*.skip_if_unavailable=1' --setopt=timeout=10 --setopt=retries=1 \\
    --setopt=reposdir="$sources" --setopt=cachedir="$scratch/cache" --setopt=logdir="$scratch/log" \\
    --setopt=pluginconfpath="$scratch/plugins" \${authority:+"$authority"} \\
    --disableplugin=subscription-manager --disableplugin=product-id --disableplugin=generate_completion_cache \
    \${enabled:+"--enablerepo=$enabled"} "$@"
}
${simulatedFail}
refuse() {
  echo certain >&3
  fail "$@"
}
of_any_branch() {
  for pattern in "$@"; do offered "$pattern"; done
}
choose() {
  version=$(newest "$1" "$2")
  if [ -z "$version" ]; then
    echo missing >&3
    variants | head -n 500 | sed 's/^/offer /' >&3
    exit 0
  fi
  version=\${version#*:}
  version=\${version%-*}
}
${noteBrought}
update() {
  :
}
put_source() {
  :
}
more_packages() {
  brought="$brought $1"
  if dnf_run -y --nogpgcheck --downloadonly --downloaddir="$scratch/more" install "$1" >more.words 2>&1 </dev/null &&
    rpm --root "$scratch/more" --dbpath /db -i --nodeps --noscripts --notriggers --nosignature more/*.rpm >>more.words 2>&1 &&
    cp --remove-destination more/etc/yum.repos.d/*.repo "$sources/"; then
    read_more
  else
    cat more.words
    line=$(unfetched <more.words)
    line=\${line:-$(unread <update.words)}
    line=\${line:-the repositories of $1 are unknown until it is installed}
  fi
}
switch_on() {
  echo "repository $1" >&3
  enabled=$1
  read_more
}
more_source() {
  echo "repository $1" >&3
  rm -f "$sources/\${2##*/}"
  printf %s "$3" >"$sources/\${2##*/}"
  read_more
}
read_more() {
  dnf_run makecache >lists.words 2>&1 </dev/null || :
  line=
  case $(cat lists.words) in *'Ignoring repositories'*) line=$(unread <lists.words) ;; esac
}
lock_list() {
  [ "$1" = list ] && dnf -q --disablerepo='*' versionlock list
}
read_lists() {
  dnf_run --refresh makecache >update.words 2>&1 </dev/null || :
  cat update.words
  ignored=$(sed -n 's/^Ignoring repositories: *//p' update.words)
  if [ -n "$ignored" ]; then echo "partial $(unread <update.words)" >&3; fi
}
listen() {
  case ", $ignored," in
    *", $2,"*)
      echo "silent $1 $(sed -n "/repository '$2'/,/^Error/p" update.words | unread)" >&3 ;;
  esac
}
begin() {
  brought=
  line=
  enabled=
  echo "begin $1" >&3
}
finish() {
  if [ "$1" -ne 0 ]; then echo "broken $1" >&3; fi
  echo end >&3
}
lock_names() {
  sed -n 's/^ *\\([^ #!][^ ]*\\)-[^-]*-[^-]*$/\\1/p' "$@"
}
unheld() {
  awk -v names=" $* " '
    { name = $1; sub(/-[^-]*-[^-]*$/, "", name) }
    /^ *[^#!]/ && index(names, " " name " ") > 0 { next }
    { print }' all-locks >locks
}
ask() {
  if [ -n "$line" ]; then echo "partial $line" >&3; fi
  request "$@" | dnf_run --assumeno --allowerasing shell >answer 2>&1 || :
  trouble=$(troubles <answer)
  if [ -z "$trouble" ]; then
    effects <answer | with_versions >&3
    disk_space <answer >&3
  elif held=$(held_back "$@" | tr '\\n' ' ') && [ -n "$held" ]; then
    echo "held $held" >&3
  else
    cat answer
    echo "words $trouble" >&3
  fi
}
held_back() {
  lock_names locks >held
  if [ -s held ]; then
    request "$@" | dnf_run --assumeno --allowerasing --disableplugin=versionlock shell >freed 2>&1 || :
    if [ -z "$(troubles <freed)" ]; then
      effects <freed | awk '{ print $2 }' | grep -xF -f held | sort -u || :
    fi
  fi
}
with_versions() {
  while read -r verb name to; do
    case $verb in
      upgrade | downgrade) echo "$verb $name $(installed "\${name%%:*}") $to" ;;
      *) echo "$verb $name $to" ;;
    esac
  done
}`;

const dialect: Dialect = {
  program: 'dnf',
  packageName: /^[A-Za-z0-9][A-Za-z0-9_+.-]{0,100}(?::[a-z0-9_]{1,20})?$/,
  unhold: (names) => sh`sudo dnf versionlock delete ${names}`,
  next: 'complete the mirror, or check the excludes in /etc/dnf/dnf.conf and /etc/yum.repos.d of the host',
  explained: missingRepository,
};

/** Some dependencies of NVIDIA's packages are in repositories that most of these systems have disabled. */
function missingRepository(words: string): Obstacle | undefined {
  const [, lacks, name] = /nothing provides (\S+).* needed by (\S+)/.exec(words) ?? [];
  if (lacks === undefined || name === undefined) return undefined;
  return {
    kind: 'impossible',
    what: `${name} needs ${lacks}, which no package source of the host offers`,
    next: 'enable the repository that has it (CRB or CodeReady Builder, EPEL), or complete the mirror, and run again',
  };
}

export const dnfSimulation: SimulationParts = {
  ...dnfTransactions,
  dialect,
  functions: [dnfPrelude, consequenceFilters, makeScratch],
  trustSite,
  standIns: simulationFunctions,
  sources,
  liftPins: () => [],
};
