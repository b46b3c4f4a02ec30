import type { ScratchHost } from '../../../../support/scratch/host.ts';

/** Installed packages, one a line: `NAME EPOCH VERSION RELEASE ARCH`. */
export const database = '/var/lib/rpm/state';
/** Offered packages, one a line: `NAME EPOCH:VERSION-RELEASE`. */
const offers = '/var/lib/dnf/offers';
export const lockList = '/etc/dnf/plugins/versionlock.list';
/** dnf's output about a transaction. */
const simulation = '/run/answer';
/** The requests to dnf's shell, with `$` at the end of each line. */
const requested = '/run/requested';

/** dnf and rpm with a state, and with the output of dnf 4.14 that scripts read. */
export function dnfHost(host: ScratchHost): void {
  host
    .file(database)
    .file(offers)
    .file(lockList)
    .file('/proc/locks')
    // An unquoted pattern would match these files.
    .file('/root/drv-file')
    .file('/root/libdrv-file')
    .file('/root/too-file')
    .file('/root/old-file')
    .file('/root/libc7')
    .file('/root/azp-fleet-simulation.file')
    .file('/root/--disablerepo=file')
    .file('/root/--setopt=file.skip_if_unavailable=1')
    .folder('/etc/yum.repos.d', '/var/cache/dnf')
    .program('uname', 'echo x86_64', { silent: true })
    .program('rpm', rpmMemory, { silent: true })
    .program('dnf', dnfMemory);
}

/** Installs packages: `NAME EPOCH:VERSION-RELEASE`. */
export function has(host: ScratchHost, ...packages: readonly string[]): void {
  host.file(database, stateOf(...packages));
}

export function stateOf(...packages: readonly string[]): string {
  return packages.map((each) => `${each.replace(':', ' ').replace(/-([^-]*)$/, ' $1')} x86_64\n`).join('');
}

export function offered(host: ScratchHost, ...packages: readonly string[]): void {
  host.file(offers, packages.map((each) => `${each}\n`).join(''));
}

/** dnf's table of a transaction, one package a line. */
export function would(host: ScratchHost, ...lines: readonly string[]): void {
  host.file(
    simulation,
    `${lines.join('\n')}\n\nTransaction Summary\n${'='.repeat(80)}\nError: Operation aborted.\n`,
  );
}

/** dnf's output, cut off within its last line: the transaction would replace these packages, `NAME.ARCHITECTURE`. */
export function wouldReplace(host: ScratchHost, ...names: readonly string[]): void {
  host.file(simulation, ['Installing:', ...names.map((name) => `     replacing  ${name}`)].join('\n'));
}

/** The requests to dnf's shell, as a file of the outcome. */
export function asked(...requests: readonly string[]): Record<string, string> {
  return { [requested]: `644 ${requests.join('')}` };
}

export const rpmMemory = `case $1 in
  --rebuilddb) echo rebuilt >>/run/rpm; exit ;;
  --import) cat "$2" >>/run/keys; chmod 644 /run/keys; exit ;;
esac
verb=$1 format='%{NAME}\\n'
shift
if [ "\${1-}" = --qf ]; then format=$2; shift 2; fi
[ ! -e /run/damaged ] || [ -e /run/rpm ] || { echo 'error: rpmdb: damaged' >&2; exit 1; }
[ "$#" -gt 0 ] || set -- '*'
[ "$verb" = -qa ] || echo 'a word' >&2
for pattern; do
  found=
  while read -r name epoch version release arch; do
    case $name in $pattern) ;; *) continue ;; esac
    found=yes
    printf '%s' "$format" | sed "s/%{NAME}/$name/; s/%{EPOCHNUM}/$epoch/; s/%{VERSION}/$version/; s/%{RELEASE}/$release/; s/%{ARCH}/$arch/; s/%{INSTALLTIME}/1700000000/; s/\\\\\\\\n/\\\\n/"
  done <${database}
  if [ -z "$found" ] && [ "$verb" = -q ]; then echo "package $pattern is not installed"; code=1; fi
done
exit "\${code-0}"`;

const put = `put() { # NAME EPOCH:VERSION-RELEASE
  sed -i "/^$1 /d" ${database}
  rest=\${2#*:}
  echo "$1 \${2%%:*} \${rest%-*} \${rest##*-} x86_64" >>${database}
}
# A package that is locked at another version is not available.
get() { # NAME, or NAME-VERSION
  while read -r name version; do
    bare=\${version#*:}
    case $1 in
      "$name" | "$name-\${bare%-*}")
        if ! grep "^$name-[0-9]*:" ${lockList} 2>/dev/null | grep -qvxF "$name-$version.*"; then
          put "$name" "$version"
          return
        fi ;;
    esac
  done <${offers}
  printf '%s\\n' "No match for argument: $1" "Error: Unable to find a match: $1"
  return 1
}`;

