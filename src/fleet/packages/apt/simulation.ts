import { quote, sh } from '../../../shared/base/shell.ts';
import type { Dialect } from '../answers.ts';
import type { SimulationParts } from '../scripts.ts';
import { makeFolder, noteBrought, simulatedFail } from '../shell.ts';
import type { Obstacle, Question } from '../simulation.ts';
import { linkSources, type SourceParts } from '../sources.ts';
import type { Vendor } from '../vendors.ts';
import { upstream } from '../version.ts';
import { aptTransactions } from './install.ts';
import { aptPrelude, consequenceFilters, download } from './prelude.ts';
import { sourceGlobs, sourceParts } from './source.ts';

/** All missing sources are added at the same time: a vendor that does not answer costs the time limit once. */
function sources({ asked, missing, system, site }: Question, vendors: readonly Vendor[]): readonly string[] {
  const parts = (vendor: Vendor): SourceParts => sourceParts(vendor, system, site);
  const switchedOff = new Set(asked.flatMap(({ transaction: { without } }) => without ?? []));
  return [
    'if [ -e /etc/apt/sources.list ]; then ln -s /etc/apt/sources.list sources.list; fi',
    linkSources(sourceGlobs, [...missing, ...switchedOff].map(parts)),
    download,
    ...missing.map((vendor) => addSource(vendor, parts(vendor))),
    'wait',
    'read_lists',
    ...vendors.map((vendor) => sh`listen ${vendor} ${parts(vendor).uri} ${parts(vendor).file}`),
  ];
}

function addSource(vendor: Vendor, { file, keyFile, text, key }: SourceParts): string {
  const name = (path: string): string => path.slice(path.lastIndexOf('/') + 1);
  return `(
  work=$scratch/${vendor} key=$scratch/keys/${name(keyFile)}
  mkdir "$work"
  if id _apt >/dev/null 2>&1; then chown _apt "$work"; fi
  ${key.replaceAll('\n', '\n  ')}
  [ -s "$key" ]
  printf %s ${quote(text)} | sed "s|^Signed-By: .*|Signed-By: $key|" >"$sources/${name(file)}"
) >${vendor}.words 2>&1 &`;
}

/**
 * Shell text that makes apt use the folder `$scratch` while the script runs, by `APT_CONFIG`: with the host's lists, and its
 * configuration without update hooks. The folder is not below /run/azp-fleet, which apt's download user cannot read. `$sources` is
 * the folder of its sources.
 *
 * The host's lists are links: apt writes a new list beside the old one and renames it. Only lists of packages are read. The
 * folder also has apt's logs, which even a simulation writes, and links to the host's pins.
 */
const makeScratch = `${makeFolder}
chmod 755 "$scratch"
cd "$scratch"
sources=$scratch/sources.list.d
mkdir -p lists/partial cache/archives/partial conf.d preferences.d keys pins "$sources"
# apt downloads as a separate user.
if id _apt >/dev/null 2>&1; then chown _apt lists/partial cache/archives/partial keys pins; fi
link() {
  for file in "$@"; do
    if [ -e "$file" ]; then ln -s "$file" "$into/"; fi
  done
}
into=lists
link /var/lib/apt/lists/*Release /var/lib/apt/lists/*Release.gpg /var/lib/apt/lists/*_Packages*
into=preferences.d
link /etc/apt/preferences.d/*
into=conf.d
link /etc/apt/apt.conf.d/*
if [ -e /etc/apt/apt.conf ]; then ln -s /etc/apt/apt.conf conf.d/zzzz-main; fi
cp /var/lib/dpkg/status status
native=$(dpkg --print-architecture)
cat >apt.conf <<END
Dir::Etc::Parts "$scratch/conf.d";
Dir::Etc::Main "$scratch/last.conf";
END
cat >last.conf <<END
Dir::State::Lists "$scratch/lists";
Dir::State::Status "$scratch/status";
Dir::Cache "$scratch/cache";
Dir::Cache::Archives "archives";
Dir::Cache::PkgCache "pkgcache.bin";
Dir::Cache::SrcPkgCache "srcpkgcache.bin";
Dir::Log "$scratch";
Dir::Log::Planner "";
Dir::Etc::SourceList "$scratch/sources.list";
Dir::Etc::SourceParts "$sources";
Dir::Etc::PreferencesParts "$scratch/preferences.d";
Acquire::PDiffs "false";
Acquire::Retries "1";
Acquire::http::Timeout "10";
Acquire::https::Timeout "10";
#clear Acquire::Languages;
Acquire::Languages "none";
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
END
export APT_CONFIG="$scratch/apt.conf"
for target in $(apt-config dump Acquire::IndexTargets | sed -n 's/^\\(Acquire::IndexTargets::deb.*\\)::MetaKey .*/\\1/p'); do
  case $target in
    *::deb::Packages) ;;
    *) echo "$target::DefaultEnabled \\"false\\";" >>last.conf ;;
  esac
done`;

