import { packageManagers } from '../../packages/distribution.ts';
import type { Facts } from '../facts.ts';
import { KeyedLines } from '../lines.ts';
import type { FactProbe } from '../probe.ts';

type Orchestrator = Facts['orchestrators'][number];

interface OrchestratorFacts extends Pick<Facts, 'orchestrators' | 'pinned'> {
  readonly elsewhere: Facts['others']['elsewhere'];
  /** Screens of VNC that users run: `Xtigervnc of uid 1000`. */
  readonly screens: readonly string[];
}

/** Units of a node, as packages and installers name them, as shell patterns. */
const nodeUnits =
  'kubelet.service | k3s.service | k3s-*.service | rke2-*.service | nomad.service | nomad-*.service | slurmd.service | slurmd@*.service';

/**
 * Reads the orchestrators that use the host as a node, with their work, and the containers and virtual machines of other engines.
 * systemd's control groups show which units run, and with /proc what they run below any name; links show what starts at boot. The
 * shell itself reads all of it. Processes outside systemd's units and sessions are not read: a machine has thousands.
 *
 * Sources of the names: the units of kubelet's, Nomad's and slurmd's packages, and of the installers of k3s and RKE2, whose
 * containerd has its socket below /run/k3s; kubelet's groups for pods with both of its cgroup drivers, and its logs; Slurm's plugins
 * cgroup/v1 and v2, and the title of slurmstepd; Nomad's nomad.slice; the scopes of Podman, libvirt, Proxmox VE and LXD.
 */
