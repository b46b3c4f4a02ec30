import { execFileSync } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';

import type { ScratchHost } from '../../../../support/scratch/host.ts';

/** Installed packages, one a line: name, version, status. */
export const database = '/var/lib/dpkg/state';
/** Offered packages, one a line: name, version. */
export const offers = '/var/lib/apt/offers';
/** Names that stay installed after apt removed them, one a line. */
export const reinstalled = '/var/lib/apt/reinstalled';
/** Names of installed packages that are not held, one a line. */
export const unheld = '/var/lib/dpkg/unheld';
/** Output of apt's simulation. */
export const simulation = '/var/lib/apt/simulation';

/**
 * apt and dpkg with a state: a package installed by name and version is there afterwards, \`name-\` is removed, and only its
 * configuration stays if dpkg lists its files.
 */
export function aptHost(host: ScratchHost): void {
  host
    .file(database)
    .file('/var/lib/dpkg/status', 'Package: dpkg\n')
    .file(offers)
    .file('/proc/locks')
    // An unquoted pattern would match these files.
    .file('/root/drv-file')
    .file('/root/libdrv-file')
    .file('/root/old-file')
    .folder('/var/lib/dpkg/updates', '/etc/apt/sources.list.d', '/var/lib/apt/lists')
    .program('dpkg', '')
    .program('apt-mark', 'echo "set on hold."; [ "$1" = hold ] || { echo "a word" >&2; exit 1; }')
    .program('apt-cache', aptCache, { silent: true })
    .program('dpkg-query', query, { silent: true })
    .program('apt-get', aptGet);
}

export function has(host: ScratchHost, ...packages: readonly string[]): void {
  host.file(database, packages.map((each) => `${each} installed\n`).join(''));
}

export function offered(host: ScratchHost, ...packages: readonly string[]): void {
  host.file(offers, packages.map((each) => `${each}\n`).join(''));
}

/** Another process holds a lock until the script has waited once. */
export function locked(host: ScratchHost, file: string, pid: number): void {
  host.file(file);
  const { ino } = statSync(host.at(file));
  host.file(
    '/proc/locks',
    `1: FLOCK  ADVISORY  WRITE 77 00:1a:1 0 EOF\n2: POSIX  ADVISORY  WRITE ${pid} fe:00:${ino} 0 EOF\n3: POSIX  ADVISORY  WRITE 99 fe:00:${ino} 0 EOF\n`,
  );
}

/** Shell text: the lock of `lockedLater` is taken. */
export const lockNow = 'cp /var/lib/locks.then /proc/locks';

/** The lock is free until a program of the host takes it by `lockNow`, and then until the script has waited once. */
export function lockedLater(host: ScratchHost, file: string, pid: number): void {
  locked(host, file, pid);
  host
    .file('/var/lib/locks.then', readFileSync(host.at('/proc/locks')))
    .file('/proc/locks')
    .program('sleep', ': >/proc/locks');
}

/** Another process takes a lock while apt-get does this. */
export function lockedDuring(host: ScratchHost, words: string, file: string, pid: number): void {
  lockedLater(host, file, pid);
  host.program('apt-get', `case " $* " in *' -s '*) ;; *' ${words} '*) ${lockNow} ;; esac\n${aptGet}`);
}

/** The kernel tells which device has the package database: `254:0` is fe:00 in its table of locks. */
export function mounted(host: ScratchHost, device: string): void {
  const mount = execFileSync('stat', ['-c', '%m', host.at('/var/lib/dpkg')], { encoding: 'utf8' }).trim();
  host.file('/proc/self/mountinfo', `20 1 99:9 / /elsewhere rw\n21 1 ${device} / ${mount} rw\n`);
}

const madison = `shift
while read -r name version; do
  for package; do
    [ "$name" != "$package" ] || echo "      $name | $version | http://mirror stable/main amd64 Packages"
  done
done <${offers}`;

