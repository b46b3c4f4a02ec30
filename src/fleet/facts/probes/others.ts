import type { Facts } from '../facts.ts';
import { KeyedLines } from '../lines.ts';
import type { FactProbe } from '../probe.ts';

export interface OthersFacts {
  readonly logins: Facts['others']['logins'];
  readonly gpuProcesses: readonly GpuProcess[];
}

/** A process that has a GPU open. */
interface GpuProcess {
  readonly pid: string;
  readonly name: string;
  /** Its control groups. */
  readonly groups: readonly string[];
}

type SessionKey = 'USER' | 'TTY' | 'CLASS' | 'TYPE' | 'SERVICE' | 'SEAT' | 'DISPLAY';

/** Shell text: does `work` for each session of logind that is not closing, with these of its values in `$user`, `$tty`, … */
export function eachSession(keys: readonly SessionKey[], work: string): string {
  const all = [...keys, 'STATE'];
  return `for session in /run/systemd/sessions/*; do
  [ -f "$session" ] || continue
  ${all.map((key) => `${key.toLowerCase()}=''`).join(' ')}
  while IFS='=' read -r key value; do
    case $key in
      ${all.map((key) => `${key}) ${key.toLowerCase()}=$value ;;`).join('\n      ')}
    esac
  done <"$session"
  [ "$state" != closing ] || continue
  ${work}
done`;
}

/**
 * Reads other users of the host: logins on a terminal or with a remote desktop, and GPU processes with their control groups. A
 * session without a terminal and a desktop is a command over SSH, as azp-fleet's is, or a job of cron.
 */
export const othersProbe: FactProbe<OthersFacts> = {
  name: 'others',
  facts: ['others'],
  byHand: 'loginctl; sudo fuser -v /dev/nvidia[0-9]*',
  script: () => `${eachSession(
    ['USER', 'TTY', 'CLASS', 'TYPE', 'SERVICE', 'DISPLAY'],
    `case $class-$type-$service-$tty in
    user-*-) case $type-$service in x11-* | wayland-* | mir-* | *-xrdp* | *vnc*) echo "login $user $service $display" ;; esac ;;
    user-*) echo "login $user $tty" ;;
  esac`,
  )}
# The first GPU may have been removed from the bus.
gpus=
for device in /dev/nvidia[0-9]*; do
  if [ -e "$device" ]; then gpus=there; fi
done
if [ -n "$gpus" ]; then
  # Its code is 1 where a process has ended.
  files=$(find /proc/[0-9]*/fd -lname '/dev/nvidia[0-9]*' 2>/dev/null) || [ "$?" -eq 1 ] || exit 1
  last=
  for file in $files; do
    pid=\${file#/*/}
    pid=\${pid%%/*}
    if [ "$pid" = "$last" ]; then continue; fi
    last=$pid
    if read -r name 2>/dev/null <"/proc/$pid/comm"; then
      echo "gpu-process $pid $name"
      while IFS= read -r group; do
        group=\${group#*:}
        echo "gpu-group $pid \${group#*:}"
      done 2>/dev/null <"/proc/$pid/cgroup"
    fi
  done
fi
:`,
  line: /^(login |gpu-process \d+ |gpu-group \d+ )/,
  parse: (output) => {
    const lines = new KeyedLines(output);
    const groups = lines.all('gpu-group').map(splitPid);
    return {
      logins: [...new Set(lines.all('login'))].sort(),
      gpuProcesses: lines
        .all('gpu-process')
        .filter((line) => !services.test(line))
        .map(splitPid)
        .map(([pid, name]) => ({
          pid,
          name,
          groups: groups.flatMap(([of, group]) => (of === pid ? [group] : [])),
        })),
    };
  },
};

/** The driver's daemons, and a display manager without a login; a desktop session is a login. */
const services = / (nvidia-.*|nv-fabricmanage.*|nv-hostengine|Xorg|Xwayland|gnome-shell|gdm.*|sddm.*)$/;

function splitPid(line: string): readonly [pid: string, rest: string] {
  const space = line.indexOf(' ');
  return [line.slice(0, space), line.slice(space + 1)];
}

/**
 * Names the processes that are in no container of this host's Docker Engine, which are named or ours: `77 python3`,
 * `78 python3 in the Podman container 0123456789ab`. `containers`: the full ids of the engine's containers.
 */
export function namedGpuProcesses(
  processes: readonly GpuProcess[],
  containers: readonly string[],
): Facts['others']['gpuProcesses'] {
  return processes.flatMap(({ pid, name, groups }) => {
    // Users may create control groups below /user.slice with the name of any container.
    const known = groups.some(
      (group) => !group.startsWith('/user.slice/') && containers.some((id) => group.includes(id)),
    );
    if (known) return [];
    const [place] = groups.flatMap(containerIn);
    return [place === undefined ? `${pid} ${name}` : `${pid} ${name} in ${place}`];
  });
}

const runtimes = [
  ['kubepods', 'Kubernetes'],
  ['libpod', 'Podman'],
  ['docker', 'Docker'],
  ['containerd', 'containerd'],
] as const;

/** Returns the container that a control group is of: its runtime and short id. */
function containerIn(group: string): readonly string[] {
  const [, id] = /[/:-]([0-9a-f]{64})(?=[/.]|$)/.exec(group) ?? [];
  const runtime = runtimes.find(([word]) => group.includes(word))?.[1];
  if (runtime === undefined && id === undefined) return [];
  return [`a ${[runtime, 'container', id?.slice(0, 12)].filter(Boolean).join(' ')}`];
}