/** Returns shell text that makes apt trust the site's authority beside the host's. */
function trustSite(caPem: string): string {
  return sh`{ cat /etc/ssl/certs/ca-certificates.crt 2>/dev/null || :; printf '%s\n' ${caPem}; } >ca.crt
printf 'Acquire::https::CAInfo "%s/ca.crt";\n' "$scratch" >>last.conf`;
}

/**
 * Shell functions of a simulation. They need the prelude, and replace its functions that end the script, change the host, or wait:
 * `fail`, `choose`, `update`, `bring`, `complete_packages`, `pin`, `source_added`.
 *
 * `read_lists` reads all lists. `listen VENDOR URI FILE` prints whether that source answered.
 * `begin KEY` and `finish CODE` enclose one transaction. Between them, `unheld NAME…` removes these holds from the copied dpkg status,
 * `complete_packages` prints what restoring the dependencies that are `$lacking` changes and writes its result into that copy, `lift_pins NAME…` removes the pins of packages, and `ask WORD…` prints the answer of `apt-get WORD…`, the disk space that it
 * takes (by `--print-uris`, which changes nothing), and the holds that prevent it. `$brought` has further packages.
 */
export const simulationFunctions = `said() {
  sed -En 's/^(E|Error|W|Warning): //p' "$@" | head -n 1 | tr -s ' ' | cut -c 1-300
}
${simulatedFail}
of_any_branch() {
  for pattern in "$@"; do
    for name in $(apt-cache pkgnames "\${pattern%%[[]*}"); do
      # It is meant as a pattern.
      # shellcheck disable=SC2254
      case $name in $pattern) offered "$name" ;; esac
    done
  done
}
choose() {
  version=$(newest "$1" "$2")
  if [ -z "$version" ]; then
    echo missing >&3
    variants | head -n 500 | sed 's/^/offer /' >&3
    exit 0
  fi
}
${noteBrought}
source_added() {
  echo "source $1$2" >&3
}
purged=
pin() {
  bring "$@"
  # Names hold no blanks, and are meant to be split.
  # shellcheck disable=SC2046
  lift_pins $(left "\${1%-*}-*")
  for name in "$@"; do
    (cd pins && apt-get -q download "$name")
    dpkg-deb --fsys-tarfile pins/"$name"_*.deb |
      tar -xf - -C preferences.d --strip-components=4 ./etc/apt/preferences.d
  done
}
update() {
  known=
  timeout -k 5 60 apt-get -q update -o Dir::Etc::SourceList="$1" -o Dir::Etc::SourceParts=- \\
    -o APT::Get::List-Cleanup=0 </dev/null || :
}
read_lists() {
  targets=
  timeout -k 5 90 apt-get -q update -o APT::Update::Error-Mode=any </dev/null >update.words 2>&1 ||
    echo "partial $(said update.words)" >&3
  cat update.words
}
listen() {
  if [ ! -e "$sources/\${3##*/}" ]; then
    echo "silent $1 $(said "$1.words")" >&3
  elif ! grep -F " $2 " update.words | grep -Eq '^(Get|Hit):' || grep -F " $2 " update.words | grep -q '^Err:'; then
    echo "silent $1 $(grep -F "$2" update.words | said)" >&3
  elif ! listed "$sources/\${3##*/}"; then
    echo "silent $1 there is no list of packages at $2" >&3
  fi
}
listed() {
  if [ -z "$targets" ]; then
    # The words in $() are apt's own placeholders.
    # shellcheck disable=SC2016
    targets=$(apt-get indextargets --format '$(SOURCESENTRY)' 'Created-By: Packages')
  fi
  case $targets in *"$1:"*) ;; *) return 1 ;; esac
}
begin() {
  brought=
  echo "begin $1" >&3
}
finish() {
  if [ "$1" -ne 0 ]; then echo "broken $1" >&3; fi
  echo end >&3
}
unheld() {
  awk -v names=" $* " '
    /^Package: / { ours = index(names, " " $2 " ") > 0 }
    ours && /^Status: hold / { sub(/hold/, "install") }
    { print }' /var/lib/dpkg/status >status
}
complete_packages() {
  # Names hold no blanks, and are meant to be split.
  # shellcheck disable=SC2086
  set -- $lacking
  apt_get -s install --allow-downgrades "$@" 2>/dev/null | consequences >&3
  {
    awk -v RS= -v ORS='\\n\\n' -v completed=" $* " -v native="$native" '
      {
        name = foreign = ""
        for (line = split($0, lines, "\\n"); line > 0; line--) {
          if (lines[line] ~ /^Package: /) name = substr(lines[line], 10)
          if (lines[line] ~ /^Architecture: /) foreign = substr(lines[line], 15)
        }
        foreign = (foreign == native || foreign == "all") ? "" : ":" foreign
        if (!index(completed, " " name foreign "=")) print
      }' status
    apt-cache show "$@" | sed '/^Package: /a Status: install ok installed'
  } >status.completed
  mv status.completed status
}
lift_pins() {
  for name in "$@"; do
    dpkg-query -L "$name" 2>/dev/null | sed -n 's|^/etc/apt/preferences.d/||p' | while read -r file; do
      rm -f "preferences.d/$file"
    done
  done
}
ask() {
  # What is brought is asked for before the request, which may name what restores the dependencies.
  if [ -n "$brought" ] && incomplete; then complete_packages; fi
  refused=
  apt_get -s "$@" >answer 2>words || refused=yes
  if [ -n "$refused" ] && incomplete; then
    complete_packages
    ask "$@"
  elif [ -z "$refused" ]; then
    consequences <answer >&3
    held_back "$@" | sed 's/^/kept /' >&3
    apt_get --print-uris "$@" 2>/dev/null | disk_space >&3
  elif held=$(held_back "$@" | tr '\\n' ' ') && [ -n "$held" ]; then
    echo "held $held" >&3
  else
    cat answer words
    unmet=$(unmet answer words)
    echo "words $unmet" >&3
    case $unmet in *dkms*) echo "dkms $(offered dkms | head -n 1)" >&3 ;; esac
  fi
}
unmet() {
  sed -En 's/^ ([^ ].* : .*)/\\1/p; s/^(E|Error): //p' "$@" | head -n 4 | tr -s ' \\n' ' ' | cut -c 1-400
}
held_back() {
  holds <status >held
  if [ -s held ] && apt_get -s --ignore-hold --allow-change-held-packages "$@" >freed 2>/dev/null; then
    awk '$1 == "Inst" || $1 == "Remv" { print $2 }' freed | grep -xF -f held || :
  fi
}
holds() {
  awk -v native="$native" '
    function flush() {
      if (held) print name ((foreign == "" || foreign == "all" || foreign == native) ? "" : ":" foreign)
      name = foreign = held = ""
    }
    /^Package: / { name = $2 }
    /^Status: hold / { held = 1 }
    /^Architecture: / { foreign = $2 }
    /^$/ { flush() }
    END { flush() }'
}
disk_space() {
  awk '
    BEGIN { unit["B"] = 1; unit["kB"] = 1e3; unit["MB"] = 1e6; unit["GB"] = 1e9; unit["TB"] = 1e12 }
    /^\\047/ { download += $3 }
    /^After this operation, .* disk space/ {
      gsub(/,/, "")
      installed = $4 * unit[$5] * (/ freed/ ? -1 : 1)
      known = 1
    }
    END { if (known) printf "space %.0f %.0f\\n", download, installed }'
}
consequences() {
  awk '
    function bare(word) { gsub(/[][()]/, "", word); return word }
    /^[^ ]/ { lower = /^The following packages will be DOWNGRADED:/ }
    /^ / && lower { for (field = 1; field <= NF; field++) older[$field] = 1 }
    $1 == "Remv" || $1 == "Purg" { print "remove", $2, bare($3) }
    $1 == "Inst" && $3 ~ /^\\(/ { print "install", $2, bare($3) }
    $1 == "Inst" && $3 ~ /^\\[/ && bare($3) != bare($4) {
      print ($2 in older) ? "downgrade" : "upgrade", $2, bare($3), bare($4)
    }'
}`;

