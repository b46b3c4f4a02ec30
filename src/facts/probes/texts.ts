import { sh } from '../../base/shell.ts';
import { HostPaths } from '../../contract/paths.ts';
import { readStatus } from '../../contract/read-status.ts';
import type { ManagerStatus } from '../../contract/status.ts';
import type { FactProbe } from '../probe.ts';

/** The raw text of dockerd's configuration; undefined when the file is absent. */
export const daemonJsonProbe: FactProbe<string | undefined> = {
  name: 'daemon-json',
  script: () => 'cat /etc/docker/daemon.json',
  parse: ({ code, stdout }) => (code === 0 ? stdout : undefined),
};

/** The manager's last word about itself; undefined when it never wrote one, or wrote something else. */
export const managerStatusProbe: FactProbe<ManagerStatus | undefined> = {
  name: 'manager-status',
  script: () => sh`cat ${HostPaths.status}`,
  parse: ({ code, stdout }) => {
    if (code !== 0) return undefined;
    try {
      return readStatus(JSON.parse(stdout));
    } catch {
      return undefined;
    }
  },
};
