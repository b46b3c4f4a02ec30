import { probe } from './probe-case.ts';
import type { ScriptCase } from '../../../../support/scratch/case.ts';
import type { ScratchHost } from '../../../../support/scratch/host.ts';

const v2 = '/sys/fs/cgroup';
const v1 = '/sys/fs/cgroup/systemd';

/** A host with systemd, whose control groups begin in `tree`; `init` is its line in /proc/1/cgroup. */
function booted(host: ScratchHost, tree = v2, init = '0::/init.scope\n'): void {
  host.folder('/run/systemd/system', `${tree}/system.slice`).file('/proc/1/cgroup', init);
}

/** A unit with processes: pid → name. */
function unit(host: ScratchHost, path: string, processes: Readonly<Record<string, string>> = {}): void {
  const pids = Object.keys(processes);
  host.file(`${path}/cgroup.procs`, pids.map((pid) => `${pid}\n`).join(''));
  for (const [pid, name] of Object.entries(processes)) host.file(`/proc/${pid}/comm`, `${name}\n`);
}

const uid = '0d4c1e2f-aaaa-bbbb-cccc-0123456789ab';
const slice = `pod${uid.replaceAll('-', '_')}.slice`;
const container = '0123456789abcdef'.repeat(4);

type Row = readonly [name: string, stdout: string, given: (host: ScratchHost) => void];

const rootless = '/user.slice/user-1000.slice/user@1000.service/user.slice';
const elsewhere = [
  `/machine.slice/libpod-${container}.scope`,
  String.raw`/machine.slice/machine-qemu\x2d1\x2dvm1.scope`,
  `/machine.slice/machine-libpod_pod_1.slice/libpod-${container}.scope`,
  `/system.slice/web.service/libpod-payload-${container}`,
  `/libpod_parent/libpod-${container}`,
  `${rootless}/docker-${container}.scope`,
  `${rootless}/user-libpod_pod_2.slice/libpod-${container}.scope`,
  '/qemu.slice/100.scope',
  '/lxc.payload.box',
  '/lxc/101',
]
  .map((group) => `elsewhere ${group}\n`)
  .join('');

const bootUnits = [
  'k3s-agent',
  'k3s',
  'kubelet',
  'nomad-a,b',
  'nomad',
  'rke2-server',
  'slurmd',
  'slurmd@gpu1',
];

