import { sh } from '../../../../src/shared/base/shell.ts';

/** Folder on the host where traced scripts write their effects. */
export const traceFolder = '/run/azp-fleet-lab-trace';

/** Programs that change nothing, and those that do; commands that only fill a temporary folder are ignored below. */
const readers =
  'apt-cache apt-config awk basename cat cut date dirname docker dockerd dpkg-query find grep head id journalctl ls modinfo mktemp nproc od readlink sed sha256sum sleep sort stat tail timeout tr true uname wc xargs';
const writers =
  'apt-get apt-helper apt-mark chmod chown cp dkms dpkg dpkg-deb install ln mkdir modprobe mv node nvidia-ctk rm systemctl tar update-ca-certificates update-initramfs';

/** Effects that scripts share: a run is killed after each of them once, in any script. */
export const shared = { lists: 'apt reads its lists', configure: 'dpkg --configure -a' } as const;

/**
 * Before each command the shell checks whether the previous one was an effect that kills this run; then the whole unit is
 * killed with SIGKILL. An effect is a program that changes something, or a redirection into a file. dpkg reports its own
 * steps to a program of ours, so an installation is interrupted in the middle, too.
 */
const prelude = `set -T
trace_kill() {
  mv ${traceFolder}/pending ${traceFolder}/killed
  . ${traceFolder}/kill
  sleep 60
}
trace_effect() { # TEXT
  local name=$1 count
  count=$(grep -cxF -- "$name" ${traceFolder}/made) || :
  printf '%s\\n' "$name" >>${traceFolder}/made
  name="$name #$((count + 1))"
  if ! grep -qxF -- "$name" ${traceFolder}/survived; then printf '%s\\n' "$name" >${traceFolder}/pending; fi
}
trace_command() { # TEXT PARAMETER…
  if [ -e ${traceFolder}/pending ]; then trace_kill; fi
  local text=$1 word plain
  shift
  text=\${text//\\"\\$@\\"/$*}
  text=\${text//$'\\n'/ }
  word=\${text%%[ ;]*}
  case $word in *=* | '' | trace_*) return 0 ;; esac
  plain=\${text// > \\/dev\\/null/}
  plain=\${plain// 2> \\/dev\\/null/}
  plain=\${plain//>&[0-9]/}
  case $(type -t -- "$word") in
    function | keyword | '') return 0 ;;
    builtin) case $plain in *' > "$work/'*) return 0 ;; *' > '* | *' >> '*) ;; *) return 0 ;; esac ;;
    *)
      case ' ${readers} ' in
        *" \${word##*/} "*) case $plain in *' > '* | *' >> '*) ;; *) return 0 ;; esac ;;
        *)
          case ' ${writers} ' in
            *" \${word##*/} "*) ;;
            *) printf '%s\\n' "$text" >>${traceFolder}/unknown ;;
          esac ;;
      esac
      case $text in
        'apt-get '*' -s '* | 'apt-get indextargets'* | 'apt-mark showhold'* | 'dpkg --audit'*) return 0 ;;
        'systemctl cat '* | 'systemctl show '* | 'systemctl is-'*) return 0 ;;
        'rm -f "$2"' | *'/apt-helper '* | 'dpkg-deb '* | 'tar '*' > "$key"') return 0 ;;
        'rm '*'"$work"' | 'chmod '*'"$work"' | 'chown '*'"$work"') return 0 ;;
      esac ;;
  esac
  case $text in 'apt-get '*' update '*) text='${shared.lists}' ;; esac
  trace_effect "\${text:0:240}"
}
trap 'trace_command "$BASH_COMMAND" "$@"' DEBUG
`;

/** Reads dpkg's status lines (`status: NAME: unpacked`). The first of each kind is an effect. */
const dpkgLogger = `said=
while read -r kind _ state _; do
  case $kind-$state in status:-unpacked | status:-half-configured | status:-installed) ;; *) continue ;; esac
  case $said in *" $state"*) continue ;; esac
  said="$said $state"
  name="dpkg: the first is $state"
  if ! grep -qxF -- "$name" ${traceFolder}/survived; then
    printf '%s\\n' "$name" >${traceFolder}/killed
    . ${traceFolder}/kill
    sleep 60
  fi
done
`;

/** Returns the script with tracing: SIGKILL ends it after its first effect that is not in `survived`. */
export function traced(script: string, survived: readonly string[], kill: string): string {
  const put = (name: string, text: string): string => sh`printf %s ${text} >${`${traceFolder}/${name}`}`;
  return [
    sh`rm -rf ${traceFolder}; mkdir -p ${traceFolder}`,
    put('survived', survived.map((line) => `${line}\n`).join('')),
    put('made', ''),
    put('kill', kill),
    put('dpkg-logger', dpkgLogger),
    put('apt.conf', `DPkg::Options:: "--status-logger=/bin/bash ${traceFolder}/dpkg-logger";\n`),
    put('script', `${prelude}${script}\n`),
    sh`export APT_CONFIG=${`${traceFolder}/apt.conf`}`,
    sh`exec /bin/bash --posix -eu ${`${traceFolder}/script`}`,
  ].join('\n');
}
