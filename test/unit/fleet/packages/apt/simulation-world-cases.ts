import type { ScriptCase } from '../../../../support/scratch/case.ts';
import { completing } from './apt-host.ts';
import {
  ask,
  asked,
  docker,
  emptyWorld,
  freed,
  heard,
  listed,
  made,
  plain,
  mirrored,
  mirrorsHeard,
  read,
  uris,
} from './simulation-host.ts';

/** The simulation folder. */
export const worldCases: readonly ScriptCase[] = [
  {
    name: 'uses a folder that begins as the host, without hooks',
    script: plain,
    given: (host) =>
      host
        .file('/run/copy')
        .file('/etc/apt/sources.list', 'deb http://archive bookworm main')
        .file('/etc/apt/sources.list.d/my own.list', 'deb http://mirror/docker,x/debian')
        .file('/etc/apt/sources.list.d/other.txt', 'no source')
        .file('/etc/apt/preferences.d/a b', 'pin')
        .file('/etc/apt/apt.conf.d/50 x', 'conf')
        .file('/etc/apt/apt.conf', 'main')
        .file('/var/lib/apt/lists/a_InRelease', 'r')
        .file('/var/lib/apt/lists/a_Release.gpg', 'g')
        .file('/var/lib/apt/lists/a b_Packages.lz4', 'p')
        .file('/var/lib/apt/lists/a_Contents', 'c')
        .folder('/run/azp-fleet-simulation.old', '/run/azp-fleet-simulation.new', '/run/other.old')
        .age('/run/azp-fleet-simulation.old', 70 * 60)
        .age('/run/azp-fleet-simulation.new', 50 * 60)
        .age('/run/other.old', 70 * 60),
    run: { umask: '077' },
    after: {
      stdout: `begin docker-install-1
version 5:2.0,1-1
upgrade tool 1.9 2.0
end
`,
      stderr: heard,
      calls: [...read, listed, completing, asked, freed, uris],
      files: {
        ...made,
        ...emptyWorld,
        '/run/azp-fleet-simulation.old': 'gone',
        '/run/seen/conf.d/50 x': '-> /etc/apt/apt.conf.d/50 x',
        '/run/seen/conf.d/zzzz-main': '-> /etc/apt/apt.conf',
        '/run/seen/lists/a b_Packages.lz4': '-> /var/lib/apt/lists/a b_Packages.lz4',
        '/run/seen/lists/a_InRelease': '-> /var/lib/apt/lists/a_InRelease',
        '/run/seen/lists/a_Release.gpg': '-> /var/lib/apt/lists/a_Release.gpg',
        '/run/seen/preferences.d/a b': '-> /etc/apt/preferences.d/a b',
        '/run/seen/sources.list': '-> /etc/apt/sources.list',
        '/run/seen/sources.list.d/my own.list': '-> /etc/apt/sources.list.d/my own.list',
        '/run/seen/status': `644 Package: tool
Status: install ok installed

Package: other
Status: hold ok installed
`,
      },
    },
  },
  {
    name: 'leaves no folder when its connection is lost',
    script: plain,
    given: (host) => host.program('apt-get', 'kill -HUP "$PPID"'),
    after: { code: 1, calls: read, files: made },
  },
  {
    name: "uses a source that the plan adds, with its key, instead of conflicting ones, and a site's authority",
    script: ask(docker, {
      missing: ['docker', 'nvidia-container-toolkit', 'nvidia'],
      site: { ...mirrored, proxy: { http: 'http://proxy', noProxy: [] } },
    }),
    given: (host) =>
      host
        .file('/run/listened', mirrorsHeard)
        .file('/etc/apt/sources.list.d/azp-fleet-nvidia.sources', 'old')
        .file('/etc/apt/sources.list.d/azp-fleet-nvidia-container-toolkit.sources', 'old')
        .file(
          '/etc/apt/sources.list.d/downloadXdocker.list',
          'deb https://downloadXdocker.com/linux/debian x',
        )
        .file('/run/copy')
        .file('/etc/ssl/certs/ca-certificates.crt', 'many\n')
        .file('/etc/apt/sources.list.d/docker.list', 'deb https://download.docker.com/linux/debian x')
        .file('/etc/apt/sources.list.d/mirror.list', 'deb http://mirror/docker,x/debian x')
        .file(
          '/etc/apt/sources.list.d/cuda.list',
          'deb https://developer.download.nvidia.com/compute/cuda/repos/x /',
        )
        .file('/etc/apt/sources.list.d/cuda mirror.list', 'deb http://mirror/cuda/debian12/x86_64 /')
        .file('/etc/apt/sources.list.d/kit.list', 'deb https://nvidia.github.io/libnvidia-container/x /')
        .file('/etc/apt/sources.list.d/kit mirror.list', 'deb http://mirror/kit/stable/deb/amd64 /')
        .file('/etc/apt/sources.list.d/other.sources', 'x')
        .program('id', 'echo 42; echo "a word" >&2', { silent: true })
        .program('chown', 'echo "$*" >"/run/owned-${2##*[/]}"; echo "of $2" >&2', { silent: true })
        .program('dpkg-deb', '[ -s "$2" ] && tar -cf - -C /run/keyring .', { silent: true })
        .file('/run/keyring/usr/share/keyrings/cuda-archive-keyring.gpg', 'cuda key')
        .program(
          '/usr/lib/apt/apt-helper',
          'perl -e "select undef, undef, undef, 0.1"; echo "key of $4" >"$5"; echo "a word" >&2',
          { silent: true },
        ),
    after: {
      stdout: `begin docker-install-1
version 5:2.0,1-1
upgrade tool 1.9 2.0
end
`,
      stderr: `of lists/partial
http://proxy 
Get:1 http://mirror/docker,x/debian x
Get:2 http://mirror/kit/stable/deb/amd64 x
Get:3 http://mirror/cuda/debian12/x86_64 x
0
`,
      calls: [...read, listed, completing, asked, freed, uris],
      files: {
        ...made,
        ...emptyWorld,
        '/run/owned-docker': `644 _apt /run/azp-fleet-simulation.XXXXXX/docker
`,
        '/run/owned-nvidia': `644 _apt /run/azp-fleet-simulation.XXXXXX/nvidia
`,
        '/run/owned-nvidia-container-toolkit': `644 _apt /run/azp-fleet-simulation.XXXXXX/nvidia-container-toolkit
`,
        '/run/owned-partial': `644 _apt lists/partial cache/archives/partial keys pins
`,
        '/run/seen/ca.crt': `644 many
it's PEM
`,
        '/run/seen/docker': '755 /',
        '/run/seen/docker.words': `644 of /run/azp-fleet-simulation.XXXXXX/docker
a word
`,
        '/run/seen/keys/azp-fleet-docker.asc': `644 key of http://mirror/docker,x/debian/gpg
`,
        '/run/seen/keys/azp-fleet-nvidia-container-toolkit.asc': `644 key of http://mirror/kit/gpgkey
`,
        '/run/seen/keys/azp-fleet-nvidia.gpg': '644 cuda key',
        '/run/seen/last.conf': `644 Dir::State::Lists "/run/azp-fleet-simulation.XXXXXX/lists";
Dir::State::Status "/run/azp-fleet-simulation.XXXXXX/status";
Dir::Cache "/run/azp-fleet-simulation.XXXXXX/cache";
Dir::Cache::Archives "archives";
Dir::Cache::PkgCache "pkgcache.bin";
Dir::Cache::SrcPkgCache "srcpkgcache.bin";
Dir::Log "/run/azp-fleet-simulation.XXXXXX";
Dir::Log::Planner "";
Dir::Etc::SourceList "/run/azp-fleet-simulation.XXXXXX/sources.list";
Dir::Etc::SourceParts "/run/azp-fleet-simulation.XXXXXX/sources.list.d";
Dir::Etc::PreferencesParts "/run/azp-fleet-simulation.XXXXXX/preferences.d";
Acquire::PDiffs "false";
Acquire::Retries "1";
Acquire::http::Timeout "10";
Acquire::https::Timeout "10";
#clear Acquire::Languages;
Acquire::Languages "none";
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled "false";
Acquire::IndexTargets::deb::CNF::DefaultEnabled "false";
Acquire::IndexTargets::deb-src::Sources::DefaultEnabled "false";
Acquire::https::CAInfo "/run/azp-fleet-simulation.XXXXXX/ca.crt";
`,
        '/run/seen/nvidia': '755 /',
        '/run/seen/nvidia-container-toolkit': '755 /',
        '/run/seen/nvidia-container-toolkit.words': `644 of /run/azp-fleet-simulation.XXXXXX/nvidia-container-toolkit
a word
`,
        '/run/seen/nvidia.words': `644 of /run/azp-fleet-simulation.XXXXXX/nvidia
a word
`,
        '/run/seen/nvidia/keyring.deb': `644 key of http://mirror/cuda/debian12/x86_64/cuda-keyring_1.1-1_all.deb
`,
        '/run/seen/sources.list.d/azp-fleet-docker.sources': `644 # Written by azp-fleet, which writes it again when it differs.
Types: deb
URIs: http://mirror/docker,x/debian
Suites: bookworm
Components: stable
Architectures: amd64
Signed-By: /run/azp-fleet-simulation.XXXXXX/keys/azp-fleet-docker.asc
`,
        '/run/seen/sources.list.d/azp-fleet-nvidia-container-toolkit.sources': `644 # Written by azp-fleet, which writes it again when it differs.
Types: deb
URIs: http://mirror/kit/stable/deb/amd64
Suites: /
Architectures: amd64
Signed-By: /run/azp-fleet-simulation.XXXXXX/keys/azp-fleet-nvidia-container-toolkit.asc
`,
        '/run/seen/sources.list.d/azp-fleet-nvidia.sources': `644 # Written by azp-fleet, which writes it again when it differs.
Types: deb
URIs: http://mirror/cuda/debian12/x86_64
Suites: /
Architectures: amd64
Signed-By: /run/azp-fleet-simulation.XXXXXX/keys/azp-fleet-nvidia.gpg
`,
        '/run/seen/sources.list.d/downloadXdocker.list': '-> /etc/apt/sources.list.d/downloadXdocker.list',
        '/run/seen/sources.list.d/other.sources': '-> /etc/apt/sources.list.d/other.sources',
        '/run/seen/status': `644 Package: tool
Status: install ok installed

Package: other
Status: hold ok installed
`,
        '/run/seen/update.words': `644 http://proxy 
Get:1 http://mirror/docker,x/debian x
Get:2 http://mirror/kit/stable/deb/amd64 x
Get:3 http://mirror/cuda/debian12/x86_64 x
0
`,
      },
    },
  },
  {
    name: 'has no pins of removed packages and no holds of new ones',
    script: plain,
    given: (host) => {
      host
        .file('/run/copy')
        .file('/etc/apt/preferences.d/of,old', 'x')
        .file('/etc/apt/preferences.d/of-others', 'x')
        .file(
          '/var/lib/dpkg/status',
          ['tool', 'old', 'tools', 'extra']
            .map((name) => `Package: ${name}\nStatus: hold ok installed\n`)
            .join('\n'),
        )
        .program(
          'dpkg-query',
          '[ "$1 $2" = "-L old" ] || { echo "not installed" >&2; exit 1; }; echo "a word" >&2; echo /etc/apt/preferences.d; echo /etc/apt/preferences.d/of,old; echo /usr/x',
          { silent: true },
        );
    },
    after: {
      stdout: `begin docker-install-1
version 5:2.0,1-1
upgrade tool 1.9 2.0
end
`,
      stderr: heard,
      calls: [...read, listed, completing, asked, freed, uris],
      files: {
        ...made,
        ...emptyWorld,
        '/run/seen/preferences.d/of-others': '-> /etc/apt/preferences.d/of-others',
        '/run/seen/status': `644 Package: tool
Status: install ok installed

Package: old
Status: install ok installed

Package: tools
Status: hold ok installed

Package: extra
Status: install ok installed
`,
      },
    },
  },
];