const rows: readonly Row[] = [
  [
    'a server without any orchestrator',
    '',
    (host) => {
      booted(host);
      unit(host, `${v2}/system.slice/ssh.service`, { 70: 'sshd' });
      host.file('/etc/apt/preferences.d/engine', 'Package: docker-ce\nPin: version 5:27.*\n');
    },
  ],
  ['a machine without systemd', '', () => undefined],
  [
    'kubelet with pods of its systemd driver, and pins',
    `runs kubelet.service\nruns kubelet.service kubelet\npod ${uid.replaceAll('-', '_').replace('0d', '1d')}\npod ${uid.replaceAll('-', '_')}\npod-log default_train-0_${uid}\npinned kubelet\npinned \npinned containerd.io runc\n`,
    (host) => {
      booted(host);
      unit(host, `${v2}/system.slice/kubelet.service`, { 71: 'kubelet' });
      host
        .folder(`${v2}/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-${slice}`)
        .folder(`${v2}/kubepods.slice/kubepods-${slice.replace('0d', '1d')}`)
        .file(`${v2}/kubepods.slice/cgroup.procs`)
        .folder(`/var/log/pods/default_train-0_${uid}`, '/var/log/pods/other')
        .file(
          '/etc/apt/preferences',
          'Explanation: ours\nPackage: a\nPin: release o=Debian\nPin-Priority: 1\n\nPackage: kubelet\nPin: version 1.34.*\n',
        )
        .file('/etc/apt/preferences.d/cut', 'Pin: version 1.34.*\n')
        .file('/etc/apt/preferences.d/of-k8s', 'Package: containerd.io runc\nPin: version 1.7.*')
        .file('/etc/apt/preferences.d/nvidia-driver-pinning-580', 'Package: libcuda1\nPin: version 580.*\n')
        .folder('/etc/apt/preferences.d/folder');
    },
  ],
  [
    'kubelet in another slice below another name, with pods of its cgroupfs driver, on cgroup v1',
    `runs node.service kubelet\npod ${uid}\npod f0,0\npod-log *_*_*\n`,
    (host) => {
      booted(host, v1, `12:memory:/\n1:name=systemd:/init.scope\n0::/init.scope\n`);
      unit(host, `${v1}/runtime.slice/node.service`, { 70: 'sh', 71: 'kubelet', 72: 'sh' });
      host.folder(`${v1}/kubepods/pod${uid}`, `${v1}/kubepods/besteffort/podf0,0`);
    },
  ],
  [
    'MicroK8s, whose snap has a template unit in a slice of its own',
    'runs snap.microk8s.daemon-kubelite.service kubelite\n',
    (host) => {
      booted(host);
      unit(host, `${v2}/system.slice/snap.slice/snap.microk8s.daemon-kubelite.service`, { 71: 'kubelite' });
    },
  ],
  [
    'k3s and RKE2 by their units',
    'runs k3s-agent.service\nruns k3s-agent.service k3s-agent\nruns k3s.service\nruns k3s.service k3s-server\nruns rke2-agent.service\nruns rke2-agent.service rke2\nruns rke2-agent.service kubelet\n',
    (host) => {
      booted(host);
      unit(host, `${v2}/system.slice/k3s.service`, { 71: 'k3s-server', 72: 'containerd' });
      unit(host, `${v2}/system.slice/k3s-agent.service`, { 73: 'k3s-agent' });
      unit(host, `${v2}/system.slice/rke2-agent.service`, { 74: 'rke2', 75: 'kubelet' });
    },
  ],
  [
    'the containerd of k3s alone',
    'socket k3s\n',
    (host) => {
      booted(host);
      host.file('/run/k3s/containerd/containerd.sock');
    },
  ],
  [
    'the containerd of RKE2 alone',
    'socket rke2\n',
    (host) => {
      booted(host);
      host.file('/run/k3s/containerd/containerd.sock').folder('/var/lib/rancher/rke2');
    },
  ],
  [
    'units that only start at boot',
    bootUnits.map((name) => `enabled ${name}.service\n`).join(''),
    (host) => {
      booted(host);
      const wants = '/etc/systemd/system/multi-user.target.wants';
      for (const name of [...bootUnits, 'slurmdbd', 'ssh'])
        host
          .file(`/lib/systemd/system/${name}.service`)
          .link(`${wants}/${name}.service`, `/lib/systemd/system/${name}.service`);
      host.link('/etc/systemd/system/other.target.wants/k3s.service', '/lib/systemd/system/gone.service');
    },
  ],
  [
    'Slurm with jobs in its scope',
    'runs slurmd.service\nruns slurmd.service slurmd\njob 4712\njob 4711\n',
    (host) => {
      booted(host);
      unit(host, `${v2}/system.slice/slurmd.service`, { 71: 'slurmd' });
      host.folder(
        `${v2}/system.slice/slurmstepd.scope/job_4711/step_0`,
        `${v2}/system.slice/slurmstepd.scope/system`,
      );
      host.folder(`${v2}/system.slice/gpu1_slurmstepd.scope/job_4712`);
    },
  ],
  [
    'Slurm without control groups, whose steps name themselves',
    'runs slurmd@gpu1.service\nruns slurmd@gpu1.service slurmd\njob 47,13\n',
    (host) => {
      booted(host);
      unit(host, `${v2}/system.slice/slurmd@gpu1.service`, {
        70: 'slurmstepd',
        71: 'slurmd',
        72: 'slurmstepd',
        73: 'slurmstepd',
      });
      host
        .file('/proc/72/cmdline', 'slurmstepd: [47,13.batch.0]\0\0\0')
        .file('/proc/73/cmdline', 'slurmstepd\0infinity\0');
    },
  ],
  [
    'Slurm and Nomad on cgroup v1, on a host that is a container',
    'runs nomad-a.service\nruns nomad.service\nruns nomad.service nomad\njob 47,14\njob 4715\ntask 8ba85cef-0000-4000-8000-0123456789ab.we,b\nelsewhere /lxc/101\n',
    (host) => {
      const own = '/job_1/f[0]0';
      booted(host, `${v1}${own}`, `3:freezer:${own}\n1:name=systemd:${own}/init.scope\n`);
      unit(host, `${v1}${own}/system.slice/nomad.service`, { 71: 'nomad' });
      unit(host, `${v1}${own}/system.slice/nomad-a.service`);
      host
        .folder(`/sys/fs/cgroup/freezer${own}/slurm/uid_1000/job_47,14`)
        .folder(`/sys/fs/cgroup/memory${own}/slurm_gpu1/uid_1000/job_4715`)
        .folder(`/sys/fs/cgroup/freezer${own}/nomad/8ba85cef-0000-4000-8000-0123456789ab.we,b`)
        .folder('/sys/fs/cgroup/freezer/slurm/uid_1000/job_1')
        .folder(`${v1}${own}/lxc/101`);
    },
  ],
  [
    'Nomad with tasks in its slices',
    'task 8ba85cef-0000-4000-8000-0123456789ab.web.scope\ntask 9ba85cef-0000-4000-8000-0123456789ab.db.scope\n',
    (host) => {
      booted(host);
      host
        .folder(`${v2}/nomad.slice/8ba85cef-0000-4000-8000-0123456789ab.web.scope`)
        .folder(`${v2}/nomad.slice/share.slice/9ba85cef-0000-4000-8000-0123456789ab.db.scope`);
    },
  ],
  [
    'an orchestrator that a user started, in a session and as a unit',
    'runs session-3.scope nomad\nruns k3s-rootless.service\nruns k3s-rootless.service k3s-server\n',
    (host) => {
      booted(host);
      const user = `${v2}/user.slice/user-1000.slice`;
      unit(host, `${user}/session-3.scope`, { 70: 'bash', 71: 'nomad' });
      unit(host, `${user}/user@1000.service/app.slice/k3s-rootless.service`, { 72: 'k3s-server' });
      unit(host, `${user}/user@1000.service/app.slice/kube\nlet.service`, { 73: 'kubelet' });
    },
  ],
  [
    'screens of VNC that a user started over SSH, and one of a service',
    'vnc /sys/fs/cgroup/system Xtigervnc\nvnc 1000 Xvnc\n',
    (host) => {
      booted(host);
      unit(host, `${v2}/system.slice/kiosk.service`, { 70: 'Xtigervnc' });
      unit(host, `${v2}/user.slice/user-1000.slice/session-3.scope`, { 71: 'Xvnc', 72: 'xterm' });
    },
  ],
  [
    'processes that end while they are read',
    'runs node.service slurmd\n',
    (host) => {
      booted(host);
      host.file(`${v2}/system.slice/node.service/cgroup.procs`, '70\n71\n72\n');
      host.file('/proc/71/comm', 'slurmd\n').file('/proc/72/comm', 'nomad');
      host.folder(`${v2}/system.slice/kubelet.service`);
    },
  ],
  [
    'containers of Podman and of a rootless Docker, virtual machines, LXC',
    elsewhere,
    (host) => {
      booted(host);
      const user = `${v2}/user.slice/user-1000.slice/user@1000.service/user.slice`;
      host
        .folder(
          `${v2}/machine.slice/libpod-${container}.scope`,
          `${v2}/machine.slice/libpod-conmon-${container}.scope`,
        )
        .folder(`${v2}/machine.slice/machine-libpod_pod_1.slice/libpod-${container}.scope`)
        .folder(`${v2}/machine.slice/machine-qemu\\x2d1\\x2dvm1.scope`)
        .folder(
          `${v2}/system.slice/web.service/libpod-payload-${container}`,
          `${v2}/libpod_parent/libpod-${container}`,
        )
        .folder(
          `${user}/docker-${container}.scope`,
          `${user}/user-libpod_pod_2.slice/libpod-${container}.scope`,
        )
        .folder(`${user}/evil\nname.slice/libpod-${container}.scope`)
        .folder(`${v2}/qemu.slice/100.scope`, `${v2}/lxc.payload.box`, `${v2}/lxc/101`)
        .file(`${v2}/lxc.payload.file`);
    },
  ],
];

export const orchestratorsCases: readonly ScriptCase[] = [
  ...rows.map(([name, stdout, given]) =>
    probe('orchestrators', {
      name,
      given,
      run: { env: { node: 'yes', title: 'slurmstepd: [1.0]', pods: 'a' } },
      after: { stdout },
    }),
  ),
  probe('orchestrators', {
    name: 'control groups that are not there',
    given: (host) => host.folder('/run/systemd/system').file('/proc/1/cgroup', '0::/\n'),
    after: { code: 1, stderr: 'systemd has no control groups in /sys/fs/cgroup\n' },
  }),
];
