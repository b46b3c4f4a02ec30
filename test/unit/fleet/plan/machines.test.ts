// What is planned on machines on which others have work, by the answers of their probes.
import { describe, expect, it, test } from 'vitest';

import { parseFacts } from '../../../../src/fleet/facts/parse.ts';
import { changedFacts, factDigests } from '../../../../src/fleet/plan/digest.ts';
import { planHost } from '../../../../src/fleet/plan/plan.ts';
import { allSteps } from '../../../../src/fleet/steps/all.ts';
import { desiredOf } from '../../../support/host.ts';
import {
  desktops,
  engine,
  framesOf,
  nodes,
  oldEngines,
  type Texts,
  virtual,
} from '../../../support/machines.ts';

const planOf = (texts: Texts, disturbOthers = false, desired = desiredOf()) =>
  planHost(parseFacts(framesOf(texts)), desired, { steps: allSteps, disturbOthers });

const upgrade = ['upgrade NVIDIA driver 570.1.1 → 580 (open kernel modules)', 'reboot the host'];
const driver = 'install NVIDIA driver 580 (open kernel modules, compute only)';
const docker = 'install Docker Engine 29.7.2';
/** The driver of NVIDIA's repository on Debian 12, held. */
const debianDriver = ['nvidia-driver-cuda', 'nvidia-kernel-open-dkms', 'libcuda1']
  .map((name) => `installed hold ${name} 580.95.05-1\n`)
  .join('');

interface Row {
  /** The work of others. */
  readonly work: string;
  /** The changes that would disturb it, which `--disturb-others` allows. */
  readonly changes: readonly string[];
  /** What no option allows. */
  readonly refused?: string;
}

const rows: Readonly<Record<keyof typeof nodes, Row>> = {
  'a node of kubeadm whose containerd.io is held': {
    work: 'Kubernetes (kubelet.service) with pod default/train-0',
    changes: [...upgrade, docker],
  },
  "a node on the distribution's containerd": {
    work: 'Kubernetes (kubelet.service)',
    changes: [driver],
    refused: 'this is a Kubernetes node, and its containerd would have to be removed',
  },
  'an agent of k3s': {
    work: 'k3s (k3s-agent.service) with pod kube-system/svclb',
    changes: [driver, docker],
  },
  'an agent of RKE2': { work: 'RKE2 (rke2-agent.service)', changes: [...upgrade, docker] },
  'a node of Slurm with a job': {
    work: 'Slurm (slurmd.service) with job 4711',
    changes: [...upgrade, 'upgrade Docker Engine 24.0.9 → 29.7.2', 'restart Docker Engine with runtimes'],
  },
  'a node of Slurm that is stopped': {
    work: 'Slurm (slurmd.service, not running, starts at boot)',
    changes: [...upgrade, docker],
  },
  'a client of Nomad': {
    work: 'Nomad (nomad.service) with task web (8ba85cef)',
    changes: [...upgrade, docker],
  },
  'a host of Podman and rootless Docker': {
    work: 'container 0123456789ab of Docker of uid 1000, container 0123456789ab of Podman',
    changes: upgrade,
  },
};

describe.each(Object.entries(nodes))('%s', (name, texts) => {
  const { work, changes, refused } = rows[name as keyof typeof nodes];
  const always = refused === undefined ? [] : [refused];

  it('keeps the work of others, by name', () => {
    expect(planOf(texts).refusals.map(({ what }) => what)).toEqual([
      ...always,
      ...changes.map((title) => `"${title}" would disturb work of others: ${work}`),
    ]);
  });

  it('is changed with --disturb-others', () => {
    const { stages, refusals } = planOf(texts, true);
    expect(refusals.map(({ what }) => what)).toEqual(always);
    expect(stages.flat().map(({ title }) => title)).toEqual(expect.arrayContaining([...changes]));
  });
});

test('the next action names the orchestrator', () => {
  const next = (name: keyof typeof nodes) => planOf(nodes[name]).refusals.at(-1)?.next;
  expect(next('a client of Nomad')).toBe('drain this host in Nomad, then run again with --disturb-others');
  expect(next('a host of Podman and rootless Docker')).toBe(
    'wait for it to finish, or run again with --disturb-others',
  );
});

