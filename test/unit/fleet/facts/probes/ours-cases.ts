import { HostPaths } from '../../../../../src/shared/contract/paths.ts';
import { recordFile } from '../../../../../src/fleet/packages/package-record.ts';
import { cdiMark } from '../../../../../src/fleet/facts/probes/ours.ts';
import type { ScriptCase } from '../../../../support/scratch/case.ts';
import { probe } from './probe-case.ts';

const people = 'root:x:0:0::/root:/bin/sh\nann:x:58000:58000::/:/bin/sh\n';

export const oursCases: readonly ScriptCase[] = [
  probe('ours', {
    name: 'nothing on a host that was only read',
    given: (host) =>
      host
        .file('/etc/passwd', people)
        .file(`${HostPaths.state}/lock.last`, 'me')
        .file(`${HostPaths.state}/audit.jsonl`, '{}')
        .file(`${HostPaths.state}/audit.jsonl.1`, '{}')
        .file(`${HostPaths.changes}/a/script`, 'x')
        .file(recordFile, 'part docker\n')
        .file(`${HostPaths.runfile}/installed`, '580.95.05 compute\n')
        .file(`${recordFile}.new`, 'cut')
        .folder(HostPaths.etc),
    after: { stdout: 'runfile 580.95.05 compute\n' },
  }),
  probe('ours', {
    name: 'a .run file that was downloaded but not installed',
    given: (host) => host.file('/etc/passwd', people).file(`${HostPaths.runfile}/fetched/driver.run`, 'x'),
    after: { stdout: `folder ${HostPaths.state}\n` },
  }),
  probe('ours', {
    name: 'non-empty folders, and users with both our name and our uid',
    given: (host) =>
      host
        .file(
          '/etc/passwd',
          people +
            [58_000, 998, 58_999, 59_000]
              .map((uid, at) => `azp-agent-${at}:x:${uid}:${uid}::/:/bin/false\n`)
              .join(''),
        )
        .link(HostPaths.current, '/opt/azp-fleet/versions/gone')
        .file(HostPaths.token, 'x')
        .file(HostPaths.managerState, '{}')
        .file(`${HostPaths.agents}/.x`, 'x')
        .file(`${HostPaths.agents}/.y`, 'y'),
    after: {
      stdout: [
        ...[HostPaths.opt, HostPaths.etc, HostPaths.state, HostPaths.agents].map(
          (path) => `folder ${path}\n`,
        ),
        'user azp-agent-0\n',
        'user azp-agent-2\n',
      ].join(''),
    },
  }),
  probe('ours-cdi', {
    name: 'specifications that azp-fleet wrote or set aside, and no others',
    given: (host) =>
      host
        .file('/etc/cdi/nvidia.yaml', `kind: nvidia.com/gpu\n${cdiMark}\n`)
        .file('/etc/cdi/fpga.yaml', `kind: intel.com/fpga\n# ${cdiMark}\n`)
        .file('/etc/cdi/site.json.before-azp-fleet', '{}'),
    after: { stdout: 'aside /etc/cdi/site.json.before-azp-fleet\n/etc/cdi/nvidia.yaml\n' },
  }),
  probe('ours-cdi', {
    name: 'the only specification',
    given: (host) => host.file('/etc/cdi/nvidia.yaml', `${cdiMark}\n`),
    after: { stdout: '/etc/cdi/nvidia.yaml\n' },
  }),
  probe('ours-cdi', { name: 'no such folder', after: {} }),
  probe('ours-sources', {
    name: 'disabled sources of other users: who disabled them, and their repositories',
    given: (host) => {
      const [apt, dnf] = ['/etc/apt/sources.list.d', '/etc/yum.repos.d'];
      const cuda = 'https://developer.download.nvidia.com/compute/cuda/repos/debian12/x86_64';
      for (const name of ['docker', 'nvidia', 'nvidia-container-toolkit'])
        host.file(
          `${apt}/azp-fleet-${name}.sources`,
          `Types: deb\nURIs: http://mirror/a,b/${name}/debian\nURIs: http://second/${name}\n`,
        );
      host
        .file(`${apt}/cuda.list.azp-fleet-nvidia.disabled`, `deb ${cuda} /\n`)
        .file(
          `${apt}/my own.list.azp-fleet-docker.disabled`,
          'deb http://mirror/a,b/docker/debian bookworm stable\n',
        )
        .file(`${apt}/my own.list`, 'deb http://site/ bookworm main\n')
        .file(
          `${apt}/early.list.disabled`,
          `deb https://download.docker.com/linux/debian x stable\n# ${cuda}\n`,
        )
        .file(`${apt}/mirror.list.disabled`, 'deb http://mirror/a,b/nvidia/debian /\n')
        .file(`${apt}/mirror2.list.disabled`, 'deb http://mirror/a,b/nvidia-container-toolkit/debian /\n')
        .file(
          `${apt}/theirs.list.disabled`,
          'deb http://second/docker /\ndeb http://second/nvidia /\ndeb http://second/nvidia-container-toolkit /\ndeb http://download-docker.com/linux /\n',
        )
        .file(
          `${dnf}/early.repo.disabled`,
          'baseurl=https://nvidia.github.io/libnvidia-container/stable/rpm/x86_64\n',
        )
        .file(`${dnf}/on.repo`, `baseurl=${cuda}\n`);
    },
    after: {
      stdout: [
        'free -,nvidia /etc/apt/sources.list.d/cuda.list.azp-fleet-nvidia.disabled',
        'free -,nvidia,docker /etc/apt/sources.list.d/early.list.disabled',
        'free -,nvidia /etc/apt/sources.list.d/mirror.list.disabled',
        'free -,nvidia-container-toolkit /etc/apt/sources.list.d/mirror2.list.disabled',
        'taken -,docker /etc/apt/sources.list.d/my own.list.azp-fleet-docker.disabled',
        'free - /etc/apt/sources.list.d/theirs.list.disabled',
        'free -,nvidia-container-toolkit /etc/yum.repos.d/early.repo.disabled',
        '',
      ].join('\n'),
    },
  }),
  probe('ours-sources', { name: 'no such source', after: {} }),
  probe('ours-packages', {
    name: 'the package record, up to the size limit',
    given: (host) => host.file(recordFile, `part docker\n${'brought docker-ce\n'.repeat(5000)}`),
    after: { stdout: `part docker\n${'brought docker-ce\n'.repeat(5000)}`.slice(0, 65_536) },
  }),
  probe('ours-packages', {
    name: 'a folder in its place',
    given: (host) => host.folder(recordFile),
    after: { code: 1, stderr: `head: error reading '${recordFile}': Is a directory\n` },
  }),
  probe('ours-packages', { name: 'no record', after: {} }),
];
