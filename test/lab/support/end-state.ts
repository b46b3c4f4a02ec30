import type { LabHost } from '../../../practice/lab/host.ts';

/** What azp-fleet answers for on a host: packages with versions and holds, files by path and mode, units. */
export async function endState(of: LabHost): Promise<string[]> {
  const { stdout } = await of.exec(`dpkg-query -W -f '\${binary:Package} \${Version} \${Status}\\n'
apt-mark showhold | sed 's/^/hold /'
find /etc /opt/azp-fleet/runtime /usr/local -xdev -printf '%p %y %m %l\\n'
cd /opt/azp-fleet/current/ && find . -printf 'manager: %p %y %m %l\\n'
systemctl list-unit-files --state=enabled --no-legend --no-pager | tr -s ' '
grep -o 'azp-fleet/agent:[^"]*' /run/azp-fleet/status.json | head -1
systemctl is-active docker azp-fleet-manager`);
  // Of groupadd, where it was killed.
  return stdout
    .split('\n')
    .filter((line) => !/^\/etc\/g?shadow\.\d+ /.test(line))
    .sort();
}
