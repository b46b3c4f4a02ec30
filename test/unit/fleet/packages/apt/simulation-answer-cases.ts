import type { ScriptCase } from '../../../../support/scratch/case.ts';
import { aptGetCall, completing, offered } from './apt-host.ts';
import {
  ask,
  asked,
  docker,
  driver,
  emptyWorld,
  freed,
  heard,
  listed,
  made,
  plain,
  read,
  simulatedAptGet,
  uris,
} from './simulation-host.ts';

/** The status file of a host whose owner holds packages. */
const holds = (
  [
    ['other', 'hold', 'amd64'],
    ['libfoo', 'hold', 'all'],
    ['libfoo2', 'install', 'amd64'],
    ['libi', 'install', 'amd64'],
    ['libi', 'hold', 'i386'],
  ] as const
)
  .map(([name, want, of]) => `Package: ${name}\nStatus: ${want} ok installed\nArchitecture: ${of}\n`)
  .concat('Package: libnone\nStatus: hold ok not-installed\n')
  .join('\n');

/** The status file of a host on which dpkg was interrupted. */
const damaged = ['libtool amd64', 'tool amd64', 'libtool-bin amd64', 'libi i386', 'libi amd64', 'libdata all']
  .map((each) => each.split(' '))
  .map(
    ([name = '', of]) =>
      `Package: ${name}\nStatus: ${name.includes('tool') ? 'hold' : 'install'} ok installed\nArchitecture: ${of}\n`,
  )
  .join('\n');
/** apt-cache with descriptions of packages. */
const showing = `case $1 in
  madison) echo 'tool | 5:2.0,1-1 | x' ;;
  show) shift; for each; do printf 'Package: %s\\nVersion: %s\\n\\n' "\${each%%=*}" "\${each#*=}"; done ;;
esac`;

const install = 'install --allow-downgrades tool=5:2.0,1-1 extra';
const possible = [
  `-s ${install}`,
  `-s --ignore-hold --allow-change-held-packages ${install}`,
  `--print-uris ${install}`,
].map(aptGetCall);

