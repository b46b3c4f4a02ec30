// The plan of a removal, from the facts of a host.
import { describe, expect, test } from 'vitest';

import type { DisabledSource, Facts } from '../../../../../src/fleet/facts/facts.ts';
import { machineRoot } from '../../../../../src/shared/base/host-root.ts';
import { HostPaths } from '../../../../../src/shared/contract/paths.ts';
import { managedFiles } from '../../../../../src/fleet/facts/probes/files.ts';
import { needsDrain } from '../../../../../src/fleet/plan/refine.ts';
import { renderDaemonJson } from '../../../../../src/fleet/steps/docker/daemon-json.ts';
import type { PartName } from '../../../../../src/fleet/packages/package-record.ts';
import { removalOf } from '../../../../../src/fleet/steps/remove/remove.ts';
import { desiredOf, factsOf, merge } from '../../../../support/host.ts';
import { managerStatus } from '../../../../support/manager-status.ts';

const source = (vendor: string) => `/etc/apt/sources.list.d/azp-fleet-${vendor}.sources`;
const bare = factsOf();
const ours = renderDaemonJson({
  'live-restore': true,
  'log-opts': { 'max-size': '100m', 'max-file': '3' },
  runtimes: { nvidia: { args: [], path: 'nvidia-container-runtime' } },
});
const provisioned = factsOf({
  packages: {
    'docker-ce': '5:29.7.2-1',
    'docker-ce-cli': '5:29.7.2-1',
    'nvidia-container-toolkit': '1.18.0-1',
    'libnvidia-container1': '1.18.0-1',
    libcuda1: '580.95.05-1',
    'nvidia-driver-pinning-580': '580.95.05-1',
    'nvidia-cuda-toolkit': '11.8.89~11.8.0-5~deb12u1',
    'nvidia-cudnn': '8.5.0.96~cuda11.8',
    'libcudart11.0': '11.8.89~11.8.0-5~deb12u1',
    'nvidia-driver-cuda': '580.95.05-1',
    'nvidia-kernel-open-dkms': '580.95.05-1',
    'linux-headers-amd64': '6.1',
  },
  held: ['docker-ce', 'nvidia-driver-cuda', 'postgresql'],
  files: {
    [HostPaths.unit]: 'a',
    [source('docker')]: 'b',
    [source('nvidia')]: 'c',
    [source('nvidia-container-toolkit')]: 'd',
    [managedFiles.nouveauBlacklist]: 'e',
  },
  docker: { active: true, daemonJson: ours },
  driver: { loaded: '580.95.05' },
  toolkit: { version: '1.18.0' },
  manager: { current: '/opt/azp-fleet/versions/1', unitActive: 'active', installation: 'i' },
  ours: { folders: [HostPaths.opt, HostPaths.state], users: ['azp-agent-0'] },
});

const plan = (facts: Facts, ...parts: readonly PartName[]) =>
  removalOf(facts, { host: desiredOf().host, owner: 'me', parts: new Set(parts), root: machineRoot });
const titles = (...args: Parameters<typeof plan>) =>
  plan(...args).map((item) => ('refused' in item ? `refused: ${item.what}` : item.title));

test.each<[string, readonly PartName[], boolean]>([
  ['ours', [], true],
  ['ours-cdi', [], true],
  ['manager', [], true],
  ['manager-status', [], true],
  ['packages-apt', [], false],
  ['packages-apt', ['docker'], true],
  ['docker-info', ['toolkit'], true],
  ['others', ['driver'], false],
])('where %s was not read, with the parts %j: refused %s', (fact, parts, isRefused) => {
  const found = titles(merge(provisioned, { unknown: [{ fact, why: 'exit code 1' }] }), ...parts);
  if (!isRefused) return expect(found[0]).toBe(agents[0]);
  expect(found).toHaveLength(1);
  expect(found[0]).toMatch(/^refused: it is unknown what is to be removed: .*facts incomplete: /u);
});

const agents = [
  'stop the manager and remove its unit',
  'remove its agents from Azure DevOps, pool gpu-lab',
  "remove the agents' containers, image, network and isolation rules",
];
const files = [
  'delete program, configuration, credentials, state and run records',
  "delete azp-fleet's notes on the host",
];

