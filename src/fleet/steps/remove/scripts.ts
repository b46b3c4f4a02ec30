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

/** Folders that hold nothing but ours. */
export const ownFolders: readonly string[] = [HostPaths.agents, HostPaths.etc, HostPaths.opt];

const units = new Raw(`'${agentUnits}*.service'`);
const kind = Labels.kind;

/**
 * Ends the manager and what it runs. A job that runs without its manager has not been waited for: then nothing is ended.
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
  "wait for it to end, or have its manager wait: systemctl start $unit on the host, and run again"
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
 * What is in Docker and in the routing rules. What others have built on our image has a name of its own, and stays; so does
 * what they run from it: such a container has the image's label, and none of these kinds.
 */
export const containersScript = sh`${new Raw(failFunction)}
if command -v docker >/dev/null; then
  docker version >/dev/null 2>&1 || fail 'Docker Engine does not answer' 'its containers and images can be asked for' \
    "$(systemctl is-active docker.service || :)" 'start it (systemctl start docker), and run again'
  for kind in agent probe config; do
    for id in $(docker ps -aq --filter "label=${new Raw(kind)}=$kind"); do docker rm -fv "$id" >/dev/null; done
  done
  docker image ls --filter label=${kind}=image --format '{{.Repository}}:{{.Tag}}' azp-fleet/agent |
    while read -r image; do
      docker image rm "$image" >/dev/null || echo "left: $image is in use by containers that are not ours"
    done
  for id in $(docker network ls -q --filter name=^${agentNetwork}$ --filter label=${kind}=network); do
    docker network rm "$id" >/dev/null || echo 'left: containers that are not ours are on our network'
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

/** Users first, that nothing of theirs writes any more; what keeps notes of this very work goes by itself, last. */
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
 * The notes of changes, and the lock's: no unit may write them while they go. In /run the lock itself goes with the boot.
 * `record`: the lines of the packages' record that stay; none: all of it goes. `runfile`: what is noted of a .run file stays.
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
