import { basename } from 'node:path';

import { recordFile, reduceScript } from '../../packages/package-record.ts';
import { folder as fetchedRunfile } from '../driver/runfile-scripts.ts';
import { failFunction, Raw, sh } from '../../../shared/base/shell.ts';
import {
  agentBridge,
  agentNetwork,
  agentUnits,
  fencePreferences,
  HostPaths,
  Labels,
  managerUnit,
} from '../../../shared/contract/paths.ts';

/** Folders that only azp-fleet uses. */
export const ownFolders: readonly string[] = [HostPaths.agents, HostPaths.etc, HostPaths.opt];

const units = new Raw(`'${agentUnits}*.service'`);
const kind = Labels.kind;

/**
 * Stops the manager and its agents. Fails before it stops anything if a job still runs, which happens without a manager.
 */
export const stopScript = sh`${new Raw(failFunction)}
unit=${managerUnit}
has_docker() { command -v docker >/dev/null && docker version >/dev/null 2>&1; }
own_units() { systemctl list-units --all --plain --no-legend ${units} | awk '{ print $1 }'; }
busy=
if has_docker; then
  for id in $(docker ps -q --filter label=${kind}=agent); do
    if docker top "$id" -eo comm 2>/dev/null | grep -qxF Agent.Worker; then busy="$busy $id"; fi
  done
fi
for each in $(own_units); do
  group=$(systemctl show -p ControlGroup --value "$each")
  procs=/sys/fs/cgroup$group/cgroup.procs
  [ -r "$procs" ] || continue
  while read -r pid; do
    if [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = Agent.Worker ]; then busy="$busy $each"; fi
  done <"$procs"
done
[ -z "$busy" ] || fail 'a job still runs on this host' 'agents without jobs' "$busy" \
  "wait until the job ends, or run systemctl start $unit on the host so that its manager waits; then run again"
if systemctl cat "$unit" >/dev/null 2>&1; then
  systemctl disable -q "$unit"
  systemctl stop "$unit"
fi
for each in $(own_units); do
  systemctl stop "$each"
  systemctl reset-failed "$each" 2>/dev/null || :
done
rm -f ${HostPaths.unit} ${HostPaths.unit}.*.part*
systemctl daemon-reload
systemctl reset-failed "$unit" 2>/dev/null || :`;

/**
 * Removes azp-fleet's containers, images, networks and routing rules. Images that others built on azp-fleet's have another name and
 * stay, as do their containers: those have the image's label and none of these kinds.
 */
export const containersScript = sh`${new Raw(failFunction)}
if command -v docker >/dev/null; then
  docker version >/dev/null 2>&1 || fail 'Docker Engine does not answer' 'a list of its containers and images' \
    "$(systemctl is-active docker.service || :)" 'start it (systemctl start docker), and run again'
  for kind in agent probe config; do
    for id in $(docker ps -aq --filter "label=${new Raw(kind)}=$kind"); do docker rm -fv "$id" >/dev/null; done
  done
  docker image ls --filter label=${kind}=image --format '{{.Repository}}:{{.Tag}}' azp-fleet/agent |
    while read -r image; do
      docker image rm "$image" >/dev/null || echo "left: $image is in use by other containers"
    done
  for id in $(docker network ls -q --filter name=^${agentNetwork}$ --filter label=${kind}=network); do
    docker network rm "$id" >/dev/null || echo "left: other containers use azp-fleet's network"
  done
fi
# Names of users hold no blanks, and rules are words: both are meant to be split.
uids=$(awk -F: '$1 ~ /^azp-agent-/ { print "uidrange " $3 "-" $3 " " }' /etc/passwd)
for family in -4 -6; do
  ip "$family" rule show 2>/dev/null |
    sed -n 's/ *\[[a-z]*\]//g; s/^\(${fencePreferences.names}\|${fencePreferences.closed}\):[[:space:]]*from all \(.*\)$/\1 \2 /p' |
    while read -r preference rule; do
      case "$rule " in *"iif ${agentBridge} "*) ;; *uidrange*)
        printf '%s\n' "$uids" | while read -r range; do
          case "$rule " in *"$range "*) echo ours ;; esac
        done | grep -q ours || continue ;;
      *) continue ;; esac
      # shellcheck disable=SC2086
      ip "$family" rule del pref "$preference" $rule || :
    done
  ip "$family" rule del pref ${fencePreferences.past} nop 2>/dev/null || :
done`;

/** Returns a script that removes users first, so that their processes stop writing, then files except the records of this removal. */
export function filesScript(users: readonly string[]): string {
  const each = users.map(
    (user) => sh`pkill -KILL -U ${user} || :
userdel ${user}
if getent group ${user} >/dev/null; then groupdel ${user}; fi
`,
  );
  return sh`${new Raw(each.join(''))}rm -rf --one-file-system ${ownFolders}
find ${HostPaths.state} -mindepth 1 -maxdepth 1 ! -name changes ! -name lock.last ! -path ${recordFile} ! -path ${HostPaths.runfile} -exec rm -rf --one-file-system {} +
rm -rf ${fetchedRunfile}`;
}

/**
 * Returns a script that removes the records of changes and of the lock; not durable, because a unit would write them. The lock in
 * /run disappears at the next boot. `record`: lines of the package record that stay. `runfile`: the record of a .run file stays.
 */
export function traceScript(record: readonly string[], runfile: boolean): string {
  const staying = [...(record.length === 0 ? [] : [recordFile]), ...(runfile ? [HostPaths.runfile] : [])];
  const [away, proof] =
    staying.length === 0
      ? [sh`rm -rf --one-file-system ${HostPaths.state}`, sh`[ ! -e ${HostPaths.state} ]`]
      : [
          sh`${new Raw(reduceScript(record))}
find ${HostPaths.state} -mindepth 1 -maxdepth 1 ${staying.flatMap((path) => ['!', '-path', path])} -exec rm -rf --one-file-system {} +`,
          sh`[ "$(ls -A ${HostPaths.state})" = ${staying.map((path) => basename(path)).join('\n')} ]`,
        ];
  return `${away}
${sh`find ${HostPaths.run} -mindepth 1 ! -name 'lock*' -delete 2>/dev/null || :`}
${proof}`;
}
