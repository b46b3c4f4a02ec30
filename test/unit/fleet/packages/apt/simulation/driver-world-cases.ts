import type { ScriptCase } from '../../../../../support/scratch/case.ts';
import { aptGetCall, has, offered } from '../apt-host.ts';
import { ask } from './simulation-host.ts';
import { driver, made, read, listed, emptyWorld } from './simulation-world.ts';

/** What apt is asked in once it knows what a driver brings along. */
export const driverWorldCases: readonly ScriptCase[] = [
  {
    name: 'brings what a driver needs before it into the same question',
    script: ask(driver),
    given: (host) => {
      host
        .file('/run/look')
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
      has(host, 'drv 570.1-1', 'libdrv 570.1-1');
      offered(
        host,
        'drv 580,1.9-1',
        'persist 580,1.9-1',
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
        "apt-get indextargets --format '$(SOURCESENTRY)' 'Created-By: Packages' 'Component: contrib'",
        "apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(SOURCESENTRY)' 'Created-By: Packages' 'Origin: Debian' 'Component: main'",
        'apt-get indextargets',
        'timeout -k 5 60 apt-get -q update -o Dir::Etc::SourceList=/run/azp-fleet-simulation.XXXXXX/sources.list.d/azp-fleet-contrib.sources -o Dir::Etc::SourceParts=- -o APT::Get::List-Cleanup=0',
        'apt-get -q update -o Dir::Etc::SourceList=/run/azp-fleet-simulation.XXXXXX/sources.list.d/azp-fleet-contrib.sources -o Dir::Etc::SourceParts=- -o APT::Get::List-Cleanup=0',
        'apt-get -q download nvidia-driver-pinning-580',
        'dpkg-deb --fsys-tarfile pins/nvidia-driver-pinning-580_1.deb',
        aptGetCall(
          '-s install --allow-downgrades drv=580,1.9-1 drv-dkms=580,1.9-1 persist=580,1.9-1 linux-headers-6.1.0-lab gcc-12 nvidia-driver-pinning-580',
        ),
        'apt-mark showhold',
        aptGetCall(
          '-s --ignore-hold --allow-change-held-packages install --allow-downgrades drv=580,1.9-1 drv-dkms=580,1.9-1 persist=580,1.9-1 linux-headers-6.1.0-lab gcc-12 nvidia-driver-pinning-580',
        ),
        aptGetCall(
          '--print-uris install --allow-downgrades drv=580,1.9-1 drv-dkms=580,1.9-1 persist=580,1.9-1 linux-headers-6.1.0-lab gcc-12 nvidia-driver-pinning-580',
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
