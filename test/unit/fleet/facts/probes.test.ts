import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { probes } from '../../../../src/fleet/facts/parse.ts';
import { readingOf } from '../../../../src/fleet/facts/probe.ts';
import { changesProbe } from '../../../../src/fleet/facts/probes/changes.ts';
import { diskProbe } from '../../../../src/fleet/facts/probes/disk.ts';
import {
  dockerContainersProbe,
  dockerImagesProbe,
  dockerInfoProbe,
  dockerProbe,
} from '../../../../src/fleet/facts/probes/docker.ts';
import { gpusProbe } from '../../../../src/fleet/facts/probes/gpus.ts';
import { machineProbe, osProbe } from '../../../../src/fleet/facts/probes/machine.ts';
import { managerProbe } from '../../../../src/fleet/facts/probes/manager.ts';
import { contextDigest } from '../../../../src/fleet/steps/image.ts';
import { sha256 } from '../../../../src/shared/base/digest.ts';
import { namedGpuProcesses, othersProbe } from '../../../../src/fleet/facts/probes/others.ts';
import { merged, userspaceVersion } from '../../../../src/fleet/facts/probes/packages.ts';

describe('the probes', () => {
  it('parse any output without failing', () => {
    const words = fc.constantFrom(
      'active',
      'info {',
      'containers [',
      'time /run/docker.pid 1',
      'gpu',
      'state',
      'title',
      'ID=',
      'installed hold',
      'Filesystem',
    );
    const output = fc.array(fc.oneof(words, fc.string())).map((parts) => parts.join('\n'));
    fc.assert(
      fc.property(output, fc.nat(255), (stdout, code) => {
        const frame = {
          code: code % 2,
          stdout: `${stdout}\nend\n`,
          stderr: '',
          durationMs: 1,
          timedOut: false,
        };
        for (const probe of probes) expect(() => readingOf<unknown>(probe, frame)).not.toThrow();
      }),
    );
  });
});

