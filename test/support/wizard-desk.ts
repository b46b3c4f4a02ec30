import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { startFake, type RunningFake } from '../../src/azure/fake/start.ts';
import { systemClock } from '../../src/base/machine/clock.ts';
import { ensurePackages } from '../lab/harness/prerequisites.ts';
import { type OwnSshd, startOwnSshd } from './own-sshd.ts';
import { Terminal } from './terminal.ts';

const repository = join(import.meta.dirname, '../..');

/** Where the wizard is tried: two machines by SSH, an organization, and a folder to work in. */
export interface Desk {
  readonly folder: string;
  readonly hosts: readonly OwnSshd[];
  readonly azure: RunningFake;
  readonly tokenFile: string;
  /** Runs `azp-fleet ARGS` on a pseudo-terminal of 80 by 24, with this desk's ssh_config. */
  readonly start: (args: string, env?: Readonly<Record<string, string>>) => Terminal;
  readonly end: () => Promise<void>;
}

/** What stands in for a GPU machine with systemd: whatever else a login asks for is this machine's own. */
const programs = {
  moved: `bin=ROOT/../bin
exec sed -e "s#/run/azp-fleet#ROOT/run/azp-fleet#g" -e "s#/var/lib/azp-fleet#ROOT/var/lib/azp-fleet#g" \\
  -e "s#/opt/azp-fleet#ROOT/opt/azp-fleet#g" -e "s#PATH=/usr/local/sbin#PATH=$bin:/usr/local/sbin#g" \\
  -e "s#/etc/machine-id#ROOT/machine-id#g" -e "s#/run/systemd/system#ROOT#g" -e "s#/sys/bus/pci#ROOT/pci#g" \\
  -e "s#/proc/mounts#ROOT/mounts#g" -e "s#~/.ssh#ROOT/ssh#g" -e "s#^PRETTY#&#"
`,
  systemctl: `[ "$*" != --version ] || echo 'systemd 252 (252.39-1~deb12u1)'\n`,
  uname: `case $* in -n) cat ROOT/hostname ;; *) exec /usr/bin/uname "$@" ;; esac\n`,
  df: `printf 'Filesystem 1024-blocks Used Available Capacity Mounted on\\n'
shift
for path; do echo "/dev/sda1 900000000 1 $(cat ROOT/free) 1% /"; done
`,
};

async function startMachine(hostname: string, gpus: number): Promise<OwnSshd> {
  const sshd = await startOwnSshd({ programs });
  const write = (file: string, text: string) => writeFileSync(sshd.path(file), text);
  write('machine-id', `${hostname.padEnd(32, '0').replaceAll(/[^\da-f]/g, 'a')}\n`);
  write('hostname', `${hostname}.lab.example\n`);
  write('free', '500000000\n');
  write('mounts', '/dev/sda1 / ext4 rw 0 0\nnas:/data /mnt/imagenet nfs4 rw 0 0\n');
  for (let at = 0; at < gpus; at += 1) {
    const device = sshd.path(`pci/devices/0000:0${at + 1}:00.0`);
    mkdirSync(device, { recursive: true });
    for (const [name, value] of [
      ['vendor', '0x10de'],
      ['class', '0x030200'],
      ['device', '0x2335'],
    ] as const)
      writeFileSync(join(device, name), `${value}\n`);
  }
  return sshd;
}

/** `box-a` and `box-b` are machines of 2 GPUs and 1; on `closed` nobody listens. */
export async function makeDesk(): Promise<Desk> {
  await ensurePackages({ tmux: 'tmux' });
  const folder = mkdtempSync(join(tmpdir(), 'azp-wizard-'));
  const lab = join(folder, 'lab');
  mkdirSync(lab);
  const tokenFile = join(folder, 'token');
  writeFileSync(tokenFile, 'right\n', { mode: 0o600 });
  const hosts = await Promise.all([startMachine('h200-1', 2), startMachine('rtx-7', 1)]);
  const entries = hosts.map(
    ({ port, user, clientKeyFile }, at) =>
      `Host box-${'ab'.charAt(at)}\n  HostName 127.0.0.1\n  Port ${port}\n  User ${user}\n  IdentityFile ${clientKeyFile}\n`,
  );
  // Nobody listens on port 9.
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