export const orchestratorsProbe: FactProbe<OrchestratorFacts> = {
  name: 'orchestrators',
  facts: ['orchestrators', 'pinned', 'others'],
  byHand: 'systemd-cgls --no-pager; ls -l /etc/systemd/system/*.wants',
  script: () => `tree='' own='' node=''
if [ -r /proc/1/cgroup ]; then
  while IFS=: read -r _ controllers path; do
    case $controllers in
      name=systemd) tree=/sys/fs/cgroup/systemd own=$path; break ;;
      '') tree=/sys/fs/cgroup own=$path ;;
    esac
  done </proc/1/cgroup
fi
# Where systemd itself is, its tree begins, also on a host that is a container.
own=\${own%/init.scope}
own=\${own%/}
groups=$tree$own
if [ -d /run/systemd/system ] && [ ! -d "$groups/system.slice" ]; then
  echo "systemd has no control groups in $groups" >&2
  exit 1
fi
say() {
  printf '%s\\n' "$*"
  node=yes
}
sessions=$groups/user.slice/user-
for group in "$groups"/*.slice/*.service "$groups"/*.slice/*.slice/*.service "$sessions"*.slice/session-*.scope "$sessions"*.slice/user@*.service/*.slice/*.service; do
  unit=\${group##*/}
  # Users choose the names of groups below their own.
  case $unit in *[!a-zA-Z0-9:_.@-]*) continue ;; esac
  [ -r "$group/cgroup.procs" ] || continue
  case $unit in ${nodeUnits}) say "runs $unit" ;; esac
  while read -r pid; do
    read -r name <"/proc/$pid/comm" || continue
    case $name in
      kubelet | kubelite | k3s | k3s-server | k3s-agent | rke2 | nomad | slurmd) say "runs $unit $name" ;;
      Xvnc | Xtigervnc | Xtightvnc)
        uid=\${group#"$sessions"}
        printf 'vnc %s %s\\n' "\${uid%%.*}" "$name" ;;
      slurmstepd)
        title=
        read -r title <"/proc/$pid/cmdline" || :
        case $title in 'slurmstepd: ['[0-9]*.*) title=\${title#*'['}; say "job \${title%%.*}" ;; esac ;;
    esac
  done <"$group/cgroup.procs"
done 2>/dev/null
for link in /etc/systemd/system/*.wants/*.service; do
  case \${link##*/} in ${nodeUnits}) if [ -e "$link" ]; then say "enabled \${link##*/}"; fi ;; esac
done
if [ -e /run/k3s/containerd/containerd.sock ]; then
  if [ -d /var/lib/rancher/rke2 ]; then say 'socket rke2'; else say 'socket k3s'; fi
fi
pods=
for group in "$groups"/kubepods.slice/kubepods-pod*.slice "$groups"/kubepods.slice/kubepods-*.slice/kubepods-*-pod*.slice "$groups"/kubepods/pod* "$groups"/kubepods/*/pod*; do
  [ -d "$group" ] || continue
  pods=\${group##*pod}
  say "pod \${pods%.slice}"
done
if [ -n "$pods" ]; then
  for log in /var/log/pods/*_*_*; do echo "pod-log \${log##*/}"; done
fi
v1=/sys/fs/cgroup
for group in "$groups"/system.slice/*slurmstepd.scope/job_* "$v1/freezer$own"/slurm*/uid_*/job_* "$v1/memory$own"/slurm*/uid_*/job_*; do
  if [ -d "$group" ]; then say "job \${group##*/job_}"; fi
done
for group in "$groups"/nomad.slice/*.scope "$groups"/nomad.slice/*.slice/*.scope "$v1/freezer$own"/nomad/*; do
  if [ -d "$group" ]; then say "task \${group##*/}"; fi
done
for group in "$groups"/machine.slice/*.scope "$groups"/machine.slice/*.slice/*.scope "$groups"/system.slice/*.service/libpod-* "$groups"/libpod_parent/libpod-* \\
  "$sessions"*.slice/user@*.service/user.slice/*.scope "$sessions"*.slice/user@*.service/user.slice/*.slice/*.scope \\
  "$groups"/qemu.slice/*.scope "$groups"/lxc.payload.* "$groups"/lxc/[0-9]*; do
  [ -d "$group" ] || continue
  group=\${group#"$groups"}
  case $group in
    *[!a-zA-Z0-9/:_.@\\\\-]* | */libpod-conmon-*) ;;
    *) printf 'elsewhere %s\\n' "$group" ;;
  esac
done
if [ -n "$node" ]; then
  :
  ${packageManagers.flatMap(({ pins }) => pins ?? []).join('\n')}
fi
:`,
  line: /^(runs|enabled|socket|pod|pod-log|job|task|elsewhere|vnc|pinned) /,
  parse: (output) => {
    const lines = new KeyedLines(output);
    return {
      orchestrators: orchestrators(lines),
      elsewhere: unique(lines.all('elsewhere').flatMap(elsewhere)),
      screens: unique(lines.all('vnc').flatMap(vncScreen)),
      pinned: [...new Set(lines.all('pinned').flatMap((names) => names.split(' ')))].filter((name) =>
        /^[a-z0-9*?][a-z0-9+.*?-]{0,100}$/.test(name),
      ),
    };
  },
};

/** The first name of a unit or a program that fits: kubelet belongs to RKE2 where RKE2's unit runs it. */
const names = [
  ['RKE2', /^rke2/],
  ['k3s', /^k3s/],
  ['Kubernetes', /^kube(let|lite)/],
  ['Nomad', /^nomad/],
  ['Slurm', /^slurm/],
] as const satisfies readonly (readonly [Orchestrator['name'], RegExp])[];

function nameOf(word = ''): Orchestrator['name'] | undefined {
  return names.find(([, pattern]) => pattern.test(word))?.[0];
}

