import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, realpathSync, symlinkSync } from 'node:fs';
import { expect, test } from 'vitest';

import { factScript } from '../../../../src/fleet/facts/gather.ts';
import { parseFacts } from '../../../../src/fleet/facts/parse.ts';
import { recordFile } from '../../../../src/fleet/packages/package-record.ts';
import { parseFrames } from '../../../../src/fleet/ssh/session/frames.ts';
import { HostPaths } from '../../../../src/shared/contract/paths.ts';
import { countLimit } from '../../../support/floor.ts';
import { hangsMs, ScratchHost } from '../../../support/scratch/host.ts';

const row = 'facts script: forks';
const most = countLimit(row);

const advice = (forks: number): string =>
  `the facts script starts ${forks} processes on this host, and at most ${most} are allowed: each costs every host a millisecond ` +
  `in every plan, status and provision. Let the shell itself read small files, and one program read several files. If the new ` +
  `process is worth it, raise "${row}" in bench/floor.json, and say why in the commit. strace -f -e trace=process shows them`;

/** A host that is up to date: two GPUs, Docker, the manager, and files of everything that azp-fleet writes. */
function managed(host: ScratchHost): void {
  const gpu = (address: string): void => {
    const folder = `/practice/sys/bus/pci/devices/${address}`;
    host
      .file(`${folder}/vendor`, '0x10de\n')
      .file(`${folder}/class`, '0x030200\n')
      .file(`${folder}/device`, '0x2335\n')
      .link(`${folder}/driver`, '/practice/sys/bus/pci/drivers/nvidia');
  };
  host.folder('/practice/sys/bus/pci/drivers/nvidia');
  gpu('0000:18:00.0');
  gpu('0000:3b:00.0');
  const digest = 'f'.repeat(64);
  const files: Readonly<Record<string, string>> = {
    '/etc/os-release': 'ID=debian\nVERSION_ID="12"\n',
    '/etc/machine-id': '0f8e\n',
    '/etc/passwd': 'root:x:0:0::/root:/bin/sh\n',
    '/proc/uptime': '12.34 99.9\n',
    '/proc/1/stat': '1 (systemd) S 0\n',
    '/proc/meminfo': 'MemTotal: 65536000 kB\n',
    '/proc/locks': '1: FLOCK  ADVISORY  WRITE 77 00:1a:1 0 EOF\n',
    '/proc/version': 'Linux version 6.1 (x@y) (gcc-12 (Debian 12.2.0) 12.2.0) #1 SMP\n',
    '/proc/sys/kernel/osrelease': '6.1.0-40-amd64\n',
    '/proc/sys/kernel/random/boot_id': '5b1c\n',
    '/proc/4242/comm': 'dockerd\n',
    '/proc/1/cgroup': '0::/init.scope\n',
    '/sys/fs/cgroup/system.slice/docker.service/cgroup.procs': '4242\n',
    '/lib/systemd/libsystemd-shared-252.so': '',
    '/lib/systemd/system/nvidia-persistenced.service': '',
    '/practice/sys/module/nvidia/version': '580.95.05\n',
    '/practice/proc/driver/nvidia/version': 'NVRM version: NVIDIA UNIX Open Kernel Module  580.95.05\n',
    '/dev/nvidia0': '',
    '/boot/initrd.img-6.1.0-40-amd64': 'x',
    '/boot/vmlinuz-6.1.0-40-amd64': '',
    '/boot/vmlinuz-6.1.0-44-amd64': '',
    '/lib/modules/6.1.0-40-amd64/modules.dep': 'updates/dkms/nvidia.ko.xz: kernel/drm.ko\n',
    '/lib/modules/6.1.0-44-amd64/modules.dep': 'updates/dkms/nvidia.ko.xz: kernel/drm.ko\n',
    '/var/lib/dpkg/status': 'Package: dpkg\n',
    '/var/lib/dpkg/lock-frontend': '',
    '/run/docker.pid': '4242',
    '/run/systemd/sessions/1': 'USER=ann\nTTY=pts/0\nCLASS=user\nSTATE=active\n',
    '/etc/docker/daemon.json': '{ "live-restore": true }\n',
    '/etc/cdi/nvidia.yaml': 'kind: nvidia.com/gpu\nhostPath: /usr/lib/libcuda.so.580.95.05\n',
    '/etc/modprobe.d/azp-fleet-nouveau.conf': 'blacklist nouveau\n',
    [HostPaths.config]: '{}',
    [HostPaths.status]: '{}',
    [HostPaths.token]: 's3cret',
    [HostPaths.unit]: '[Service]\n',
    [HostPaths.managerState]: '{\n  "installation": "0f8e-01"\n}\n',
    [`${HostPaths.versions}/abc/dockeragent/Dockerfile`]: 'FROM base\n',
    [recordFile]: 'part docker\n',
    [`${HostPaths.archives}/${digest}.tar.gz`]: 'x',
    [`${HostPaths.changes}/c1/title`]: 'install it\n',
    [`${HostPaths.changes}/c1/owner`]: 'ann\n',
    [`${HostPaths.changes}/c1/code`]: '0\n',
  };
  for (const [path, text] of Object.entries(files)) host.file(path, text);
  host.link(HostPaths.current, 'versions/abc');
  host.folder('/run/systemd/system');
  const programs: Readonly<Record<string, string>> = {
    // Without limits: what a loaded machine does not do in time is done again.
    timeout: 'shift 3; "$@"',
    date: 'echo 1795324800',
    uname: 'echo 6.1.0-40-amd64 x86_64',
    id: 'echo root',
    nproc: 'echo 16',
    'nvidia-smi': '',
    gcc: '',
    make: '',
    systemctl: 'case $* in *nvidia*) echo Id=nvidia-persistenced.service ;; esac; echo ActiveState=active',
    df: 'echo "Filesystem 1024-blocks"; shift; for path; do echo "/dev/vda1 9 1 8 1% /"; done',
    'dpkg-query': 'echo "installed install docker-ce 5:29.7.2-1"',
    perl: `case $2 in *info*) echo '{"ServerVersion":"29.7.2"}' ;; *) echo '[]' ;; esac`,
  };
  for (const [name, body] of Object.entries(programs)) host.program(name, body, { silent: true });
}

