import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { startFake, type RunningFake } from '../../practice/azure/start.ts';
import { systemClock } from '../../src/shared/base/clock.ts';
import { ensurePackages } from '../../practice/lab/machine.ts';
import { gpuPrograms, writeGpuMachine } from './gpu-machine.ts';
import { type OwnSshd, startOwnSshd } from './own-sshd.ts';
import { Terminal } from '../../practice/lab/terminal.ts';

const repository = join(import.meta.dirname, '../..');

/** The environment of a wizard test: two machines by SSH, an organization, and a working folder. */
export interface Desk {
  readonly folder: string;
  readonly hosts: readonly OwnSshd[];
  readonly azure: RunningFake;
  readonly tokenFile: string;
  /** A folder for the certificates of the site. */
  readonly site: string;
  /** Runs `azp-fleet ARGS` on a pseudo-terminal of 80 by 24, with this desk's ssh_config. */
  readonly start: (args: string, env?: Readonly<Record<string, string>>) => Terminal;
  readonly end: () => Promise<void>;
}

async function startMachine(hostname: string, gpus: number): Promise<OwnSshd> {
  const sshd = await startOwnSshd({ programs: gpuPrograms });
  writeGpuMachine((file) => sshd.path(file), hostname, gpus);
  return sshd;
}

/** `box-a` and `box-b` are machines of 2 GPUs and 1; `closed` has no listener. */
export async function makeDesk(): Promise<Desk> {
  await ensurePackages({ tmux: 'tmux' });
  // Not the temporary folder of the run: the screens show this path, and wrap by its length.
  const folder = mkdtempSync('/tmp/azp-wizard-');
  const lab = join(folder, 'lab');
  const site = join(folder, 'site');
  for (const made of [lab, site]) mkdirSync(made);
  const tokenFile = join(folder, 'token');
  writeFileSync(tokenFile, 'right\n', { mode: 0o600 });
  const hosts = await Promise.all([startMachine('h200-1', 2), startMachine('rtx-7', 1)]);
  const entries = hosts.map(
    ({ port, user, clientKeyFile }, at) =>
      `Host box-${'ab'.charAt(at)}\n  HostName 127.0.0.1\n  Port ${port}\n  User ${user}\n  IdentityFile ${clientKeyFile}\n`,
  );
  // Port 9 has no listener.
  const closed = 'Host closed\n  HostName 127.0.0.1\n  Port 9\n';
  const all = `Host *\n  IdentitiesOnly yes\n  IdentityAgent none\n  UserKnownHostsFile ${join(folder, 'known_hosts')}\n`;
  const config = join(folder, 'ssh_config');
  writeFileSync(config, [...entries, closed, all].join(''));
  const azure = await startFake({
    host: '127.0.0.1',
    port: 0,
    tokenFile,
    organization: 'lab',
    projects: ['vision', 'speech'],
    clock: systemClock(1),
  });
  return {
    folder: lab,
    hosts,
    azure,
    tokenFile,
    site,
    start: (args, env = {}) => {
      const command = `"${process.execPath}" "${join(repository, 'bin/azp-fleet.js')}" ${args} --ssh-config "${config}"`;
      return new Terminal(command, {
        cwd: lab,
        env: { XDG_STATE_HOME: join(folder, 'state'), XDG_CONFIG_HOME: join(folder, 'config'), ...env },
      });
    },
    end: async () => {
      await azure.close();
      for (const host of hosts) await host.stop();
      rmSync(folder, { recursive: true });
    },
  };
}

/** The happy path: a question, and the keys that answer it. */
export const path: readonly (readonly [question: string, ...keys: string[]])[] = [
  ['Hosts from', 'Space', 'Down', 'Space', 'Enter'],
  ['Others (user@', 'Enter'],
  ['Azure DevOps organization', 'ORGANIZATION', 'Enter'],
  ['Does internet access need a proxy', 'Enter'],
  ['Where is the access token stored', 'Down', 'Down', 'Enter'],
  ['File:', 'TOKEN', 'Enter'],
  ['When does it expire', '2099-05-31', 'Enter'],
  ['Projects that may use', 'Enter'],
  ['Agent pool:', 'Enter'],
  ['Agent pool (created', 'Enter'],
  ['Agents on each host', 'Enter'],
  ['Mounts of the hosts', 'Enter'],
  ['Folders of the hosts', 'Enter'],
  ['Write it to inventory.yaml', 'Enter'],
];

/** Types the keys of one question of the path. */
export function give(desk: Desk, terminal: Terminal, keys: readonly string[]): void {
  for (const key of keys)
    if (key === 'ORGANIZATION') terminal.type(`${desk.azure.organization}/vision/_git/models`);
    else if (key === 'TOKEN') terminal.type(desk.tokenFile);
    else if (/^\d/.test(key)) terminal.type(key);
    else terminal.press(key);
}

/** Replaces what differs from run to run, in as many columns. */
export function steady(text: string): string {
  return text
    .replaceAll(repository, '/opt/azp-fleet')
    .replaceAll(/azp-wizard-\w{6}/g, 'azp-wizard-folder')
    .replaceAll(/127\.0\.0\.1:\d{5}/g, '127.0.0.1:40001')
    .replaceAll(/SHA256:[\w+/]{43}/g, `SHA256:${'k'.repeat(43)}`)
    .replaceAll(/20\d\d-\d\d-\d\d \d\d:\d\d UTC/g, '2026-11-22 12:00 UTC')
    .replaceAll(/ +$/gm, '');
}