describe('the output of the probes', () => {
  it.each([
    [
      'Debian',
      'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nVERSION_ID="12"\nVERSION_CODENAME=bookworm\nID=debian\n',
      {
        id: 'debian',
        idLike: [],
        versionId: '12',
        codename: 'bookworm',
        pretty: 'Debian GNU/Linux 12 (bookworm)',
      },
    ],
    [
      'Ubuntu',
      'NAME="Ubuntu"\nVERSION_ID="24.04"\nID=ubuntu\nID_LIKE=debian\nUBUNTU_CODENAME=noble\nVERSION_CODENAME=noble\nPRETTY_NAME="Ubuntu 24.04.1 LTS"\n',
      {
        id: 'ubuntu',
        idLike: ['debian'],
        versionId: '24.04',
        codename: 'noble',
        pretty: 'Ubuntu 24.04.1 LTS',
      },
    ],
    [
      'Rocky',
      'ID=\'rocky\'\nID_LIKE="rhel centos fedora"\nVERSION_ID=9.4\n# a comment\n',
      {
        id: 'rocky',
        idLike: ['rhel', 'centos', 'fedora'],
        versionId: '9.4',
        codename: '',
        pretty: 'rocky 9.4',
      },
    ],
  ])('the system: %s', (_, text, expected) => {
    expect(osProbe.parse(text)).toEqual(expected);
  });

  it('the machine', () => {
    const text =
      'kernel 6.1.0-32-amd64\narch x86_64\nmachine-id 0f8e\nboot-id 5b1c\nsystemd systemd 252 (252.36-1~deb12u1)\n+PAM +AUDIT\nuser lab\nuid 1000\ntime 1795253400\nmemory 65536000\ncpus 16\nreboot-required\n';
    expect(machineProbe.parse(text)).toEqual({
      kernel: '6.1.0-32-amd64',
      arch: 'x86_64',
      machineId: '0f8e',
      bootId: '5b1c',
      time: Date.parse('2026-11-21T09:30:00Z'),
      systemd: 252,
      login: { user: 'lab', uid: 1000 },
      memoryMiB: 64000,
      cpus: 16,
      rebootRequired: true,
      platform: undefined,
    });
  });

  it('GPUs of both classes, their drivers, and NVSwitches', () => {
    const text =
      'gpu 0000:83:00.0 2335 nvidia\ngpu 0000:02:00.0 1b06 vfio-pci\ngpu 0000:01:00.0 1E04 \nnvswitch\nnvswitch\nnvlink5\numad\n';
    expect(gpusProbe.parse(text)).toEqual({
      gpus: [
        { address: '0000:83:00.0', deviceId: '2335', boundTo: 'nvidia' },
        { address: '0000:01:00.0', deviceId: '1e04', boundTo: undefined },
      ],
      passedThrough: [{ address: '0000:02:00.0', deviceId: '1b06', boundTo: 'vfio-pci' }],
      nvswitches: 2,
      nvlink5: { switches: 1, umad: true },
    });
  });

  it('unreadable cards of an NVLink 5 board, sorted', () => {
    const text = 'unread 0000:91:00.0\nunread 0000:90:00.1\nunread $(reboot)\n';
    expect(gpusProbe.parse(text).nvlink5).toEqual({
      switches: 0,
      umad: false,
      unread: ['0000:90:00.1', '0000:91:00.0'],
    });
  });

  it('packages: those of all package managers merged, and the version of the NVIDIA libraries', () => {
    const { packages, held } = merged([
      {
        packages: { 'libnvidia-ml1': '580.95.05-1', runc: '1.1.5' },
        held: ['runc', 'libnvidia-ml1'],
        awaitsReboot: false,
      },
      { packages: { 'docker-ce': '3:29.7.2-1.el9' }, held: ['docker-ce'], awaitsReboot: true },
    ]);
    expect(packages).toEqual({
      'libnvidia-ml1': '580.95.05-1',
      runc: '1.1.5',
      'docker-ce': '3:29.7.2-1.el9',
    });
    expect(held).toEqual(['docker-ce', 'libnvidia-ml1', 'runc']);
    expect(userspaceVersion(packages)).toBe('580.95.05');
    expect(userspaceVersion({ runc: '1.1.5' })).toBeUndefined();
  });

  it('Docker: the state of the engine, and other containers', () => {
    const info = {
      ServerVersion: '29.7.2',
      CgroupDriver: 'systemd',
      Runtimes: { runc: {}, nvidia: {} },
      DockerRootDir: '/data/docker',
      Driver: 'overlay2',
      LiveRestoreEnabled: true,
      Swarm: { LocalNodeState: 'inactive' },
    };
    const containers = [
      { Id: 'a'.repeat(64), Names: ['/h200-1-0'], Labels: { 'azp-fleet.kind': 'agent' } },
      { Id: 'b'.repeat(64), Names: ['/grafana'], Labels: {} },
      { Id: 'c'.repeat(64), Names: [], Labels: null },
      // Another user's container of the agents' image, with that image's label.
      { Id: 'd'.repeat(64), Names: ['/notebook'], Labels: { 'azp-fleet.kind': 'image' } },
      { Id: 'e'.repeat(64), Names: ['/azp-fleet-probe-h200-1'], Labels: { 'azp-fleet.kind': 'probe' } },
    ];
    const images = [
      { RepoTags: ['azp-fleet/agent:2'] },
      { RepoTags: null },
      { RepoTags: ['azp-fleet/agent:1'] },
    ];
    expect(dockerInfoProbe.parse(`${JSON.stringify(info)}\n`)).toEqual({
      serverVersion: '29.7.2',
      cgroupDriver: 'systemd',
      runtimes: ['nvidia', 'runc'],
      rootDir: '/data/docker',
      storageDriver: 'overlay2',
      byContainerd: false,
      liveRestore: true,
      swarm: false,
    });
    const DriverStatus = [['driver-type', 'io.containerd.snapshotter.v1']];
    expect(dockerInfoProbe.parse(JSON.stringify({ ...info, DriverStatus }))).toMatchObject({
      byContainerd: true,
    });
    expect(dockerContainersProbe.parse(JSON.stringify(containers))).toEqual({
      ids: containers.map(({ Id }) => Id),
      foreign: ['cccccccccccc', 'grafana', 'notebook'],
    });
    expect(dockerImagesProbe.parse(JSON.stringify(images))).toEqual([
      'azp-fleet/agent:1',
      'azp-fleet/agent:2',
    ]);
    const text =
      'active\ncdi-run\ncdi-spec /run/cdi/nvidia.yaml\ncdi-use video\ncdi-mig 13\ncdi-mig 12\nmig 12\nmig 13\ncdi-etc /etc/cdi/nvidia.yaml\ncdi-driver 580.95.05\n';
    expect(dockerProbe.parse(text)).toEqual({
      active: true,
      enabled: false,
      snap: false,
      restartNeeded: false,
      toolkitThere: false,
      toolkitCdi: {
        cdiSpec: true,
        cdiDriver: '580.95.05',
        cdiUses: ['video'],
        cdiMigDiffers: false,
        cdiInEtc: ['/etc/cdi/nvidia.yaml'],
        cdiInRun: true,
        cdiOlder: false,
      },
    });
  });

  it.each([
    ['an error', '{"message":"no space left on device"}'],
    ['half of it', '{"ServerVersion":"29'],
    ['a list', '[]'],
  ])('Docker: an engine that says %s about itself is not understood', (_, text) => {
    expect(() => dockerInfoProbe.parse(text)).toThrow();
  });

  it('Docker: containers without an id are not understood', () => {
    expect(() => dockerContainersProbe.parse('[{"Names":["/a"]}]')).toThrow();
  });

  it.each([
    [
      'the hook is newer',
      'time 1000 1000 /run/docker.pid\ntime 10 1001 /usr/bin/nvidia-container-runtime-hook',
      true,
    ],
    ['daemon.json is newer', 'time 1000 1000 /run/docker.pid\ntime 1005 1005 /etc/docker/daemon.json', true],
    ['everything is older', 'time 1000 1000 /run/docker.pid\ntime 10 999 /usr/bin/nvidia-cdi-hook', false],
    [
      'daemon.json was changed within the second of its start',
      'time 1000.250000000 1000.250000000 /run/docker.pid\ntime 1000.7 1000.700000000 /etc/docker/daemon.json',
      true,
    ],
  ])('Docker is to be restarted: %s', (_, times, expected) => {
    expect(dockerProbe.parse(`active\n${times}`).restartNeeded).toBe(expected);
    expect(dockerProbe.parse(times).restartNeeded).toBe(false);
  });

  it.each([
    ['its unit file is newer', 'yes', 'no', true],
    ['another unit was enabled without a reload', 'yes', 'yes', false],
    ['no unit is newer', 'no', 'no', false],
  ])('systemd needs a reload for the manager: %s', (_, unit, scope, expected) => {
    const text = `ActiveState=active\nUnitFileState=enabled\nNeedDaemonReload=${unit}\n\nActiveState=active\nNeedDaemonReload=${scope}\n`;
    expect(managerProbe.parse(text)).toMatchObject({ unitEnabled: true, reloadNeeded: expected });
  });

  it('the build context, equal to that of the same release in any order', () => {
    const file = (path: string) => ({
      path,
      artifact: { kind: 'text', text: path, sha256: sha256(path) } as const,
    });
    const context = ['start.sh', 'a b/x', 'Dockerfile', 'a.b'].map(file);
    const lines = context.map(({ path, artifact }) => `${artifact.sha256}  ./${path}\n`);
    const read = (some: readonly string[]) => managerProbe.parse(`context\n${some.join('')}`).context;
    expect(read(lines)).toBe(contextDigest(context));
    expect(read(lines.toReversed())).toBe(contextDigest(context));
    for (const more of [`${sha256('x')}  ./x\n`, `\\${sha256('x')}  ./x\\ny\n`])
      expect(read([...lines, more])).not.toBe(contextDigest(context));
    expect(read([])).not.toBeUndefined();
  });

  it('the manager', () => {
    const digest = 'd'.repeat(64);
    expect(
      managerProbe.parse(
        `current versions/abc\nActiveState=active\nUnitFileState=enabled\nNeedDaemonReload=yes\ncredential ${digest}  -\nregistries ${'e'.repeat(64)}  -\nwebhook ${'9'.repeat(64)}  -\ninstallation 5b1c\nfolder /f/${'f'.repeat(64)}.tar\nfolder /f/../x.tar\narchive /a/${'a'.repeat(64)}.tar.gz\narchive /a/x y.tar.gz\nleft /etc/azp-fleet/token.next\nleft /etc/a b;c\n`,
      ),
    ).toEqual({
      current: 'versions/abc',
      unitActive: 'active',
      unitEnabled: true,
      reloadNeeded: true,
      credentialDigest: digest,
      registriesDigest: 'e'.repeat(64),
      webhookDigest: '9'.repeat(64),
      installation: '5b1c',
      context: undefined,
      folders: ['f'.repeat(64)],
      archives: ['a'.repeat(64)],
      leftovers: ['/etc/azp-fleet/token.next'],
    });
    expect(managerProbe.parse('')).toEqual({
      current: undefined,
      unitActive: undefined,
      unitEnabled: false,
      reloadNeeded: false,
      credentialDigest: undefined,
      registriesDigest: undefined,
      folders: [],
      archives: [],
      leftovers: [],
    });
  });

  it('free disk space by path', () => {
    const text =
      'initramfs 61000000\npath /\npath /var/lib/docker\nFilesystem 1024-blocks Used Available Capacity Mounted on\n/dev/sda1 100 50 50 50% /\n/dev/mapper/data with-space 2000 1 1000 1% /var/lib/docker\n';
    expect(diskProbe.parse(text)).toEqual({
      initramfsBytes: 61_000_000,
      containerdRoot: '/var/lib/containerd',
      arrived: {},
      disk: {
        '/': { freeBytes: 50 * 1024, mount: '/' },
        '/var/lib/docker': { freeBytes: 1000 * 1024, mount: '/var/lib/docker' },
      },
    });
  });

  it('logins and GPU processes of other users, without the services of the driver', () => {
    const text =
      'login alice pts/0\nlogin alice pts/0\ngpu-process 10 nvidia-persiste\ngpu-process 11 python3 x\ngpu-group 11 /user.slice/a\ngpu-process 12 Xorg\n';
    expect(othersProbe.parse(text)).toEqual({
      logins: ['alice pts/0'],
      gpuProcesses: [{ pid: '11', name: 'python3 x', groups: ['/user.slice/a'] }],
    });
  });

  const id = '0123456789ab'.padEnd(64, 'f');
  it.each([
    ['no container', '/user.slice/user-1000.slice', ['7 train']],
    ['a container of Docker Engine', `/system.slice/docker-${id}.scope`, []],
    ['a container in a container of it', `/docker/${id}/docker/${'e'.repeat(64)}`, []],
    [
      'another engine',
      `/system.slice/docker-${'e'.repeat(64)}.scope`,
      ['7 train in a Docker container eeeeeeeeeeee'],
    ],
    [
      'a rootless Docker Engine',
      `/user.slice/user-1000.slice/user@1000.service/user.slice/docker-${id}.scope`,
      ['7 train in a Docker container 0123456789ab'],
    ],
    [
      'Podman',
      `/machine.slice/libpod-${'d'.repeat(64)}.scope/container`,
      ['7 train in a Podman container dddddddddddd'],
    ],
    [
      'a pod',
      `/kubepods.slice/kubepods-pod1.slice/cri-containerd-${'c'.repeat(64)}.scope`,
      ['7 train in a Kubernetes container cccccccccccc'],
    ],
    [
      'containerd alone',
      `/system.slice/containerd.service/${'b'.repeat(64)}`,
      ['7 train in a containerd container bbbbbbbbbbbb'],
    ],
    ['a pod without an id', '/kubepods/besteffort/x', ['7 train in a Kubernetes container']],
  ])('a GPU process of %s', (_, group, expected) => {
    expect(namedGpuProcesses([{ pid: '7', name: 'train', groups: [group] }], [id])).toEqual(expected);
  });

  it('durable changes', () => {
    const text =
      'state docker-install-0a1b done 0\ntitle install Docker\nowner eve@laptop\nstate driver-install-77 running\ntitle install driver\nowner \n';
    expect(changesProbe.parse(text)).toEqual([
      { id: 'docker-install-0a1b', title: 'install Docker', owner: 'eve@laptop', state: 'done', code: 0 },
      { id: 'driver-install-77', title: 'install driver', owner: '', state: 'running', code: undefined },
    ]);
  });
});
