import { sha256 } from '../../shared/base/digest.ts';
import { FleetError } from '../../shared/base/errors.ts';
import { agentUsers } from '../../shared/contract/paths.ts';
import type { RunCommand } from '../machine/command.ts';

export interface HostUser {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

const commandMs = 60_000;

/**
 * Below systemd's dynamic users (61184), above users' accounts, and unused by images, which use 999 and below: every process
 * with such a uid is the agent's.
 */
const { first, last } = agentUsers.ids;
const ids = ['UID', 'GID'].flatMap((kind) => [`SYS_${kind}_MIN=${first}`, `SYS_${kind}_MAX=${last}`]);

/** Returns the slot's name for its unit and folder, different for each slot. */
export function slotFile(slot: string): string {
  const name = slot.replaceAll(/[^\w.-]|^\./g, '_');
  return name === slot ? name : `${name}-${suffix(slot)}`;
}

/** Returns the login name of a slot, at most 32 characters and different for each slot: its user can read the agent's key. */
export function userName(slot: string): string {
  const whole = `${agentUsers.prefix}${slot}`;
  const name = whole
    .toLowerCase()
    .replaceAll(/[^a-z0-9_-]/g, '_')
    .slice(0, 32);
  return name === whole ? name : `${name.slice(0, 25)}-${suffix(slot)}`;
}

/** Distinguishes slots whose changed or cut names are equal. */
function suffix(slot: string): string {
  return sha256(slot).slice(0, 6);
}

/** Returns the slot's user; creates it through systemd, because the manager may not write below /etc. */
export async function hostUser(command: RunCommand, slot: string): Promise<HostUser> {
  const name = userName(slot);
  const known = await find(command, name);
  if (known !== undefined) return known;
  const add = [
    'useradd',
    '--system',
    '--user-group',
    '--no-create-home',
    ...ids.flatMap((id) => ['-K', id]),
    '--shell',
    '/usr/sbin/nologin',
    name,
  ];
  const { output } = await command('systemd-run', ['--wait', '--pipe', '--quiet', ...add], commandMs);
  const made = await find(command, name);
  if (made !== undefined) return made;
  throw new FleetError({
    code: 'host-mode.no-user',
    what: `the user ${name} for agents on the host cannot be created`,
    seen: output.trim(),
    next: `create it by hand: useradd --system --user-group --no-create-home ${name}`,
  });
}

async function find(command: RunCommand, name: string): Promise<HostUser | undefined> {
  const { code, output } = await command('getent', ['passwd', name], commandMs);
  const [, , uid, gid] = output.trim().split(':');
  return code === 0 && uid !== undefined && gid !== undefined
    ? { name, uid: Number(uid), gid: Number(gid) }
    : undefined;
}

/**
 * Kills all processes of a user, and removes everything that could start new ones: `sh -c SCRIPT sh LOGIN UID UNIT`. Exits with
 * 0 only when no process is left. A job can leave: a user manager (`loginctl enable-linger`), jobs of cron and at, processes of
 * these, shared memory, files. Another container may use the same uid: a process in another PID namespace whose cgroup only a
 * container engine creates is not the user's.
 *
 * A process that forks and exits all the time is never in a list when it is killed. So the control groups of the run's unit and
 * of the user's slice first may not fork (`pids.max`), then are killed as a whole (`cgroup.kill`, Linux 5.14; systemd); and one
 * list without processes is not enough.
 */
export const clearUserScript = `user=$1 uid=$2 unit=$3
case $uid in '' | *[!0-9]* | ? | ??) echo "not the uid of an agent: $uid"; exit 2 ;; esac
linger=/var/lib/systemd/linger/$user
contained() {
  [ "$(readlink "/proc/$1/ns/pid")" != "$(readlink /proc/1/ns/pid)" ] || return 1
  ! grep -qE "/user[.]slice/|/azp-fleet-agent-" "/proc/$1/cgroup" || return 1
  grep -qE '(docker|crio|libpod|cri-containerd)[-/][0-9a-f]{64}|/kubepods' "/proc/$1/cgroup"
}
dead() {
  [ ! -e "/proc/$1/stat" ] || { grep -qE '^State:[[:blank:]]Z' "/proc/$1/status" && [ "$(find "/proc/$1/task" -mindepth 1 -maxdepth 1 | wc -l)" -le 1 ]; }
}
living() {
  grep -lsE "^Uid:.*[[:blank:]]$uid([[:blank:]]|\\$)" /proc/[0-9]*/status | while read -r file; do
    pid=\${file%/status}
    pid=\${pid##*/}
    dead "$pid" || contained "$pid" || echo "$pid"
  done 2>/dev/null
}
end() {
  tries=100 empty=0
  while :; do
    pids=$(living)
    if [ -z "$pids" ]; then
      [ "$empty" -eq 0 ] || return 0
      empty=1
      sleep 0.2
      continue
    fi
    empty=0
    if [ "$tries" -eq 0 ]; then
      echo "$pids" | head -n 5 | while read -r pid; do
        echo "$pid $(sed -n 's/^State:[[:blank:]]*//p' "/proc/$pid/status") $(cat "/proc/$pid/comm")"
      done 2>/dev/null
      exit 3
    fi
    tries=$((tries - 1))
    echo "$pids" | xargs kill -KILL 2>/dev/null
    sleep 0.1
  done
}
systemctl show --property=ControlGroup "$unit" "user-$uid.slice" 2>/dev/null | sed -n 's/^ControlGroup=//p' | while read -r group; do
  case $group in */"$unit" | */"user-$uid.slice") ;; *) continue ;; esac
  for tree in /sys/fs/cgroup /sys/fs/cgroup/pids /sys/fs/cgroup/unified; do
    [ ! -e "$tree$group/pids.max" ] || echo 0 >"$tree$group/pids.max"
    [ ! -e "$tree$group/cgroup.kill" ] || echo 1 >"$tree$group/cgroup.kill"
  done
done 2>/dev/null
systemctl kill --signal=KILL "$unit" "user-$uid.slice" >/dev/null 2>&1
end
loginctl disable-linger "$user" >/dev/null 2>&1
rm -f "$linger" "/var/spool/cron/crontabs/$user" "/var/spool/cron/tabs/$user" "/var/spool/cron/$user"
find /var/spool/cron /var/spool/at -xdev -type f -uid "$uid" -delete 2>/dev/null
systemctl stop "user@$uid.service" "user-$uid.slice" >/dev/null 2>&1
end
if [ -e "$linger" ]; then echo "$linger is still there"; exit 3; fi
ipc() {
  awk -v uid="$uid" -v at="$3" 'NR > 1 && ($at == uid || $(at + 2) == uid) { print $2 }' "/proc/sysvipc/$1" |
    while read -r id; do ipcrm "$2" "$id"; done
} 2>/dev/null
ipc shm -m 8
ipc msg -q 8
ipc sem -s 5
find /tmp /var/tmp /dev/shm /dev/mqueue -xdev -mindepth 1 -depth -uid "$uid" -delete 2>/dev/null
exit 0`;

/** The script kills for up to 20 s, and a job may have left millions of files. */
const clearUserMs = 10 * 60_000;

/**
 * Kills all processes of the user, and those of the run's unit that systemd still knows; when it resolves, none is running and
 * none can start again. Only then may a key be written that the user can read. Runs through systemd: the manager may not kill
 * other users' processes or write below /var/spool.
 */
export async function clearUser(
  command: RunCommand,
  { name, uid }: Pick<HostUser, 'name' | 'uid'>,
  unit: string,
): Promise<void> {
  // systemd expands $ in commands.
  const script = clearUserScript.replaceAll('$', '$$$$');
  const args = ['--wait', '--pipe', '--quiet', '/bin/sh', '-c', script, 'sh', name, String(uid), unit];
  const { code, output } = await command('systemd-run', args, clearUserMs);
  if (code === 0) return;
  throw new FleetError({
    code: 'host-mode.user-alive',
    what: `processes that a job left running as ${name} do not exit`,
    expected: 'no process of the user before the next agent gets its key',
    seen: output.trim().split('\n', 5).join('; '),
    next: 'retried automatically; a process in state D hangs in the driver: drain the host, then run `azp-fleet reboot`',
  });
}
