import { aptPrelude, consequenceFilters, download } from '../../../../../src/fleet/packages/apt/prelude.ts';
import type { ScriptCase, ScriptSuite } from '../../../../support/scratch/case.ts';
import type { ScratchHost } from '../../../../support/scratch/host.ts';
import { aptGetCall, completing, database, offered } from './apt-host.ts';
import { answerCases } from './simulation-answer-cases.ts';
import {
  ask,
  asked,
  docker,
  dockerSource,
  dockerUri,
  driver,
  emptyWorld,
  freed,
  heard,
  listed,
  made,
  plain,
  read,
  mirrored,
  mirrorsHeard,
  simulatedHost,
  site,
  uris,
} from './simulation-host.ts';
import { worldCases } from './simulation-world-cases.ts';

/** apt's output about disk space. */
const diskSpaceCases: readonly ScriptCase[] = (
  [
    ['needed', 'After this operation, 1,067 MB of additional disk space will be used.\n', '23445 1067000000'],
    ['freed', 'After this operation, 12.5 kB disk space will be freed.\n', '23445 -12500'],
    ['few', 'After this operation, 512 B of additional disk space will be used.\n', '23445 512'],
  ] as const
).map(([name, after, bytes]) => ({
  name: `reports the disk space: ${name}`,
  script: plain,
  given: (host: ScratchHost) =>
    host
      .file('/run/answer')
      .file(
        '/run/uris',
        `Need to get 9,9 MB of archives.\n${after}'http://a/b_1%2b2.deb' b_1+2.deb 23000 MD5Sum:x\n'http://a/c.deb' c.deb 445 \nx 'y z 7\n`,
      ),
  after: {
    stdout: `begin docker-install-1\nversion 5:2.0,1-1\nspace ${bytes}\nend\n`,
    stderr: heard,
    calls: [...read, listed, completing, asked, freed, uris],
    files: made,
  },
}));

