// Machines as the answers of the probes, made from the documentation and the sources that each names: no text is copied from one.
import { probes } from '../../src/fleet/facts/parse.ts';
import type { Frame } from '../../src/fleet/ssh/session/frames.ts';

/** The answers of probes; those that are not named find nothing. */
export type Texts = Readonly<Record<string, string>>;

const container = '0123456789abcdef'.repeat(4);
const uid = '0d4c1e2f_aaaa_bbbb_cccc_0123456789ab';
const logged = (name: string): string => `pod ${uid}\npod-log ${name}_${uid.replaceAll('_', '-')}\n`;

/** A new Debian 12 with one H200. */
export const bare: Texts = {
  os: 'ID=debian\nVERSION_ID="12"\nVERSION_CODENAME=bookworm\n',
  machine:
    'kernel 6.1.0-32-amd64\narch x86_64\nmachine-id 0f8e\nboot-id 5b1c\ntime 1795000000\nup 90000.1\ninit 1 (systemd) S 0\nsystemd systemd 252\nuser lab\nuid 1000\nmemory 65536000\ncpus 16\n',
  gpus: 'gpu 0000:83:00.0 2335 \n',
  kernels: 'kernel 6.1.0-32-amd64 headers no-driver\n',
  driver: 'secure-boot 0\n',
  'packages-apt': 'installed install ca-certificates 20230311\n',
  disk: 'initramfs 60000000\npath /\nFilesystem 1024-blocks Used Available Capacity Mounted on\n/dev/sda1 400000000 1 300000000 1% /\n',
};

/** Docker Engine 24 from Docker's repository. */
export const engine: Texts = {
  docker: 'active\nenabled\n',
  'docker-info': '{"ServerVersion":"24.0.9","CgroupDriver":"systemd","DockerRootDir":"/var/lib/docker"}\n',
  'docker-containers': '[]\n',
  'docker-images': '[]\n',
  'daemon-json': 'present\n{}',
  'packages-apt':
    'installed install ca-certificates 20230311\ninstalled install docker-ce 5:24.0.9-1~debian.12~bookworm\n',
};

/** A driver of an older branch, from NVIDIA's repository. */
const driven: Texts = { ...bare, driver: 'loaded 570.1.1\nsecure-boot 0\n' };

/** Nodes of orchestrators, and hosts of other engines. */
export const nodes = {
  // kubernetes.io: "Installing kubeadm" (packages are held), "Container runtimes" (containerd.io, the systemd driver).
  'a node of kubeadm whose containerd.io is held': {
    ...driven,
    'packages-apt':
      'installed install ca-certificates 20230311\ninstalled hold containerd.io 1.7.27-1\ninstalled hold kubelet 1.34.1-1.1\n',
    orchestrators: `runs kubelet.service\nruns kubelet.service kubelet\nenabled kubelet.service\n${logged('default_train-0')}`,
  },
  // kubernetes.io: "Container runtimes", with the distribution's containerd and a kubelet from no package, as Kubespray has it.
  "a node on the distribution's containerd": {
    ...bare,
    'packages-apt':
      'installed install ca-certificates 20230311\ninstalled install containerd 1.6.20~ds1-1+deb12u1\n',
    orchestrators: 'runs kubelet.service\nruns kubelet.service kubelet\n',
  },
  // docs.k3s.io: "Advanced options" (k3s.service, k3s-agent.service, /run/k3s), with containerd in the program itself.
  'an agent of k3s': {
    ...bare,
    orchestrators: `runs k3s-agent.service\nruns k3s-agent.service k3s-agent\nenabled k3s-agent.service\nsocket k3s\n${logged('kube-system_svclb')}`,
  },
  // docs.rke2.io: "Anatomy of a next generation Kubernetes distribution" (rke2 starts containerd and kubelet).
  'an agent of RKE2': {
    ...driven,
    orchestrators:
      'runs rke2-agent.service\nruns rke2-agent.service rke2\nruns rke2-agent.service kubelet\nsocket rke2\n',
  },
  // slurm.schedmd.com: "Control Group v2 plugin" (slurmstepd.scope/job_ID), Debian's slurmd.
  'a node of Slurm with a job': {
    ...driven,
    ...engine,
    orchestrators: 'runs slurmd.service\nruns slurmd.service slurmd\nenabled slurmd.service\njob 4711\n',
  },
  'a node of Slurm that is stopped': { ...driven, orchestrators: 'enabled slurmd.service\n' },
  // developer.hashicorp.com/nomad: "cgroup controller requirements" (nomad.slice).
  'a client of Nomad': {
    ...driven,
    orchestrators:
      'runs nomad.service\nruns nomad.service nomad\ntask 8ba85cef-0000-4000-8000-0123456789ab.web.scope\n',
  },
  // docs.docker.com: "Rootless mode"; docs.podman.io: podman-run, --cgroups.
  'a host of Podman and rootless Docker': {
    ...driven,
    orchestrators: `elsewhere /machine.slice/libpod-${container}.scope\nelsewhere /user.slice/user-1000.slice/user@1000.service/user.slice/docker-${container}.scope\n`,
  },
} as const satisfies Readonly<Record<string, Texts>>;