function orchestrators(lines: KeyedLines): Facts['orchestrators'] {
  const units = new Map<Orchestrator['name'], Map<string, boolean>>();
  const add = (name: Orchestrator['name'] | undefined, unit?: string, runs = true): void => {
    if (name === undefined) return;
    const known = units.get(name) ?? new Map<string, boolean>();
    units.set(name, known);
    if (unit !== undefined) known.set(unit, runs || known.get(unit) === true);
  };
  for (const line of lines.all('runs')) {
    const [unit = '', program] = line.split(' ');
    add(nameOf(unit) ?? nameOf(program), unit);
  }
  for (const unit of lines.all('enabled')) add(nameOf(unit), unit, false);
  for (const name of lines.all('socket')) add(nameOf(name));
  const pods = podNames(lines);
  const [jobs, tasks] = [unique(lines.all('job').map(jobName)), unique(lines.all('task').flatMap(taskName))];
  const cluster = (['RKE2', 'k3s', 'Kubernetes'] as const).find((name) => units.has(name)) ?? 'Kubernetes';
  if (pods.length > 0) add(cluster);
  if (jobs.length > 0) add('Slurm');
  if (tasks.length > 0) add('Nomad');
  const work = new Map<Orchestrator['name'], readonly string[]>([
    [cluster, pods],
    ['Slurm', jobs],
    ['Nomad', tasks],
  ]);
  return names.flatMap(([name]) => {
    const own = units.get(name);
    if (own === undefined) return [];
    const all = [...own].toSorted(([left], [right]) => (left < right ? -1 : 1));
    const named = work.get(name) ?? [];
    const running = own.size === 0 || named.length > 0 || all.some(([, runs]) => runs);
    return [{ name, units: all.map(([unit]) => unit), running, work: named }];
  });
}

function unique(all: readonly string[]): readonly string[] {
  return [...new Set(all)].toSorted();
}

/** Returns pods by the names of their log folders, NAMESPACE_NAME_UID. systemd's groups have `_` for `-` in the uid. */
function podNames(lines: KeyedLines): readonly string[] {
  const logs = new Map(
    lines.all('pod-log').flatMap((log): [string, string][] => {
      const [, namespace, name, uid] = /^([a-z0-9-]+)_([a-z0-9.-]+)_([0-9a-f-]+)$/.exec(log) ?? [];
      return uid === undefined ? [] : [[uid, `${namespace}/${name}`]];
    }),
  );
  const uids = lines.all('pod').map((uid) => uid.replaceAll('_', '-'));
  return unique(uids.map((uid) => `pod ${logs.get(uid) ?? uid}`));
}

/** `1234`, and `1234+1` of a heterogeneous job. */
function jobName(id: string): string {
  return `job ${id.replace(/\+.*/, '')}`;
}

/** ALLOCATION.TASK, with `.scope` from systemd; other folders there are Nomad's own. */
function taskName(group: string): readonly string[] {
  const [, id, task] = /^([0-9a-f]{8})-[0-9a-f-]{27}[.-]?(.*?)(?:\.scope)?$/.exec(group) ?? [];
  return id === undefined ? [] : [`task ${task === undefined || task === '' ? id : `${task} (${id})`}`];
}

/** A server that no user runs is a service. */
function vncScreen(line: string): readonly string[] {
  const [, uid, name] = /^(\d{1,10}) (\w+)$/.exec(line) ?? [];
  return uid === undefined || name === undefined ? [] : [`${name} of uid ${uid}`];
}

/** Returns the container or the virtual machine of a control group below systemd's. */
function elsewhere(group: string): readonly string[] {
  const name = (group.split('/').at(-1) ?? '').replace(/\.scope$/, '').replaceAll(String.raw`\x2d`, '-');
  const [, engine, id] = /^(libpod|docker)-(?:payload-)?([0-9a-f]{64})$/.exec(name) ?? [];
  const [, user] = /^\/user\.slice\/user-(\d{1,10})\.slice\//.exec(group) ?? [];
  if (id !== undefined && (engine === 'libpod' || user !== undefined)) {
    const whose = `${engine === 'libpod' ? 'Podman' : 'Docker'}${user === undefined ? '' : ` of uid ${user}`}`;
    return [`container ${id.slice(0, 12)} of ${whose}`];
  }
  const [, machine] = /^machine-(?:qemu-\d+-)?(.+)$/.exec(name) ?? [];
  if (machine !== undefined) return [`machine ${machine}`];
  if (group.startsWith('/qemu.slice/')) return [`machine ${name}`];
  const [, lxc] = /^\/lxc(?:\.payload\.|\/)([\w.-]+)$/.exec(group) ?? [];
  return lxc === undefined ? [] : [`LXC container ${lxc}`];
}