/** Sources that did not answer, in whole or in part. */
const sourceCases: readonly ScriptCase[] = [
  {
    name: 'reports that some lists could not be read',
    script: plain,
    given: (host) => host.file('/run/deaf', 'E: Failed to  fetch http://archive/x\nE: more\n'),
    after: {
      stdout: `partial Failed to fetch http://archive/x
begin docker-install-1
version 5:2.0,1-1
upgrade tool 1.9 2.0
end
`,
      stderr: ` .lab
Get:1 http://mirror/docker,x/debian bookworm InRelease [9 kB]
0
E: Failed to  fetch http://archive/x
E: more
`,
      calls: [...read, listed, completing, asked, freed, uris],
      files: made,
    },
  },
  ...(
    [
      ['that does not exist', () => ''],
      [
        'that did not answer',
        () => `Err:1 ${dockerUri} bookworm InRelease\nW: Failed to fetch ${dockerUri}/x\n`,
      ],
      [
        'that answered in part',
        () =>
          `Get:1 ${dockerUri} bookworm InRelease\nErr:2 ${dockerUri} bookworm Packages\nE: no ${dockerUri}\n`,
      ],
      ['of another address', () => `Get:1 http://other bookworm InRelease\n`],
      ['that has no list', () => `Hit:1 ${dockerUri} bookworm InRelease\n`],
    ] as const
  ).map(([name, output], at) => ({
    name: `reports a source ${name}`,
    script: plain,
    given: (host: ScratchHost) => {
      host.file('/run/listened', output());
      if (at === 0) host.drop(`/etc/apt/sources.list.d/${dockerSource}`);
      if (at === 4) host.file('/run/no-list');
    },
    after:
      [
        {
          stdout: `silent docker 
begin docker-install-1
version 5:2.0,1-1
upgrade tool 1.9 2.0
end
`,
          stderr: ` .lab
0
sed: can't read docker.words: No such file or directory
`,
          calls: [...read, completing, asked, freed, uris],
          files: made,
        },
        {
          stdout: `silent docker Failed to fetch http://mirror/docker,x/debian/x
begin docker-install-1
version 5:2.0,1-1
upgrade tool 1.9 2.0
end
`,
          stderr: ` .lab
Err:1 http://mirror/docker,x/debian bookworm InRelease
W: Failed to fetch http://mirror/docker,x/debian/x
0
`,
          calls: [...read, completing, asked, freed, uris],
          files: made,
        },
        {
          stdout: `silent docker no http://mirror/docker,x/debian
begin docker-install-1
version 5:2.0,1-1
upgrade tool 1.9 2.0
end
`,
          stderr: ` .lab
Get:1 http://mirror/docker,x/debian bookworm InRelease
Err:2 http://mirror/docker,x/debian bookworm Packages
E: no http://mirror/docker,x/debian
0
`,
          calls: [...read, completing, asked, freed, uris],
          files: made,
        },
        {
          stdout: `silent docker 
begin docker-install-1
version 5:2.0,1-1
upgrade tool 1.9 2.0
end
`,
          stderr: ` .lab
Get:1 http://other bookworm InRelease
0
`,
          calls: [...read, completing, asked, freed, uris],
          files: made,
        },
        {
          stdout: `silent docker there is no list of packages at http://mirror/docker,x/debian
begin docker-install-1
version 5:2.0,1-1
upgrade tool 1.9 2.0
end
`,
          stderr: ` .lab
Hit:1 http://mirror/docker,x/debian bookworm InRelease
0
`,
          calls: [...read, listed, completing, asked, freed, uris],
          files: made,
        },
      ][at] ?? {},
  })),
  {
    name: 'reports why a key cannot be fetched, and simulates the others',
    script: ask(docker, { missing: ['docker'] }),
    given: (host) =>
      host.program('/usr/lib/apt/apt-helper', 'echo "E: 404  Not Found" >&2; exit 100', { silent: true }),
    after: {
      stdout: `what http://mirror/docker,x/debian/gpg cannot be downloaded (expected the file; seen: 404  Not Found)
next check the network, the proxy and the mirrors in the inventory
silent docker 404 Not Found
begin docker-install-1
version 5:2.0,1-1
upgrade tool 1.9 2.0
end
`,
      stderr: heard,
      calls: [...read, completing, asked, freed, uris],
      files: made,
    },
  },
  {
    name: 'treats an empty key as missing',
    script: ask(docker, {
      missing: ['docker', 'nvidia-container-toolkit', 'nvidia'],
      site: { ...site, ...mirrored },
    }),
    given: (host) =>
      host
        .program('/usr/lib/apt/apt-helper', ': >"$5"', { silent: true })
        .program('dpkg-deb', 'tar -cf - -C /run/keyring .', { silent: true })
        .file('/run/keyring/usr/share/keyrings/cuda-archive-keyring.gpg', '')
        .file('/run/listened', mirrorsHeard),
    after: {
      stdout: `silent docker 
silent nvidia-container-toolkit 
silent nvidia 
begin docker-install-1
version 5:2.0,1-1
upgrade tool 1.9 2.0
end
`,
      stderr: ` .lab\n${mirrorsHeard}0\n`,
      calls: [...read, completing, asked, freed, uris],
      files: made,
    },
  },
];

const pin570 = '/etc/apt/preferences.d/branch-570';

