import type { ScriptCase } from '../../../../../support/scratch/case.ts';
import type { ScratchHost } from '../../../../../support/scratch/host.ts';
import { ask, dockerSource, dockerUri } from './simulation-host.ts';
import { docker, plain, made, heard, read, listed, asked, freed, uris } from './simulation-world.ts';

/** Sources that did not answer, in whole or in part. */
export const sourceCases: readonly ScriptCase[] = [
  {
    name: 'tells that some lists could not be read',
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
      calls: [...read, listed, asked, 'apt-mark showhold', freed, uris],
      files: made,
    },
  },
  ...(
    [
      ['that is not there', () => ''],
      [
        'that did not answer',
        () => `Err:1 ${dockerUri} bookworm InRelease\nW: Failed to fetch ${dockerUri}/x\n`,
      ],
      [
        'that answered in part',
        () =>
          `Get:1 ${dockerUri} bookworm InRelease\nErr:2 ${dockerUri} bookworm Packages\nE: no ${dockerUri}\n`,
      ],
      ['that nobody asked', () => `Get:1 http://other bookworm InRelease\n`],
      ['that has no list', () => `Hit:1 ${dockerUri} bookworm InRelease\n`],
    ] as const
  ).map(([name, words], at) => ({
    name: `tells of a source ${name}`,
    script: plain,
    given: (host: ScratchHost) => {
      host.file('/run/listened', words());
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
          calls: [...read, asked, 'apt-mark showhold', freed, uris],
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
          calls: [...read, asked, 'apt-mark showhold', freed, uris],
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
          calls: [...read, asked, 'apt-mark showhold', freed, uris],
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
          calls: [...read, asked, 'apt-mark showhold', freed, uris],
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
          calls: [...read, listed, asked, 'apt-mark showhold', freed, uris],
          files: made,
        },
      ][at] ?? {},
  })),
  {
    name: 'tells why a key cannot be had, and asks about the others all the same',
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
      calls: [...read, asked, 'apt-mark showhold', freed, uris],
      files: made,
    },
  },
  {
    name: 'takes an empty key for none, whoever has it',
    script: ask(docker, { missing: ['docker', 'nvidia-container-toolkit', 'nvidia'] }),
    given: (host) =>
      host
        .program('/usr/lib/apt/apt-helper', ': >"$5"', { silent: true })
        .program('dpkg-deb', 'tar -cf - -C /run/keyring .', { silent: true })
        .file('/run/keyring/usr/share/keyrings/cuda-archive-keyring.gpg', ''),
    after: {
      stdout: `silent docker 
silent nvidia-container-toolkit 
silent nvidia 
begin docker-install-1
version 5:2.0,1-1
upgrade tool 1.9 2.0
end
`,
      stderr: heard,
      calls: [...read, asked, 'apt-mark showhold', freed, uris],
      files: made,
    },
  },
];