/** apt's candidate is the first offered version. */
const policy = `echo "$2:"; echo '  Installed: (none)'; while read -r name version; do
  if [ "$name" = "$2" ]; then echo "  Candidate: $version"; break; fi
done <${offers}`;

export const aptCache = `case $1 in madison) ${madison} ;; policy) ${policy} ;; *) exit 1 ;; esac`;

const query = `format=\${2#-f=}
if [ "$1" = -L ]; then
  cat "/var/lib/dpkg/info/$2.list" 2>/dev/null || exit 1
  exit
fi
[ "$1" = -W ] || exit 2
shift 2
if [ "$#" -eq 0 ]; then set -- '*'; fi
found=
while read -r name version status; do
  for pattern; do
    case $name in
      $pattern)
        found=yes
        case $format in
          '\${db:Status-Want} \${Package}\\n')
            if grep -qsxF "$name" ${unheld}; then echo "install $name"; else echo "hold $name"; fi ;;
          '\${db:Status-Status} \${Version}\\n') echo "$status $version" ;;
          '\${db:Status-Status} \${Version} \${Package}\\n') echo "$status $version $name" ;;
          '\${db:Status-Status} \${Package}\\n') echo "$status $name" ;;
          '\${db:Status-Status} \${db:Status-Want} \${Package} \${Version}\\n') echo "$status install $name $version" ;;
          '\${db:Status-Eflag} \${binary:Package}=\${Version}\\n')
            case $status in half-installed) echo "reinstreq $name=$version" ;; *) echo "ok $name=$version" ;; esac ;;
          *) exit 2 ;;
        esac
        break ;;
    esac
  done
done <${database}
[ -n "$found" ] || { echo "dpkg-query: no packages found matching $*" >&2; exit 1; }`;

export const aptGet = `words=
for word; do case $word in -* | *::*) ;; *) words="$words $word" ;; esac; done
set -f
case " $* " in
  *' --fix-broken '*) exit 0 ;;
  *' -s '*) cat ${simulation} 2>/dev/null; echo "Conf x"; echo "a word" >&2; exit 0 ;;
esac
case $words in
  ' install'*)
    for word in \${words# install}; do
      case $word in
        *-) name=\${word%-}
          if grep -qsx "$name" ${reinstalled}; then continue; fi
          if [ -e "/var/lib/dpkg/info/$name.list" ]; then
            sed -i "s/^\\($name .*\\) installed$/\\1 config-files/" ${database}
          else
            sed -i "/^$name /d" ${database}
          fi ;;
        *) name=\${word%%=*}
          sed -i "/^$name /d" ${database}
          case $word in *=*) echo "$name \${word#*=} installed" ;; *) echo "$name 9.9 installed" ;; esac >>${database} ;;
      esac
    done
    echo "apt did$words" ;;
esac`;

const options =
  '-q -y -o DPkg::Lock::Timeout=1800 -o Dpkg::Use-Pty=0 -o Dpkg::Options::=--force-confdef -o Dpkg::Options::=--force-confold -o APT::Install-Recommends=false -o APT::Get::Always-Include-Phased-Updates=true';

/** Returns the line of an apt-get call with the common options. */
export function aptGetCall(words: string): string {
  return `apt-get ${options} ${words}`;
}

/** Unpacking again packages that dpkg was unpacking when it was killed. */
export const unpackedAgain = (words: string): string =>
  aptGetCall(`install --reinstall --no-remove --allow-downgrades --allow-change-held-packages ${words}`);

/** Asking for packages with unmet dependencies. */
export const completing = aptGetCall('-s --allow-downgrades --fix-broken install');

/** Reading all package lists. */
export const updating = ['dpkg --audit', aptGetCall('update -o APT::Update::Error-Mode=any')];
export const updated = { '/run/azp-fleet': '755 /', '/run/azp-fleet/package-lists': '755 ' };