export const dnfMemory = `${put}
set -f
# Only calls that skip unavailable repositories succeed while /run/gone exists.
case "$*" in
  *'*.skip_if_unavailable=1'* | *--repo=* | *'--disablerepo=*'*) ;;
  *) [ ! -e /run/gone ] || { cat /run/gone >&2; exit 1; } ;;
esac
words= yes= no= format=
while [ "$#" -gt 0 ]; do
  case $1 in
    -y) yes=y ;;
    --assumeno) no=n ;;
    --qf) format=$2; shift ;;
    --location) echo 'a word' >&2; if [ -e /run/location ]; then cat /run/location; fi; exit ;;
    -*) ;;
    *) words="$words $1" ;;
  esac
  shift
done
set -- $words
verb=$1
shift
# Another process takes the lock meanwhile.
[ ! -e "/run/busy.$verb" ] || mv "/run/busy.$verb" /var/lib/dnf/rpmdb_lock.pid
case $verb in
  makecache)
    # The second read of the lists makes these packages available.
    if [ -e /run/later ] && [ -e /run/azp-fleet/package-lists ]; then mv /run/later ${offers}; fi
    cat /run/heard 2>/dev/null; [ ! -e /run/deaf ] || { cat /run/deaf >&2; exit 1; } ;;
  repolist) echo 'a word' >&2; cat /run/disabled ;;
  config-manager)
    [ "$#" -gt 0 ] || { echo usage; echo 'a word' >&2; }
    [ -e /run/manager ] || exit 1
    [ "$#" -eq 0 ] || cat /run/switched >>${offers} ;;
  repoquery)
    echo 'a word' >&2
    [ -n "$format" ] || { cat /run/twice 2>/dev/null; exit 0; }
    while read -r name version; do
      for pattern; do case $name in $pattern) echo "$version" ;; esac; done
    done <${offers} ;;
  versionlock)
    [ -e ${lockList} ] || { echo 'No such command: versionlock. Please use /usr/bin/dnf --help' >&2; exit 1; }
    cat ${lockList} ;;
  install)
    [ ! -e /run/unfetched ] || { cat /run/unfetched >&2; exit 1; }
    echo "dnf did install $*"
    for word; do
      case $word in
        'dnf-command(versionlock)') [ -e /run/listless ] || : >${lockList} ;;
        'dnf-command(config-manager)') : >/run/manager ;;
        *://*) put epel-release 0:9-10 ;;
        *) get "$word" || exit 1 ;;
      esac
    done ;;
  remove)
    if [ -n "$no" ]; then cat ${simulation} >&2 2>/dev/null; exit 1; fi
    [ ! -e /run/stuck ] || exit 1
    echo "dnf did remove $*"
    for word; do sed -i "/^$word /d" ${database}; done ;;
  shell)
    sed 's/$/ $/' >/run/request
    cat /run/request >>${requested}
    if [ -n "$no" ]; then
      if [ -e ${simulation} ]; then cat ${simulation} >&2; fi
      rm /run/request
      exit 1
    fi
    if [ -e /run/unfetched ]; then cat /run/unfetched >&2; rm /run/request; exit 0; fi
    if [ -e /run/idle ]; then echo 'Nothing to do.'; rm /run/request; exit 0; fi
    while read -r verb words; do
      words=\${words%$}
      case $verb in
        install) for word in $words; do get "$word"; done ;;
        remove) for word in $words; do sed -i "/^$word /d" ${database}; done ;;
        run*) if [ -e /run/trouble ]; then cat /run/trouble >&2; else echo Complete! >&2; fi ;;
      esac
    done </run/request
    rm /run/request ;;
esac`;

const options = '--setopt=install_weak_deps=0 --setopt=best=1 --setopt=clean_requirements_on_remove=0';

/** Returns the line of a dnf call with the common options. */
export function dnfCall(words: string, without = '--setopt=skip_if_unavailable=0'): string {
  return `dnf ${options} ${without} ${words}`;
}

/** Reading all package lists. */
export const settled = `dnf -q '--disablerepo=*' repoquery --duplicates`;
export const updating = [settled, dnfCall('--refresh makecache')];
export const updated = { '/run/azp-fleet': '755 /', '/run/azp-fleet/package-lists': '755 ' };
export const lockCall = (words: string): string => `dnf -q '--disablerepo=*' versionlock ${words}`;
export const query = (name: string): string =>
  dnfCall(`-q repoquery --available --arch=x86_64,noarch --qf '%{epoch}:%{version}-%{release}' ${name}`);

/** The problem of a package with a wrong version after dnf succeeded. */
export const wrong = (name: string, expected: string, seen: string): string =>
  `failed: ${name} has the wrong version after its installation
expected: ${expected}
seen: ${seen}
next: check /etc/dnf/dnf.conf for an exclude, and for a repository of a higher priority that prefers another version
`;

/** The problem of a missing package after dnf succeeded. */
export const leftOut = (name: string): string => `failed: dnf has not installed ${name}
expected: a package ${name}
seen: none
next: check /etc/dnf/dnf.conf for an exclude, and the end of /var/log/dnf.log on the host
`;