/** Returns how many processes a program of a host starts: ids are given in order, and a new namespace begins with 1. */
async function forksOf(host: ScratchHost, program: string, flags: readonly string[]): Promise<number> {
  const { stdout } = await host.execute(
    `unshare ${flags.join(' ')} sh -c '${program} >/root/${program}.out; : & echo "$!"'`,
    { flags: [], args: [], input: '', env: {}, umask: '022', limitMs: hangsMs },
  );
  return Number(stdout);
}

test('reading the facts of a host starts no more processes than it did', async ({ annotate }) => {
  const root = process.getuid?.() === 0 ? [] : ['--user', '--map-root-user'];
  const flags = [...root, '--pid', '--fork'];
  if (spawnSync('unshare', [...flags, 'true']).status !== 0)
    return annotate('processes are counted where users may create namespaces');
  if (!realpathSync('/bin/sh').endsWith('dash')) return annotate('processes are counted for dash');
  const host = new ScratchHost();
  try {
    managed(host);
    host.program('facts', factScript({ root: { prefix: '/practice' } }), { silent: true });
    host.program('nothing', ':', { silent: true });
    const unshare = execFileSync('sh', ['-c', 'command -v unshare'], { encoding: 'utf8' }).trim();
    symlinkSync(unshare, host.at('/usr/local/sbin/unshare'));
    const forks = (await forksOf(host, 'facts', flags)) - (await forksOf(host, 'nothing', flags));
    const output = readFileSync(host.at('/root/facts.out'), 'utf8').replaceAll(host.root, '');
    const facts = parseFacts(parseFrames(output));
    // A probe that fails starts fewer.
    expect(facts.unknown).toEqual([]);
    expect(facts).toMatchObject({
      gpus: [{ boundTo: 'nvidia' }, { boundTo: 'nvidia' }],
      docker: { serverVersion: '29.7.2' },
      toolkit: { cdiDriver: '580.95.05' },
      manager: { installation: '0f8e-01', unitActive: 'active' },
      disk: { '/': { mount: '/' } },
    });
    expect(forks, advice(forks)).toBeLessThanOrEqual(most);
  } finally {
    host.remove();
  }
  return undefined;
});