/** Hosts with screens, whose driver is nouveau. */
export const desktops = {
  // systemd's sd-login(3) and org.freedesktop.login1(5): sessions, seats and classes; xrdp-sesman(8).
  'a desktop on nouveau': {
    ...bare,
    driver: 'nouveau\nsecure-boot 0\nscreen HDMI-A-1\nseat seat0 user ann\nseat seat0 greeter gdm\n',
    others: 'login ann tty2\n',
  },
  'a login screen on nouveau': {
    ...bare,
    driver: 'nouveau\nsecure-boot 0\nscreen DP-1\nscreen DP-2\nseat seat0 greeter gdm\n',
  },
  'remote desktops': {
    ...bare,
    driver: 'nouveau\nsecure-boot 0\n',
    others: 'login eve xrdp-sesman :10\n',
    orchestrators: 'vnc 1001 Xtigervnc\nvnc /sys/fs/cgroup/system Xvnc\n',
  },
} as const satisfies Readonly<Record<string, Texts>>;

/** Machines of virtual GPUs, and hosts of virtual machines. */
export const virtual = {
  // docs.nvidia.com/vgpu: "Virtual GPU Client Licensing User Guide" (nvidia-gridd.service); its .run file has the driver.
  'a vGPU guest with an older driver': {
    ...bare,
    driver: 'loaded 570.1.1\nrunfile\nrunfile-version 570.1.1\nsecure-boot 0\nvgpu nvidia-gridd.service\n',
  },
  'a vGPU guest with the desired driver': {
    ...bare,
    driver:
      'loaded 580.95.05\nrunfile\nrunfile-version 580.95.05\nsecure-boot 0\nvgpu nvidia-gridd.service\n',
  },
  // docs.kernel.org: "VFIO"; libvirt's scopes of virtual machines.
  'a host that keeps one of its GPUs for a virtual machine': {
    ...bare,
    gpus: 'gpu 0000:02:00.0 1b06 vfio-pci\ngpu 0000:83:00.0 2335 \n',
    driver: 'nouveau\nsecure-boot 0\n',
    orchestrators: 'elsewhere /machine.slice/machine-qemu\\x2d1\\x2dvm1.scope\n',
  },
  'a host that keeps all of its GPUs for virtual machines': {
    ...bare,
    gpus: 'gpu 0000:02:00.0 1b06 vfio-pci\ngpu 0000:83:00.0 2335 vfio-pci\n',
  },
} as const satisfies Readonly<Record<string, Texts>>;

/** Hosts whose old Docker Engine stores images in a way that newer ones do not know. docs.docker.com: "Deprecated features". */
const old = (driver: string, config = '{}'): Texts => ({
  ...bare,
  ...engine,
  'docker-info': `{"ServerVersion":"20.10.24","Driver":"${driver}","DockerRootDir":"/var/lib/docker"}\n`,
  'daemon-json': `present\n${config}`,
  'packages-apt': 'installed install docker-ce 5:20.10.24~3-0~debian-bookworm\n',
});
export const oldEngines: Readonly<Record<string, Texts>> = {
  devicemapper: old('devicemapper', '{"storage-opts":["dm.thinpooldev=/dev/mapper/thin"]}'),
  aufs: old('aufs'),
  graph: old('overlay2', '{"graph":"/data/docker"}'),
  'a stopped engine with aufs': {
    ...old('', '{"storage-driver":"aufs"}'),
    docker: 'enabled\n',
    'docker-info': '',
  },
  overlay2: old('overlay2', '{"data-root":"/data/docker"}'),
};

/** Returns what the fact script answers on such a machine. */
export function framesOf(texts: Texts): Map<string, Frame> {
  return new Map(
    probes.map(({ name }) => {
      const stdout = `${texts[name] ?? ''}\nend\n`;
      return [name, { code: 0, stdout, stderr: '', durationMs: 10, timedOut: false }];
    }),
  );
}