const dialect: Dialect = {
  program: 'apt',
  packageName: /^[a-z0-9][a-z0-9+.-]{1,100}(?::[a-z0-9-]{1,20})?$/,
  unhold: (names) => sh`sudo apt-mark unhold ${names}`,
  next: 'complete the mirror, or check the pins in /etc/apt/preferences.d of the host',
  explained: oldDkms,
};

/** The last branch whose packages accept any dkms. */
const lastWithout = 565;

/**
 * NVIDIA's packages need dkms 3.1.8 from 570.148 on; Debian 12 has 3.0.10, Ubuntu 22.04 has 2.8.7, and their backports none.
 * Where NVIDIA's repository has dkms, apt takes it from there.
 */
function oldDkms(words: string, newest = '', leastBranch = 0): Obstacle | undefined {
  const [, name, needed] = /(\S+) : Depends: dkms \(>= ([\w.~+-]+)\)/.exec(words) ?? [];
  if (name === undefined || needed === undefined) return undefined;
  const older =
    leastBranch > lastWithout ? '' : `set driver.branch to one that needs less (${lastWithout} or older), `;
  return {
    kind: 'impossible',
    what: `${name} needs dkms ${needed} or newer, and the newest that is offered is ${newest === '' ? 'none' : upstream(newest)}`,
    next: `put dkms ${needed} into a package source of the host, ${older}or take a newer release of the system`,
  };
}

export const aptSimulation: SimulationParts = {
  ...aptTransactions,
  dialect,
  functions: [aptPrelude, consequenceFilters, makeScratch],
  trustSite,
  standIns: simulationFunctions,
  sources,
  liftPins: (names) => [sh`lift_pins ${names}`],
};
