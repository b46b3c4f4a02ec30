import type { LabHost } from '../../../practice/lab/host.ts';

/**
 * What runs, beside what lies there: read from the processes and from what they say of themselves, not by the product's
 * facts. The same on two hosts that were brought to the same end by different ways.
 */
export async function loadedState(of: LabHost): Promise<string[]> {
  const { stdout } = await of.exec(`
newer() { [ "$(stat -c %.9Z "$1")" = "$(printf '%s\\n%s\\n' "$(stat -c %.9Z "$1")" "$(stat -c %.9Y "$2")" | sort -n | head -n 1)" ] || echo "$1 is newer than $2"; }
for file in /etc/docker/daemon.json /usr/local/share/ca-certificates/azp-fleet-site.crt /usr/bin/nvidia-container-runtime-hook; do
  newer "$file" /run/docker.pid
done
for spec in /var/run/cdi/nvidia.yaml; do newer /usr/bin/nvidia-ctk "$spec"; done
docker info --format '{{json .Runtimes}} {{.LiveRestoreEnabled}}'
openssl verify -CAfile /etc/ssl/certs/ca-certificates.crt /usr/local/share/ca-certificates/azp-fleet-site.crt
systemctl show -p NeedDaemonReload -p UnitFileState azp-fleet-manager docker nvidia-persistenced
systemctl is-active azp-fleet-manager docker nvidia-persistenced
pid=$(systemctl show -p MainPID --value azp-fleet-manager)
tr '\\0' '\\n' </proc/$pid/environ | grep AZP_FLEET_UNIT
[ "$(readlink /proc/$pid/exe)" = "$(readlink -f /opt/azp-fleet/current/node)" ] || echo 'another Node runs'
cmp /run/credentials/azp-fleet-manager.service/token /etc/azp-fleet/token && echo 'the credential is loaded'
sha256sum /etc/azp-fleet/ca.pem
grep -o '"started":{[^}]*}' /run/azp-fleet/status.json
grep -c '"run":' /run/azp-fleet/status.json
cat /sys/module/nvidia/version
ls -d /sys/module/nvidia*
find /opt/azp-fleet /etc/azp-fleet /etc/systemd/system /var/lib/azp-fleet/folders -name '*.part*' -o -name '*.next'
ls /var/lib/azp-fleet/folders
dpkg --audit
true`);
  return stdout.split('\n');
}
