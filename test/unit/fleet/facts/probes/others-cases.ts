import { aptHost, has, locked } from '../../packages/apt/apt-host.ts';
import { dnfHost, has as hasRpm, lockList } from '../../packages/dnf/dnf-host.ts';
import { probe } from './probe-case.ts';
import type { ScriptCase } from '../../../../support/scratch/case.ts';

const usedPackages = [
  'docker-ce',
  'containerd.io',
  'podman-a',
  'cuda-drivers-1',
  'nvidia-a',
  'libnvidia-ml1',
  'ubuntu-desktop',
  'ubuntu-desktop-minimal',
];

export const othersCases: readonly ScriptCase[] = [
  probe('packages-apt', {
    name: 'installed packages that steps use',
    given: (host) => {
      aptHost(host);
      has(host, 'bash 5.2', ...usedPackages.map((name) => `${name} 5:1`));
      // An unquoted pattern would match these files.
      host.file('/root/a-desktop').file('/root/a-desktop-minimal');
    },
    after: { stdout: usedPackages.map((name) => `installed install ${name} 5:1\n`).join('') },
  }),
  probe('packages-apt', {
    name: 'no such package',
    given: aptHost,
    after: {},
  }),
  probe('packages-apt', { name: 'a system of another family', after: {} }),
  probe('packages-apt', {
    name: 'an empty list of packages',
    given: (host) => {
      aptHost(host);
      host.file('/var/lib/dpkg/status', '');
    },
    after: { code: 1, stderr: 'the list of packages is lost: /var/lib/dpkg/status\n' },
  }),
  probe('packages-apt', {
    name: 'a list of packages that was begun again',
    given: (host) => {
      aptHost(host);
      host.file('/var/lib/dpkg/status', 'Package: docker-ce\n');
    },
    after: { code: 1, stderr: 'the list of packages is lost: /var/lib/dpkg/status\n' },
  }),
  probe('packages-apt', {
    name: "dpkg's list cannot be read",
    given: (host) => {
      aptHost(host);
      host.program('dpkg-query', 'exit 2', { silent: true });
    },
    after: { code: 1 },
  }),
  probe('packages-dnf', {
    name: "rpm's list cannot be read",
    given: (host) => {
      dnfHost(host);
      host.file('/run/damaged');
    },
    after: { code: 1, stderr: 'error: rpmdb: damaged\n' },
  }),
  probe('packages-dnf', {
    name: 'a lost database of rpm, which makes an empty one and ends with 0',
    given: (host) => {
      dnfHost(host);
      host.file('/proc/stat', 'btime 1700000000\n').folder('/proc/1');
    },
    after: { code: 1, stderr: 'the database of rpm lists no system package: it is lost\n' },
  }),
  probe('packages-dnf', {
    name: 'rpm on a system of another family',
    given: (host) => {
      dnfHost(host);
      host.drop('/etc/yum.repos.d');
    },
    after: {},
  }),
  // The packages were installed at 1700000000.
  ...(
    [
      ['a package that needs a reboot', 1_699_999_999, 1_699_999_999, 'reboot\n'],
      ['packages as old as the start of the kernel', 1_700_000_000, 1_600_000_000, ''],
      ['packages as old as the start of a container', 1_600_000_000, 1_700_000_000, ''],
    ] as const
  ).map(([name, kernel, first, stdout]) =>
    probe('packages-dnf', {
      name,
      given: (host) => {
        dnfHost(host);
        host
          .drop(lockList)
          .file('/proc/stat', `btime ${kernel}\n`)
          .program('stat', `echo ${first}`, { silent: true });
        hasRpm(host, 'glibc 0:2.34-100.el9', 'systemd 0:252-1.el9');
      },
      after: { stdout },
    }),
  ),
  probe('packages-dnf', {
    name: 'rpm packages that steps use, those of a desktop, and locked versions',
    given: (host) => {
      dnfHost(host);
      host
        .file(lockList, '# by ann\n  docker-ce-3:29.7.2-1.el9.*  # ours\n!kernel-0:1-1.*\n')
        .file('/proc/stat', 'btime 1700000000\n')
        .folder('/proc/1');
      hasRpm(
        host,
        'docker-ce 3:29.7.2-1.el9',
        'glibc 0:2.34-100.el9',
        'firefox 0:128-1.el9',
        'gdm 1:40.1-34.el9',
      );
    },
    after: {
      stdout: 'docker-ce 3 29.7.2 1.el9 x86_64\ngdm 1 40.1 34.el9 x86_64\nlock docker-ce-3:29.7.2-1.el9.*\n',
    },
  }),
  probe('others', {
    name: 'users on terminals, and GPU processes with their control groups',
    given: (host) => {
      const session = (id: string, text: string) => host.file(`/run/systemd/sessions/${id}`, text);
      session('1', 'UID=1\nUSER=ann=e\nTTY=pts/0\nCLASS=user\nSTATE=active\n');
      session('2', 'USER=bob\nTTY=pts/1\nCLASS=user\nSTATE=closing\n');
      session('3', 'USER=gdm\nTTY=tty1\nCLASS=greeter\nSTATE=active\n');
      session('4', 'USER=eve\nCLASS=user\nSTATE=online\n');
      session('6', 'USER=nobody\nTTY=tty4\n');
      session('5', 'USER=dan\nTTY=tty3\nCLASS=user\nSTATE=online');
      host.folder('/run/systemd/sessions/folder').device('/dev/nvidia0');
      const holder = (pid: string, name: string, cgroup: string, ...devices: readonly string[]) => {
        host.file(`/proc/${pid}/comm`, `${name}\n`).file(`/proc/${pid}/cgroup`, `0::/${cgroup}\n`);
        devices.forEach((device, at) => host.link(`/proc/${pid}/fd/${at}`, device));
      };
      holder('10', 'python3  x', 'user.slice', '/dev/nvidia0', '/dev/nvidia1');
      holder('11', 'in docker', 'system.slice/docker-abc.scope', '/dev/nvidia0');
      holder('12', 'other', 'user.slice', '/dev/nvidiactl', '/dev/null');
      holder('13', 'pod', 'kubepods/x', '/dev/nvidia1');
      holder('15', 'second', 'user.slice', '/dev/nvidia1');
      host
        .link('/proc/14/fd/0', '/dev/nvidia0')
        .program(
          'find',
          `echo "a word" >&2; /bin/find "$@" | sed 's#.*[/]\\(proc[/][0-9]*[/]fd\\)#[/]\\1#; s#^...#/#'; exit 1`,
          { silent: true },
        );
    },
    after: {
      stdout:
        'login ann=e pts/0\nlogin dan tty3\ngpu-process 10 python3  x\ngpu-group 10 /user.slice\ngpu-process 11 in docker\ngpu-group 11 /system.slice/docker-abc.scope\ngpu-process 13 pod\ngpu-group 13 /kubepods/x\ngpu-process 15 second\ngpu-group 15 /user.slice\n',
    },
  }),
  probe('others', {
    name: 'remote desktops, which have no terminal, and no login screen',
    given: (host) => {
      const session = (id: string, text: string) => host.file(`/run/systemd/sessions/${id}`, text);
      session('1', 'USER=ann\nTYPE=x11\nCLASS=user\nSERVICE=xrdp-sesman\nDISPLAY=:10\nSTATE=active\n');
      session('2', 'USER=bob\nTYPE=unspecified\nCLASS=user\nSERVICE=tigervnc\nSTATE=online\n');
      session('3', 'USER=gdm\nTYPE=wayland\nCLASS=greeter\nSERVICE=gdm-launch-environment\nSTATE=active\n');
      session('4', 'USER=lab\nTYPE=tty\nCLASS=user\nSERVICE=sshd\nSTATE=active\n');
      session('5', 'USER=root\nTYPE=unspecified\nCLASS=user\nSERVICE=cron\nSTATE=active\n');
      // As logind names a session without an audit number.
      session(
        'c6',
        'USER=eve\nTYPE=wayland\nCLASS=user\nSERVICE=gdm-password\nSEAT=seat0\nTTY=tty2\nSTATE=active\n',
      );
      session('7', 'USER=dan\nTYPE=x11\nCLASS=user\nSERVICE=xrdp-sesman\nSTATE=closing\n');
      session('8', 'USER=fay\nTYPE=wayland\nCLASS=user\nSERVICE=gdm-autologin\nSTATE=active\n');
      session('9', 'USER=gus\nTYPE=unspecified\nCLASS=user\nSERVICE=xrdp-sesman\nSTATE=active\n');
    },
    after: {
      stdout:
        'login ann xrdp-sesman :10\nlogin bob tigervnc \nlogin fay gdm-autologin \nlogin gus xrdp-sesman \nlogin eve tty2\n',
    },
  }),
  probe('others', {
    name: 'a process on the second GPU, where the first is gone',
    given: (host) =>
      host
        .device('/dev/nvidia1')
        .file('/proc/10/comm', 'x\n')
        .program('find', 'printf /%s proc/10/fd/0', { silent: true }),
    run: { env: { last: '10' } },
    after: { stdout: 'gpu-process 10 x\n' },
  }),
  probe('others', {
    name: 'a killed search',
    given: (host) => host.device('/dev/nvidia0').program('find', 'exit 137', { silent: true }),
    after: { code: 1 },
  }),
  probe('others', {
    name: 'no processes without a GPU',
    given: (host) =>
      host.file('/proc/10/comm', 'x\n').program('find', 'printf /%s proc/10/fd/0', { silent: true }),
    run: { env: { gpus: 'there' } },
    after: {},
  }),
  probe('package-lock', {
    name: 'the holder of the package database',
    given: (host) => {
      aptHost(host);
      host.file('/proc/812/comm', 'unattended upgr\n');
      locked(host, '/var/lib/dpkg/lock-frontend', 812);
    },
    after: { stdout: 'unattended upgr (pid 812) holds /var/lib/dpkg/lock-frontend\n' },
  }),
  ...[
    '/var/lib/dpkg/lock',
    '/var/lib/apt/lists/lock',
    '/var/lib/rpm/.rpm.lock',
    '/usr/lib/sysimage/rpm/.rpm.lock',
  ].map((file) =>
    probe('package-lock', {
      name: `the holder of ${file}, which /proc does not show`,
      given: (host) => {
        aptHost(host);
        locked(host, file, 812);
      },
      after: { stdout: `unknown (pid 812) holds ${file}\n` },
    }),
  ),
  probe('package-lock', {
    name: 'the holder on a file system of several with the same inode',
    given: (host) =>
      host
        .program('stat', 'echo 77 / /var/lib/dpkg/lock', { silent: true })
        .file('/proc/self/mountinfo', '29 1 254:16 / / rw - ext4\n30 29 254:0 / /data rw - ext4\n')
        .file(
          '/proc/locks',
          '1: POSIX ADVISORY WRITE 811 fe:00:77 0 EOF\n2: POSIX ADVISORY WRITE 812 fe:10:77 0 EOF\n',
        ),
    after: { stdout: 'unknown (pid 812) holds /var/lib/dpkg/lock\n' },
  }),
  probe('package-lock', {
    name: "the processes in dnf's files",
    given: (host) =>
      host
        .file('/proc/locks')
        .file('/var/lib/dnf/rpmdb_lock.pid', '812')
        .file('/proc/812/comm', 'dnf\n')
        .file('/var/cache/dnf/metadata_lock.pid', '813')
        .folder('/proc/813')
        .file('/var/cache/dnf/download_lock.pid', '814\n')
        .folder('/proc/814'),
    after: {
      stdout: `dnf (pid 812) holds /var/lib/dnf/rpmdb_lock.pid
unknown (pid 813) holds /var/cache/dnf/metadata_lock.pid
unknown (pid 814) holds /var/cache/dnf/download_lock.pid
`,
    },
  }),
  probe('package-lock', {
    name: "the process in one of dnf's files, beside an ended one and a file that cannot be opened",
    given: (host) =>
      host
        .file('/proc/locks')
        .file('/var/lib/dnf/rpmdb_lock.pid', '812')
        .folder('/proc/812')
        .file('/var/cache/dnf/download_lock.pid', '815')
        // It can be read, but no process of the script has a terminal.
        .link('/var/cache/dnf/metadata_lock.pid', `${'../'.repeat(20)}dev/tty`),
    after: { stdout: 'unknown (pid 812) holds /var/lib/dnf/rpmdb_lock.pid\n' },
  }),
  probe('package-lock', { name: 'no holder', given: aptHost, after: {} }),
  probe('package-lock', {
    name: 'no lock files',
    given: (host) => host.file('/proc/locks', '\n'),
    after: {},
  }),
];
