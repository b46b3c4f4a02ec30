import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';

import { Terminal } from './terminal.ts';
import type { Lab } from './lab.ts';
import { repository } from './paths.ts';

/** A folder to run setup in, with an ssh_config that replaces the user's own while setup runs. */
export interface Desk {
  readonly folder: string;
  readonly ssh: string;
}

/** Hosts of the lab under the names `gpu-NAME`; `more` is added to the ssh_config. */
export function makeDesk(lab: Lab, more = ''): Desk {
  const folder = mkdtempSync(join(tmpdir(), 'azp-setup-'));
  const ssh = mkdtempSync(join(tmpdir(), 'azp-setup-ssh-'));
  const entries = lab.hosts.map(
    ({ name, address, user }) =>
      `Host gpu-${name}\n  HostName ${address}\n  User ${user}\n  IdentityFile ${lab.key}\n  IdentitiesOnly yes\n`,
  );
  writeFileSync(join(ssh, 'config'), entries.join('') + more, { mode: 0o600 });
  return { folder, ssh };
}

/** Runs the CLI on a pseudo-terminal of 80 by 24. Only it sees the desk's folder as ~/.ssh. */
export function startCli(
  { folder, ssh }: Desk,
  args: string,
  env: Readonly<Record<string, string>> = {},
): Terminal {
  const home = join(userInfo().homedir, '.ssh');
  mkdirSync(home, { recursive: true, mode: 0o700 });
  const program = `"${process.execPath}" "${join(repository, 'bin/azp-fleet.js')}" ${args}`;
  const command = `unshare -m sh -c 'mount --bind "${ssh}" "${home}" && exec ${program}'`;
  return new Terminal(command, { cwd: folder, env: { XDG_STATE_HOME: join(ssh, 'state'), ...env } });
}