describe('packages that the owner of a node holds or pins', () => {
  const node = nodes['a node of kubeadm whose containerd.io is held'];
  const installed = (text: string): Texts => ({ ...node, 'packages-apt': `${node['packages-apt']}${text}` });
  /** The packages that the installation of Docker changes and holds. */
  const changed = (texts: Texts) =>
    planOf(texts, true)
      .stages.flat()
      .flatMap((change) =>
        change.kind === 'change' && change.id.startsWith('docker-install') ? change.actions : [],
      )
      .flatMap((action) =>
        action.kind === 'run' ? (/hold_all\(\) \{ hold (.*); \}/.exec(action.script)?.[1] ?? '') : [],
      );

  it('stay where any version serves', () => {
    expect(changed(node)).toEqual([expect.not.stringContaining('containerd.io')]);
    const { 'packages-apt': packages } = node;
    const free = { ...node, 'packages-apt': packages.replaceAll(' hold ', ' install ') };
    expect(changed(free)).toEqual([expect.stringContaining('containerd.io')]);
    const pinned = { ...free, orchestrators: `${node.orchestrators}pinned runc containerd*\n` };
    expect(changed(pinned)).toEqual([expect.not.stringContaining('containerd.io')]);
    expect(changed({ ...node, orchestrators: '' })).toEqual([expect.stringContaining('containerd.io')]);
  });

  it.each([
    ['docker-ce', 'installed hold docker-ce 5:24.0.9-1~debian.12~bookworm\n', 'Docker Engine', 'docker'],
    [
      'nvidia-kernel-open-dkms',
      'installed hold nvidia-kernel-open-dkms 570.1.1-1\n',
      'NVIDIA driver',
      'driver',
    ],
  ])('are not changed with --disturb-others: %s', (name, line, what, key) => {
    expect(planOf(installed(line), true).refusals).toEqual([
      {
        step: key,
        what: `${what} needs another version of ${name}, which the owner of this Kubernetes node holds or pins`,
        next: `agree on the version with the node's owner, who releases the hold or the pin, or set ${key}: none for this host`,
      },
    ]);
  });

  it('are upgraded where azp-fleet holds them', () => {
    const held =
      'installed hold docker-ce 5:24.0.9-1~debian.12~bookworm\ninstalled hold containerd.io 1.7.27-1\n';
    const ours = {
      ...installed(held),
      'ours-packages': 'part docker\nbrought docker-ce\nbrought containerd.io\n',
    };
    expect(changed(ours)).toEqual([expect.stringContaining('containerd.io')]);
  });
});

test('pods that come and go do not change what a saved plan depends on', () => {
  const digests = (texts: Texts) => factDigests(parseFacts(framesOf(texts)));
  const node = nodes['a node of kubeadm whose containerd.io is held'];
  const emptied = { ...node, orchestrators: 'runs kubelet.service\n' };
  expect(changedFacts(digests(node), digests(emptied))).toEqual([]);
  expect(changedFacts(digests(node), digests({ ...node, orchestrators: '' }))).toEqual(['orchestrators']);
});

test('a node of a cluster of Docker containers is named by its orchestrator and its containers', () => {
  const containers = `[{"Id":"${'a'.repeat(64)}","Names":["/k8s_train"],"Labels":{}}]\n`;
  const texts = { ...nodes['an agent of RKE2'], ...engine, 'docker-containers': containers };
  expect(planOf(texts).refusals[0]?.what).toContain('RKE2 (rke2-agent.service); container k8s_train');
});