/** Answers of apt. */
export const answerCases: readonly ScriptCase[] = [
  {
    name: 'reports each consequence',
    script: plain,
    given: (host) =>
      host.file(
        '/run/answer',
        `The following packages have been kept back:
  left alone
The following packages will be DOWNGRADED:
  lower libx
The following NEW packages will be installed:
  tool
Remv old [1.0]
Purg gone:i386 [2]
Inst lower [2.0] (1.0 Docker:x [amd64])
Inst libx (1.0 Docker:x [amd64])
Inst same [1.0] (1.0 Docker:x [amd64])
Inst tool [1.9] (2.0,1-1 Docker:x [amd64]) []
Conf tool (2.0)
`,
      ),
    after: {
      stdout: `begin docker-install-1
version 5:2.0,1-1
remove old 1.0
remove gone:i386 2
downgrade lower 2.0 1.0
install libx 1.0
upgrade tool 1.9 2.0,1-1
end
`,
      stderr: heard,
      calls: [...read, listed, completing, asked, freed, uris],
      files: made,
    },
  },
  {
    name: 'asks nothing about an interrupted run if the request alone is possible',
    script: ask({ ...docker, remove: [] }),
    after: {
      stdout: `begin docker-install-1
version 5:2.0,1-1
upgrade tool 1.9 2.0
end
`,
      stderr: heard,
      calls: [...read, listed, ...possible],
      files: made,
    },
  },
  {
    name: 'restores what an interrupted run left where the request alone is refused',
    script: ask({ ...docker, remove: [] }),
    given: (host) =>
      host
        .file('/run/refused', 'E: Unmet dependencies\n')
        .file(
          '/run/incomplete',
          'Inst libtool [1.0] (2.0 Docker:x [amd64])\nInst libi:i386 (2.0 x [i386])\nInst libdata (3 x [all])\nConf x (2.0)\n',
        )
        .program('dpkg', 'echo amd64', { silent: true })
        .file('/var/lib/dpkg/status', damaged)
        .program('apt-cache', showing)
        .program(
          'apt-get',
          `case " $* " in
  *' libtool=2.0 '*) echo 'a word' >&2; rm /run/refused; : >/run/copy; cat /run/incomplete; exit ;;
esac
${simulatedAptGet}`,
        ),
    after: {
      stdout: `begin docker-install-1
version 5:2.0,1-1
upgrade libtool 1.0 2.0
install libi:i386 2.0
install libdata 3
upgrade tool 1.9 2.0
end
`,
      stderr: heard,
      calls: [
        ...read.slice(1),
        listed,
        'apt-cache madison tool',
        ...possible.slice(0, 1),
        completing,
        aptGetCall('-s install --allow-downgrades libtool=2.0 libi:i386=2.0 libdata=3'),
        'apt-cache show libtool=2.0 libi:i386=2.0 libdata=3',
        ...possible,
      ],
      files: {
        ...made,
        ...emptyWorld,
        '/run/refused': 'gone',
        '/run/copy': '644 ',
        '/run/seen/status': `644 Package: tool
Status: install ok installed
Architecture: amd64

Package: libtool-bin
Status: hold ok installed
Architecture: amd64

Package: libi
Status: install ok installed
Architecture: amd64

Package: libtool
Status: install ok installed
Version: 2.0

Package: libi:i386
Status: install ok installed
Version: 2.0

Package: libdata
Status: install ok installed
Version: 3

`,
      },
    },
  },
  {
    name: 'reports the offered versions if the requested one is missing',
    script: plain,
    given: (host) => {
      host.program(
        'apt-cache',
        '[ "$1" = pkgnames ] && printf "tool\\nold\\n" || printf "%s | 5:2.1-1 | x\\n" "$2"',
      );
    },
    after: {
      stdout: `begin docker-install-1
missing
offer 5:2.1-1
end
`,
      stderr: heard,
      calls: [...read, listed, completing, 'apt-cache madison tool', 'apt-cache pkgnames tool'],
      files: made,
    },
  },
  {
    name: 'reports the holds that prevent it',
    script: plain,
    given: (host) =>
      host
        .program('dpkg', 'echo amd64', { silent: true })
        .file('/var/lib/dpkg/status', holds)
        .file('/run/refused', 'E: Held packages were changed')
        .file(
          '/run/freed',
          'Inst other [1] (2)\nRemv libfoo [1]\nRemv libfoo2 [1]\nInst libnone (2)\nConf x\n',
        ),
    after: {
      stdout: `begin docker-install-1
version 5:2.0,1-1
held other libfoo libnone 
end
`,
      stderr: heard,
      calls: [...read.slice(1), listed, completing, asked, freed],
      files: made,
    },
  },
  {
    name: 'reports dependencies that cannot be met',
    script: plain,
    given: (host) =>
      host
        .file(
          '/run/answer',
          'The following packages have unmet dependencies:\n tool : Depends: libnew  (>= 2) but it is not installable\n extra : Depends: a\n         Depends: b\n last : Depends: c\n',
        )
        .file('/run/refused', 'E: Unable to correct problems\nW: x\nE: Fifth\n'),
    after: {
      stdout: `begin docker-install-1
version 5:2.0,1-1
words tool : Depends: libnew (>= 2) but it is not installable extra : Depends: a last : Depends: c Unable to correct problems 
end
`,
      stderr: ` .lab
Get:1 http://mirror/docker,x/debian bookworm InRelease [9 kB]
0
The following packages have unmet dependencies:
 tool : Depends: libnew  (>= 2) but it is not installable
 extra : Depends: a
         Depends: b
 last : Depends: c
E: Unable to correct problems
W: x
E: Fifth
`,
      calls: [...read, listed, completing, asked, freed],
      files: made,
    },
  },
  {
    name: 'reports the offered dkms if a newer one is needed',
    script: plain,
    given: (host) => {
      offered(host, 'tool 5:2.0,1-1', 'dkms 3.0.10-8', 'dkms 2.8');
      host
        .file('/run/answer', ' tool : Depends: dkms (>= 3.1.8) but it is not going to be installed\n')
        .file('/run/refused', 'E: Unable to correct problems\n');
    },
    after: {
      stdout: `begin docker-install-1
version 5:2.0,1-1
words tool : Depends: dkms (>= 3.1.8) but it is not going to be installed Unable to correct problems${' '}
dkms 3.0.10-8
end
`,
      stderr: ` .lab
Get:1 http://mirror/docker,x/debian bookworm InRelease [9 kB]
0
 tool : Depends: dkms (>= 3.1.8) but it is not going to be installed
E: Unable to correct problems
`,
      calls: [...read, listed, completing, asked, freed],
      files: made,
    },
  },
  {
    name: 'reports what the driver lacks in one line',
    script: ask(driver),
    given: (host) => {
      host
        .file(
          '/run/listened',
          'Get:1 https://developer.download.nvidia.com/compute/cuda/repos/debian12/x86_64 x\n',
        )
        .file('/etc/apt/sources.list.d/azp-fleet-nvidia.sources', 'x');
    },
    after: {
      stdout: `begin docker-install-1
what no package source offers the headers of Linux 6.1.0-lab (expected linux-headers-6.1.0-lab; seen: only other versions, if any)
next upgrade the kernel (apt-get install linux-image-generic on Ubuntu, linux-image-amd64 on Debian), reboot, run again
end
`,
      stderr: ` .lab
Get:1 https://developer.download.nvidia.com/compute/cuda/repos/debian12/x86_64 x
0
`,
      calls: [...read, listed],
      files: made,
    },
  },
  {
    name: 'reports an invalid question',
    script: ask({ ...docker, before: "sh -c 'exit 3'" }),
    after: {
      stdout: `begin docker-install-1
broken 3
end
`,
      stderr: heard,
      calls: [...read, listed, completing],
      files: made,
    },
  },
  {
    name: 'reports packages that would be upgraded without their hold',
    script: plain,
    given: (host) =>
      host
        .program('dpkg', 'echo amd64', { silent: true })
        .file('/var/lib/dpkg/status', holds)
        .file(
          '/run/freed',
          'Inst other [1] (2)\nInst tool [1] (2)\nRemv libfoo [1]\nRemv libfoo2 [1]\nInst libi:i386 [1] (2)\nInst libi [1] (2)\nInst libnone (2)\nConf x\n',
        ),
    after: {
      stdout: `begin docker-install-1
version 5:2.0,1-1
upgrade tool 1.9 2.0
kept other
kept libfoo
kept libi:i386
kept libnone
end
`,
      stderr: heard,
      calls: [...read.slice(1), listed, completing, asked, freed, uris],
      files: made,
    },
  },
  {
    name: 'reports no hold of a package without a newer version',
    script: plain,
    given: (host) => host.file('/run/freed', 'Inst tool [1] (2)\n'),
    after: {
      stdout: `begin docker-install-1
version 5:2.0,1-1
upgrade tool 1.9 2.0
end
`,
      stderr: heard,
      calls: [...read, listed, completing, asked, freed, uris],
      files: made,
    },
  },
  {
    name: 'limits its output',
    script: plain,
    given: (host) =>
      host
        .file(
          '/run/answer',
          Array.from({ length: 6 }, (_, at) => ` p${at} : Depends: ${'x'.repeat(150)}\n`).join(''),
        )
        .file('/run/refused', 'E: no\n')
        .file('/run/deaf', `E: ${'y'.repeat(400)}\n`),
    after: {
      stdout: `partial yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy
begin docker-install-1
version 5:2.0,1-1
words p0 : Depends: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx p1 : Depends: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx p2 : Depends: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
end
`,
      stderr: ` .lab
Get:1 http://mirror/docker,x/debian bookworm InRelease [9 kB]
0
E: yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy
 p0 : Depends: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
 p1 : Depends: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
 p2 : Depends: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
 p3 : Depends: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
 p4 : Depends: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
 p5 : Depends: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
E: no
`,
      calls: [...read, listed, completing, asked, freed],
      files: made,
    },
  },
  {
    name: 'reports the offered versions of all branches, up to a limit',
    script: ask(driver),
    given: (host) => {
      host.program(
        'apt-cache',
        `case $1-$2 in
  pkgnames-drv-) printf 'drv-570\\ndrv-x\\ndrv-dkms\\n' ;;
  pkgnames-drv) printf 'drv\\ndrvless\\n' ;;
  madison-drv) perl -e 'print "drv | 590.$_ | x\\n" for 1 .. 600' ;;
  madison-drv*) echo "$2 | 570.1 | x" ;;
  madison-linux-headers-6.1.0-lab) echo "$2 | 1 | x" ;;
esac`,
        { silent: true },
      );
    },
    after: {
      stdout: `silent nvidia 
begin docker-install-1
missing
offer 570.1
${Array.from({ length: 499 }, (_, at) => `offer 590.${at + 1}\n`).join('')}end
`,
      stderr: ` .lab
Get:1 http://mirror/docker,x/debian bookworm InRelease [9 kB]
0
sed: can't read nvidia.words: No such file or directory
`,
      calls: [
        ...read,
        "apt-get indextargets --format '$(CODENAME) $(REPO_URI) $(RELEASE) $(SOURCESENTRY)' 'Created-By: Packages' 'Origin: Debian' 'Component: main'",
        "apt-get indextargets --format '$(CODENAME) $(SOURCESENTRY)' 'Created-By: Packages' 'Component: contrib'",
      ],
      files: made,
    },
  },
];
