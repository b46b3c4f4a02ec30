/** Output of dnf 4.14, from real runs; `narrow` is composed with the line breaks of older versions. */
const rule = '='.repeat(80);
const head = `${rule}
 Package               Architecture   Version                  Repository  Size
${rule}`;
const checked = 'Last metadata expiration check: 0:00:46 ago on Sun Nov 22 12:00:32 2026.\n';

/** docker-ce on a host with buildah, runc and podman-docker. */
export const conflict = `${checked}> > > ${head}
Installing:
 containerd.io         noarch         1.7.27-3.1.el9           r          6.1 k
     replacing  runc.noarch 4:1.1.12-1.el9
 docker-ce             noarch         3:29.7.2-1.el9           r          6.0 k
Removing:
 podman-docker         noarch         4:4.9-1.el9              @r           4${'  '}
Removing dependent packages:
 buildah               noarch         2:1.33-1.el9             @r           5${'  '}

Transaction Summary
${rule}
Install  2 Packages
Remove   2 Packages

Total download size: 18 k
Error: Operation aborted.
${checked}> Leaving Shell
`;

export const downgrade = `${checked}> > ${head}
Downgrading:
 docker-ce          noarch          3:29.7.1-1.el9             r          6.0 k

Transaction Summary
${rule}
Downgrade  1 Package

Total size: 6.0 k
Error: Operation aborted.
${checked}> Leaving Shell
`;

export const narrow = `${checked}> > ${head}
Installing:
 a-package-whose-name-is-longer-than-any-column
                       x86_64         1.0.0-1.module_el9.6.0+123+abcdef
                                                               os         6.4 k
Upgrading:
 glibc                 i686           2.34-168.el9             os         2.0 M
     replacing  glibc-gconv-extra.i686 2.34-100.el9
 dkms                  noarch         3.1.8-1.el9              epel        80 k
Reinstalling:
 gcc                   x86_64         11.5.0-1.el9             os          30 M
Skipping packages with broken dependencies:
 never-mind            x86_64         1-1                      os          30 M

Transaction Summary
${rule}
Install  1 Package

Total download size: 100 M
Installed size: 2 G
Error: Operation aborted.
`;

export const nothing = `${checked}> Package docker-ce-3:29.7.2-1.el9.noarch is already installed.
> Nothing to do.
Complete!
${checked}> Leaving Shell
`;

export const unmet = `${checked}> >${' '}
 Problem: conflicting requests
  - nothing provides dkms needed by kmod-nvidia-open-dkms-3:580.95.05-1.el9.noarch
Nothing to do.
Complete!
${checked}> Leaving Shell
`;

/** A lock excludes the desired version. */
export const held = `${checked}> All matches were filtered out by exclude filtering for argument: docker-ce-29.10.0
Error: Unable to find a match: docker-ce-29.10.0
> Nothing to do.
Complete!
${checked}> Leaving Shell
`;

/** A mirror that does not answer, which dnf skips. */
export const deadMirror = `Errors during downloading metadata for repository 'dead':
  - Curl error (7): Couldn't connect to server for http://127.0.0.1:8098/x/repodata/repomd.xml [Failed to connect to 127.0.0.1 port 8098 after 0 ms: Couldn't connect to server]
Error: Failed to download metadata for repo 'dead': Cannot download repomd.xml: Cannot download repodata/repomd.xml: All mirrors were tried
Ignoring repositories: dead
`;

const file = 'extra-1.0-1.el9.noarch.rpm';
/** dnf's output of a package's location. */
export const fileAddress = `http://mirror/r/noarch/${file}`;

/** Returns dnf's output about a package that fails on all mirrors; another one succeeds on the second mirror. Releases before and after dnf 4.14 print the same. */
export function unfetchable(reason: string): string {
  const other = `[MIRROR] lib-1.0-1.el9.noarch.rpm: Status code: 404 for http://other/lib-1.0-1.el9.noarch.rpm (IP: 10.0.0.1)\n`;
  return `Downloading Packages:
${other}[MIRROR] ${file}: ${reason}
${other}[MIRROR] ${file}: ${reason}
[FAILED] ${file}: No more mirrors to try - All mirrors were already tried without success${'  '}

Error: Error downloading packages:
  extra-1.0-1.el9.noarch: Cannot download, all mirrors were already tried without success
The downloaded packages were saved in cache until the next successful transaction.
You can remove cached packages by executing 'dnf clean packages'.
> Leaving Shell
`;
}

export const unavailable = unfetchable(`Status code: 503 for ${fileAddress} (IP: 10.0.0.1)`);

/** dnf's output after a proxy's error page. */
export const otherFile =
  'Interrupted by header callback: Inconsistent server data, reported file Content-Length: 19, repository metadata states file length: 36137 (please report to repository maintainer)';

/** A package by its address, outside of any repository. */
export const unfetchableAlone = `[MIRROR] ${file}: Curl error (6): Couldn't resolve host name for ${fileAddress} [Could not resolve host: mirror]
[FAILED] ${file}: Curl error (6): Couldn't resolve host name for ${fileAddress} [Could not resolve host: mirror]
Curl error (6): Couldn't resolve host name for ${fileAddress} [Could not resolve host: mirror]
`;
