import { sh } from '../../../shared/base/shell.ts';
import { HostPaths } from '../../../shared/contract/paths.ts';
import { readStatus } from '../../../shared/contract/status.ts';
import { releaseOf } from '../../../shared/contract/release.ts';
import type { Facts } from '../facts.ts';
import type { FactProbe } from '../probe.ts';

/** The raw text of dockerd's configuration; undefined when the file is absent. */
export const daemonJsonProbe: FactProbe<string | undefined> = {
  name: 'daemon-json',
  script: () => 'cat /etc/docker/daemon.json',
  parse: ({ code, stdout }) => (code === 0 ? stdout : undefined),
};

/** The manager's last word about itself; undefined when it never wrote one, or wrote something else. */
export const managerStatusProbe: FactProbe<Pick<Facts['manager'], 'status' | 'release'>> = {
  name: 'manager-status',
  script: () => sh`cat ${HostPaths.status}`,
  parse: ({ code, stdout }) => {
    if (code !== 0) return { status: undefined, release: undefined };
    try {
      const said: unknown = JSON.parse(stdout);
      return { status: readStatus(said), release: releaseOf(said) };
    } catch {
      return { status: undefined, release: undefined };
    }
  },
};
