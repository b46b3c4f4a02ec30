import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Programs of a GPU machine with systemd, for `writePrograms`: everything else is this machine's. */
export const gpuPrograms = {
  moved: `bin=ROOT/../bin
exec sed -e "s#/run/azp-fleet#ROOT/run/azp-fleet#g" -e "s#/var/lib/azp-fleet#ROOT/var/lib/azp-fleet#g" \\
  -e "s#/opt/azp-fleet#ROOT/opt/azp-fleet#g" -e "s#PATH=/usr/local/sbin#PATH=$bin:/usr/local/sbin#g" \\
  -e "s#/etc/machine-id#ROOT/machine-id#g" -e "s#/run/systemd/system#ROOT#g" -e "s#/sys/bus/pci#ROOT/pci#g" \\
  -e "s#/proc/1/cgroup#ROOT/init-cgroup#g" -e "s#/sys/fs/cgroup#ROOT/cgroup#g" \\
  -e "s#/etc/os-release#ROOT/os-release#g" -e "s#/proc/mounts#ROOT/mounts#g" -e "s#~/.ssh#ROOT/ssh#g" -e "s#^PRETTY#&#"
`,
  systemctl: `[ "$*" != --version ] || echo 'systemd 252 (252.39-1~deb12u1)'\n`,
  uname: `case $* in -n) cat ROOT/hostname ;; *) exec /usr/bin/uname "$@" ;; esac\n`,
  df: `printf 'Filesystem 1024-blocks Used Available Capacity Mounted on\\n'
shift
for path; do echo "/dev/sda1 900000000 1 $(cat ROOT/free) 1% /"; done
`,
};

/** Its files. `path`: path on this machine of a file of the host. */
export function writeGpuMachine(path: (onHost: string) => string, hostname: string, gpus: number): void {
  const write = (file: string, text: string) => writeFileSync(path(file), text);
  write('machine-id', `${hostname.padEnd(32, '0').replaceAll(/[^\da-f]/g, 'a')}\n`);
  write('hostname', `${hostname}.lab.example\n`);
  write('os-release', 'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nVERSION_ID="12"\nID=debian\n');
  write('free', '500000000\n');
  write('init-cgroup', '0::/init.scope\n');
  mkdirSync(path('cgroup/system.slice'), { recursive: true });
  write('mounts', '/dev/sda1 / ext4 rw 0 0\nnas:/data /mnt/imagenet nfs4 rw 0 0\n');
  for (let at = 0; at < gpus; at += 1) {
    const device = path(`pci/devices/0000:0${at + 1}:00.0`);
    mkdirSync(device, { recursive: true });
    for (const [name, value] of [
      ['vendor', '0x10de'],
      ['class', '0x030200'],
      ['device', '0x2335'],
    ] as const)
      writeFileSync(join(device, name), `${value}\n`);
  }
}