describe('a host', () => {
  test('without anything of azp-fleet is left alone, even with its own Docker Engine and hold', () => {
    expect(plan(bare)).toEqual([]);
    const theirs = merge(bare, {
      packages: { 'docker-ce': '5:29.7.2-1' },
      held: ['docker-ce'],
      docker: { active: true, daemonJson: '{"live-restore": true}' },
    });
    expect(plan(theirs)).toEqual([]);
  });

  test('loses its agents first and the records last; other parts stay, and get upgrades again', () => {
    expect(titles(provisioned)).toEqual([
      ...agents,
      "restore daemon.json without azp-fleet's settings",
      'release the hold on Docker Engine',
      'release the hold on NVIDIA driver',
      ...files,
    ]);
  });

  test('loses toolkit, engine and driver with their sources and settings, if requested', () => {
    expect(titles(provisioned, 'toolkit', 'docker', 'driver')).toEqual([
      ...agents,
      'remove daemon.json, which did not exist before',
      'remove NVIDIA Container Toolkit',
      'remove the package repository of NVIDIA Container Toolkit',
      'remove Docker Engine',
      'remove the package repository of Docker Engine',
      'remove NVIDIA driver',
      'remove the package repository of NVIDIA driver',
      "remove azp-fleet's settings for the NVIDIA driver",
      ...files,
    ]);
  });

  test('loses the packages of the driver, but no toolkit, kernel, CUDA or cuDNN of the owner', () => {
    const removal = plan(provisioned, 'driver').find(
      (item) => 'title' in item && item.title === 'remove NVIDIA driver',
    );
    expect(removal).toMatchObject({
      details: [
        {
          text: 'libcuda1, nvidia-driver-cuda, nvidia-driver-pinning-580, nvidia-kernel-open-dkms',
        },
      ],
    });
  });

  test('loses its CDI specification with the toolkit, and gets back files that were set aside', () => {
    const cdi = { made: ['/etc/cdi/nvidia.yaml'], aside: ['/etc/cdi/site.json'] };
    const facts = merge(provisioned, { ours: { cdi } });
    const undo = "remove azp-fleet's CDI specification";
    expect(titles(facts)).not.toContain(undo);
    expect(titles(facts, 'toolkit')).toContain(undo);
    expect(titles(merge(bare, { ours: { cdi } }))).toEqual([undo, files.at(-1)]);
  });

  test('loses half-installed packages, too', () => {
    const cut = merge(provisioned, {
      packages: { 'docker-ce': '5:29.7.2-1' },
      unfinished: { 'docker-ce-cli': '5:29.7.2-1', 'libnvidia-ml1': '580.95.05-1' },
    });
    const gone = plan(cut, 'docker', 'driver').flatMap((item) =>
      'title' in item && item.title.startsWith('remove ') ? (item.details ?? []).map(({ text }) => text) : [],
    );
    expect(gone.join()).toContain('docker-ce-cli');
    expect(gone.join()).toContain('libnvidia-ml1');
  });

  test('disables services before it removes their packages', () => {
    const [removal] = plan(provisioned, 'driver').filter(
      (item) => 'title' in item && item.title === 'remove NVIDIA driver',
    );
    const script = JSON.stringify(removal);
    const [off, gone] = ['systemctl disable -q --now', 'apt remove'].map((words) => script.indexOf(words));
    expect(off).toBeGreaterThan(0);
    expect(gone).toBeGreaterThan(off ?? 0);
  });

  test('refuses packages of other sources, with the command that removes them', () => {
    const theirs = { ...provisioned, files: { [HostPaths.unit]: 'a' } };
    expect(plan(theirs, 'docker')).toContainEqual(
      expect.objectContaining({
        refused: true,
        step: 'docker',
        next: expect.stringContaining('sudo apt-get remove docker-ce docker-ce-cli') as string,
      }),
    );
  });

  test('enables other sources again after ours are removed', () => {
    const off = (name: string, by: 'docker' | 'nvidia' | undefined, rest: Partial<DisabledSource> = {}) => ({
      file: `/etc/apt/sources.list.d/${name}.list`,
      aside: `/etc/apt/sources.list.d/${name}.list.off`,
      by,
      names: by === undefined ? [] : [by],
      taken: false,
      ...rest,
    });
    const facts = merge(provisioned, {
      ours: {
        sources: [
          off('docker', 'docker'),
          off('both', 'docker', { names: ['docker', 'nvidia'] }),
          off('cuda', 'nvidia'),
          off('new', 'nvidia', { taken: true }),
          off('early', undefined, { names: ['nvidia'] }),
        ],
      },
    });
    const lines = (...parts: readonly PartName[]) =>
      plan(facts, ...parts).flatMap((item) =>
        'title' in item && /enable other|repository of NVIDIA driver/.test(item.title)
          ? (item.details ?? []).map(({ text, effect }) => [text.replace(/.*\//, ''), effect])
          : [],
      );
    expect(lines()).toEqual([]);
    expect(lines('docker')).toEqual([['docker.list', undefined]]);
    expect(lines('docker', 'driver')).toEqual([
      ['azp-fleet-nvidia.sources', undefined],
      [
        'new.list.off stays disabled',
        'another /etc/apt/sources.list.d/new.list exists: compare them, and delete one',
      ],
      [
        'early.list.off stays disabled',
        "unknown who disabled it; to enable it: sudo mv '/etc/apt/sources.list.d/early.list.off' '/etc/apt/sources.list.d/early.list'",
      ],
      ['docker.list', undefined],
      ['both.list', undefined],
      ['cuda.list', undefined],
    ]);
    // A removal that was interrupted before it enabled them.
    const cut = merge(bare, { ours: { sources: [off('docker', 'docker')] } });
    expect(titles(cut)).toEqual(['enable other package repositories again', files.at(-1)]);
  });

  test('on an unknown system loses files of azp-fleet, but no packages', () => {
    const other = merge(provisioned, { os: { id: 'plan9', pretty: 'Plan 9' } });
    expect(titles(other)).toEqual([...agents, ...files]);
    expect(titles(other, 'driver')).toContain('refused: Plan 9 on x86_64 is not supported');
  });

  test("loses the site's authority", () => {
    const trusting = merge(bare, { files: { '/usr/local/share/ca-certificates/azp-fleet-site.crt': 'x' } });
    expect(titles(trusting)).toEqual(["no longer trust the site's certificate authority", files.at(-1)]);
  });

  test('completes an interrupted removal', () => {
    const half = merge(bare, { ours: { folders: [HostPaths.etc], users: [] } });
    expect(titles(half)).toEqual([...agents, ...files]);
  });
});

test('agents are drained, and other containers are disturbed only if systemd removes their GPUs', () => {
  const [stop] = plan(provisioned);
  expect(stop).toMatchObject({ disturbs: 'agents' });
  expect(needsDrain(plan(provisioned).filter((item) => 'title' in item))).toBe(true);
  const byHook = merge(provisioned, { docker: { cgroupDriver: 'systemd', serverVersion: '28.0.0' } });
  expect(plan(byHook)[0]).toMatchObject({ disturbs: 'containers' });
});

test('agents are removed from the pools of the inventory and of the manager', () => {
  const status = managerStatus({ pool: { name: 'gpu-old' }, slots: [] });
  const facts = merge(provisioned, {
    manager: {
      status: {
        ...status,
        slots: [
          {
            slot: '0',
            agent: 'a',
            state: 'idle',
            gpus: [],
            since: status.at,
            jobsRun: 0,
            pool: 'gpu-own',
          },
        ],
      },
    },
  });
  const deregister = plan(facts).find((item) => 'title' in item && item.step === 'pool');
  expect(deregister).toMatchObject({
    actions: [{ kind: 'deregister', owner: 'me', pools: ['gpu-lab', 'gpu-own'] }],
  });
});

test('a manager without agents has none to remove', () => {
  const found = removalOf(provisioned, {
    host: desiredOf().host,
    owner: undefined,
    parts: new Set(),
    root: machineRoot,
  });
  expect(found.some((item) => item.step === 'pool')).toBe(false);
});

describe("the driver of NVIDIA's .run file", () => {
  const runfile = factsOf({
    driver: { runfile: true, userspace: '580.95.05', loaded: '580.95.05' },
    ours: { runfile: { version: '580.95.05', graphics: false } },
    files: { [managedFiles.nouveauBlacklist]: 'e' },
  });

  test('that azp-fleet installed is removed with its uninstaller and the nouveau block', () => {
    expect(titles(runfile, 'driver')).toEqual([
      'remove NVIDIA driver 580.95.05',
      "remove azp-fleet's settings for the NVIDIA driver",
      "delete azp-fleet's notes on the host",
    ]);
  });

  test('stays with its settings and record if it is not requested', () => {
    expect(titles(runfile)).toEqual([]);
    const managed = merge(runfile, { ours: { ...runfile.ours, folders: [HostPaths.state] } });
    expect(plan(managed).at(-1)).toMatchObject({
      title: "delete azp-fleet's notes on the host",
      details: [{ text: `stays: ${HostPaths.runfile}` }],
    });
    expect(plan(managed, 'driver').at(-1)).toMatchObject({ details: [] });
  });

  test.each([
    ['its owner has installed', { ...runfile, ours: bare.ours }],
    ['its owner has run since', merge(runfile, { driver: { userspace: '595.84' } })],
  ])('that %s is not ours', (_, facts) => {
    expect(titles(facts, 'driver')).toEqual([
      'refused: NVIDIA driver was not installed by azp-fleet: its owner ran a .run file',
      "delete azp-fleet's notes on the host",
    ]);
  });
});