/** The simulation folder with the packages that a driver needs first. */
const driverWorldCases: readonly ScriptCase[] = [
  {
    name: 'includes packages that a driver needs first in the same question',
    script: ask(driver),
    given: (host) => {
      host
        .file('/run/copy')
        .program(
          'dpkg-deb',
          'mkdir -p /run/d/etc/apt/preferences.d; echo pinned >/run/d/etc/apt/preferences.d/nvidia; tar -cf - -C /run/d .',
        );
      host
        .file('/run/archive')
        .file('/etc/apt/main.list', 'deb http://deb.debian.org/debian bookworm main\n')
        .file(
          '/var/lib/dpkg/status',
          ['drv', 'libdrv', 'libdrv-extra']
            .map((name) => `Package: ${name}\nStatus: hold ok installed\n`)
            .join('\n'),
        );
      host
        .file(
          database,
          'drv 570.1-1 installed\nlibdrv 570.1-1 installed\nnvidia-driver-pinning-570 1 config-files\n',
        )
        .file('/var/lib/dpkg/info/nvidia-driver-pinning-570.list', `${host.at(pin570)}\n`)
        .file(pin570, 'x');
      offered(
        host,
        'drv 580,1.9-1',
        'persist 580,1.9-1',
        'libdrv 580,1.9-1',
        'linux-headers-6.1.0-lab 1',
        'gcc-12 12',
        'nvidia-driver-pinning-580 1',
      );
      host
        .file(
          '/run/listened',
          'Get:1 https://developer.download.nvidia.com/compute/cuda/repos/debian12/x86_64 x\n',
        )
        .file('/etc/apt/sources.list.d/azp-fleet-nvidia.sources', 'x');
    },
    run: { input: 'not for apt' },
    after: {
      stdout: `begin docker-install-1
source /etc/apt/sources.list.d/azp-fleet-contrib.sources contrib
version 580,1.9-1
upgrade tool 1.9 2.0
end
`,
      stderr: ` .lab
Get:1 https://developer.download.nvidia.com/compute/cuda/repos/debian12/x86_64 x
0
 .lab
Get:1 https://developer.download.nvidia.com/compute/cuda/repos/debian12/x86_64 x
0
`,
      calls: [
        ...read,
        listed,
        "apt-get indextargets --format '$(CODENAME) $(REPO_URI) $(RELEASE) $(SOURCESENTRY)' 'Created-By: Packages' 'Origin: Debian' 'Component: main'",
        "apt-get indextargets --format '$(CODENAME) $(SOURCESENTRY)' 'Created-By: Packages' 'Component: contrib'",
        'apt-get indextargets',
        'timeout -k 5 60 apt-get -q update -o Dir::Etc::SourceList=/run/azp-fleet-simulation.XXXXXX/sources.list.d/azp-fleet-contrib.sources -o Dir::Etc::SourceParts=- -o APT::Get::List-Cleanup=0',
        'apt-get -q update -o Dir::Etc::SourceList=/run/azp-fleet-simulation.XXXXXX/sources.list.d/azp-fleet-contrib.sources -o Dir::Etc::SourceParts=- -o APT::Get::List-Cleanup=0',
        'apt-get -q download nvidia-driver-pinning-580',
        'dpkg-deb --fsys-tarfile pins/nvidia-driver-pinning-580_1.deb',
        completing,
        aptGetCall(
          '-s install --allow-downgrades drv=580,1.9-1 drv-dkms=580,1.9-1 persist=580,1.9-1 libdrv=580,1.9-1 linux-headers-6.1.0-lab gcc-12 nvidia-driver-pinning-580',
        ),
        aptGetCall(
          '-s --ignore-hold --allow-change-held-packages install --allow-downgrades drv=580,1.9-1 drv-dkms=580,1.9-1 persist=580,1.9-1 libdrv=580,1.9-1 linux-headers-6.1.0-lab gcc-12 nvidia-driver-pinning-580',
        ),
        aptGetCall(
          '--print-uris install --allow-downgrades drv=580,1.9-1 drv-dkms=580,1.9-1 persist=580,1.9-1 libdrv=580,1.9-1 linux-headers-6.1.0-lab gcc-12 nvidia-driver-pinning-580',
        ),
      ],
      files: {
        ...made,
        ...emptyWorld,
        '/run/d': '755 /',
        '/run/d/etc': '755 /',
        '/run/d/etc/apt': '755 /',
        '/run/d/etc/apt/preferences.d': '755 /',
        '/run/d/etc/apt/preferences.d/nvidia': `644 pinned
`,
        '/run/seen/pins/nvidia-driver-pinning-580_1.deb': `644 deb
`,
        '/run/seen/preferences.d/nvidia': `644 pinned
`,
        '/run/seen/sources.list.d/azp-fleet-contrib.sources': `644 # Written by azp-fleet: what the NVIDIA driver needs of the archive beside main.
Types: deb
URIs: http://deb.debian.org/debian
Suites: bookworm
Components: contrib
`,
        '/run/seen/sources.list.d/azp-fleet-nvidia.sources':
          '-> /etc/apt/sources.list.d/azp-fleet-nvidia.sources',
        '/run/seen/status': `644 Package: drv
Status: install ok installed

Package: libdrv
Status: install ok installed

Package: libdrv-extra
Status: hold ok installed
`,
        '/run/seen/update.words': `644  .lab
Get:1 https://developer.download.nvidia.com/compute/cuda/repos/debian12/x86_64 x
0
`,
      },
    },
  },
];

export const simulationSuite: ScriptSuite = {
  name: 'simulating transactions with apt',
  elsewhere: [aptPrelude, consequenceFilters, download, driver.before ?? ''],
  given: (host) => {
    simulatedHost(host);
    offered(host, 'tool 5:2.1-1', 'tool 5:2.0,1-1');
  },
  cases: [...worldCases, ...driverWorldCases, ...sourceCases, ...answerCases, ...diskSpaceCases],
};