describe('screens', () => {
  const refusals = (texts: Texts) => planOf(texts).refusals.map(({ what }) => what);
  /** The reasons of changes by which a seat loses its picture. */
  const reasons = (texts: Texts, desired = desiredOf()) =>
    planOf(texts, true, desired)
      .stages.flat()
      .flatMap((change) => (change.kind === 'change' && change.why.includes('seat') ? [change.why] : []));
  const lost = 'loses its picture; the driver is installed for computing, without screens';

  it('are named by the change that blocks nouveau', () => {
    const { 'a desktop on nouveau': desktop, 'a login screen on nouveau': greeter } = desktops;
    expect(reasons(desktop)).toEqual([`no driver is loaded; seat0 (desktop of ann, at HDMI-A-1) ${lost}`]);
    expect(reasons(greeter)).toEqual([`no driver is loaded; seat0 (login screen, at DP-1, DP-2) ${lost}`]);
    expect(reasons(desktops['remote desktops'])).toEqual([]);
    const installed = { ...desktop, 'packages-apt': debianDriver };
    expect(reasons(installed)).toEqual([
      `nouveau is loaded although the NVIDIA driver is installed; seat0 (desktop of ann, at HDMI-A-1) ${lost}`,
    ]);
    const runfile = desiredOf({ driver: { method: 'runfile' } });
    expect(reasons(desktop, runfile)).toEqual([
      `no driver is loaded; seat0 (desktop of ann, at HDMI-A-1) ${lost}`,
    ]);
  });

  it('are named by a change of the driver that they use', () => {
    const driver = 'loaded 570.1.1\nsecure-boot 0\nscreen DP-1\nseat seat0 user ann\n';
    expect(reasons({ ...desktops['a desktop on nouveau'], driver })).toEqual([
      '570.1.1 is installed; seat0 (desktop of ann, at DP-1) loses its picture until the reboot',
    ]);
  });

  it('keep the host from a reboot while someone is logged in, and not by a login screen', () => {
    expect(refusals(desktops['a desktop on nouveau'])).toEqual([
      '"reboot the host" would disturb work of others: login ann tty2',
    ]);
    expect(refusals(desktops['a login screen on nouveau'])).toEqual([]);
    expect(refusals(desktops['remote desktops'])).toEqual([
      '"reboot the host" would disturb work of others: logins eve xrdp-sesman :10, Xtigervnc of uid 1001',
    ]);
  });

  it('do not change what a saved plan depends on', () => {
    const digests = (texts: Texts) => factDigests(parseFacts(framesOf(texts)));
    const { 'a desktop on nouveau': desktop, 'a login screen on nouveau': greeter } = desktops;
    expect(changedFacts(digests(desktop), digests(greeter))).toEqual([]);
  });
});

describe('virtual GPUs', () => {
  const refusals = (texts: Texts) => planOf(texts, true).refusals.map(({ what, next }) => [what, next]);
  const driverChanges = (texts: Texts) =>
    planOf(texts, true)
      .stages.flat()
      .filter(({ step }) => step === 'driver')
      .map(({ title, why }) => [title, why]);

  it("of a guest keep the driver of the hypervisor's software", () => {
    expect(refusals(virtual['a vGPU guest with an older driver'])).toEqual([
      [
        'this machine uses NVIDIA vGPU (nvidia-gridd.service), whose driver azp-fleet does not replace',
        "set driver: none for this host in the inventory; its driver comes from the hypervisor's vGPU software",
      ],
    ]);
    const desired = virtual['a vGPU guest with the desired driver'];
    expect([refusals(desired), driverChanges(desired)]).toEqual([[], []]);
  });

  it('of virtual machines do not decide about the driver of the other GPUs', () => {
    const host = virtual['a host that keeps one of its GPUs for a virtual machine'];
    expect(driverChanges(host)).toContainEqual([
      'install NVIDIA driver 580 (open kernel modules, compute only)',
      'no driver is loaded; 0000:02:00.0 left to virtual machines (vfio-pci)',
    ]);
    expect(planOf(host).refusals.map(({ what }) => what)).toEqual([
      '"reboot the host" would disturb work of others: machine vm1',
    ]);
  });

  it('of virtual machines alone get no driver', () => {
    const host = virtual['a host that keeps all of its GPUs for virtual machines'];
    expect(refusals(host)).toEqual([
      [
        'every GPU is reserved for virtual machines (vfio-pci)',
        'add the virtual machines to the inventory instead, or unbind the GPUs from vfio-pci',
      ],
    ]);
  });
});

describe('Docker Engine 20.10', () => {
  const refusals = (name: string, version = '29.7.2') =>
    planOf(oldEngines[name] ?? {}, true, desiredOf({ docker: { version } })).refusals;

  it.each([
    ['devicemapper', 'Docker stores its images with devicemapper, which Docker 25 and newer cannot read'],
    ['aufs', 'Docker stores its images with aufs, which Docker 24 and newer cannot read'],
    [
      'a stopped engine with aufs',
      'Docker stores its images with aufs, which Docker 24 and newer cannot read',
    ],
    ['graph', '/etc/docker/daemon.json has "graph", with which Docker 23 and newer do not start'],
  ])('is not upgraded to one that cannot go on from it: %s', (name, what) => {
    expect(refusals(name)).toEqual([{ step: 'docker', what, next: expect.stringContaining('run again') }]);
  });

  it.each([
    ['overlay2', '29.7.2'],
    ['devicemapper', '24.0.9'],
    ['aufs', '23.0.6'],
    ['graph', '20.10.24'],
  ])('is upgraded where the new one goes on: %s to %s', (name, version) => {
    expect(refusals(name, version)).toEqual([]);
  });
});
