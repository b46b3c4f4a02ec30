import { sha256 } from '../../../../../src/shared/base/digest.ts';
import { aptFiles, siteCaFile } from '../../../../../src/fleet/packages/apt/source.ts';
import { HostPaths } from '../../../../../src/shared/contract/paths.ts';
import { dnf } from '../../../../../src/fleet/packages/dnf/dnf.ts';
import { dnfFiles } from '../../../../../src/fleet/packages/dnf/source.ts';
import { folderMark, packagesFolder } from '../../../../../src/fleet/packages/package-manager.ts';
import { managedFiles } from '../../../../../src/fleet/facts/probes/files.ts';
import type { ScratchHost } from '../../../../support/scratch/host.ts';
import { probe } from './probe-case.ts';
import type { ScriptCase } from '../../../../support/scratch/case.ts';

/** The probe reads certificates last. */
const last: readonly string[] = [managedFiles.managerCa, siteCaFile, dnf.trust.file];
const ours = [
  ...[...Object.values(managedFiles), ...aptFiles, folderMark, ...dnfFiles, folderMark].filter(
    (file) => !last.includes(file),
  ),
  ...last,
];
/** The site's authority on a dnf host: it has a heading that the host's authorities lack. */
const authority = `# mine\n${'Ab+/'.repeat(6)}==\n`;
const dnfAuthorities = '/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem';

const machine = (host: ScratchHost): void => {
  host
    .program('uname', 'echo 6.1.0-lab x86_64')
    .program('id', 'case $1 in -un) echo root ;; esac')
    .file('/proc/self/status', 'Name:\tsh\nUid:\t1\t0\t2\t3\nUid:\t7\t7\n')
    .file('/lib/systemd/libsystemd-shared-252.so')
    .program('nproc', 'echo 16')
    .program('date', 'echo 1795324800')
    .file('/proc/uptime', '12,5.25 99.9\n')
    .file('/proc/1/stat', '1 (init x) S 0\n')
    .file('/etc/machine-id', '0f8e,0\n')
    .file('/proc/sys/kernel/random/boot_id', '5b1c,0\n')
    .file('/proc/meminfo', 'MemFree: 1 kB\nMemTotal:       65536000 kB\nMemTotal: 2 kB\n')
    .folder('/run/systemd/system');
};
const firstLines =
  'kernel 6.1.0-lab\narch x86_64\nmachine-id 0f8e,0\nboot-id 5b1c,0\ntime 1795324800\nup 12\ninit 1 (init x) S 0\nsystemd systemd 252.so\n';
const lastLines = 'memory 65536000\ncpus 16\n';
const calls = ['uname -r -m', 'date +%s', 'nproc'];

export const machineCases: readonly ScriptCase[] = [
  probe('os', {
    name: 'os-release, unchanged',
    given: (host) => host.file('/etc/os-release', 'ID=debian\n\n\tNAME="a,  \\b" \nVERSION_ID=12'),
    after: { stdout: 'ID=debian\n\n\tNAME="a,  \\b" \nVERSION_ID=12\n' },
  }),
  probe('os', {
    name: 'no os-release',
    after: { code: 2, stderr: 'script: cannot open /etc/os-release: No such file\n' },
  }),
  probe('machine', {
    name: 'facts of every machine',
    given: machine,
    after: {
      stdout: `${firstLines}user root\nuid 0\n${lastLines}`,
      calls: [...calls.slice(0, 2), 'id -un', 'nproc'],
    },
  }),
  probe('machine', {
    name: 'the user before sudo; a required reboot',
    given: (host) => {
      machine(host);
      host.file('/run/reboot-required').file('/etc/nv_tegra_release').file('/dev/dxg');
    },
    run: { env: { SUDO_USER: 'lab,1', SUDO_UID: '1000' } },
    after: {
      stdout: `${firstLines}user lab,1\nuid 1000\n${lastLines}reboot-required\nplatform jetson\n`,
      calls,
    },
  }),
  ...(
    [
      ['in the folder of an architecture', ['/lib/x-shared-x/systemd/libsystemd-shared-257.so'], '257.so'],
      ['of 64 bits', ['/usr/lib64/systemd/libsystemd-shared-252-51.el9.so'], '252-51.el9.so'],
      ['that are none', [], undefined],
      [
        'that are two',
        ['/lib/systemd/libsystemd-shared-252.so', '/lib/systemd/libsystemd-shared-257.so'],
        undefined,
      ],
    ] as const
  ).map(([what, libraries, version]) =>
    probe('machine', {
      name: `systemd by its libraries ${what}`,
      given: (host) => {
        machine(host);
        host.drop('/lib', '/usr/lib64').program('systemctl', 'echo "systemd 254 (254.9-1)"; echo "+PAM"');
        for (const library of libraries) host.file(library);
      },
      run: { env: { SUDO_USER: 'lab,1', SUDO_UID: '1000', version: 'x' } },
      after: {
        stdout: `${firstLines.replace('252.so\n', version === undefined ? '254 (254.9-1)\n+PAM\n' : `${version}\n`)}user lab,1\nuid 1000\n${lastLines}`,
        calls: version === undefined ? calls.toSpliced(2, 0, 'systemctl --version') : calls,
      },
    }),
  ),
  probe('machine', {
    name: 'a systemd without a version',
    given: (host) => {
      machine(host);
      host.drop('/lib', '/usr/lib64').program('systemctl', 'exit 1');
    },
    after: {
      code: 1,
      stdout: firstLines.replace(/systemd .*\n/, ''),
      calls: [...calls.slice(0, 2), 'systemctl --version'],
    },
  }),
  probe('machine', {
    name: 'WSL, without systemd and machine-id',
    given: (host) => {
      machine(host);
      host.file('/dev/dxg').drop('/etc/machine-id', '/run/systemd/system');
    },
    run: { env: { SUDO_USER: 'lab,1', SUDO_UID: '1000' } },
    after: {
      stdout: `kernel 6.1.0-lab\narch x86_64\nboot-id 5b1c,0\ntime 1795324800\nup 12\ninit 1 (init x) S 0\nuser lab,1\nuid 1000\n${lastLines}platform wsl\n`,
      calls: ['uname -r -m', 'date +%s', 'nproc'],
    },
  }),
  probe('machine', {
    name: 'DGX OS, which identifies as Ubuntu',
    given: (host) => {
      machine(host);
      host.file('/etc/dgx-release').drop('/etc/machine-id', '/run/systemd/system');
    },
    run: { env: { SUDO_USER: 'lab,1', SUDO_UID: '1000' } },
    after: {
      stdout: `kernel 6.1.0-lab\narch x86_64\nboot-id 5b1c,0\ntime 1795324800\nup 12\ninit 1 (init x) S 0\nuser lab,1\nuid 1000\n${lastLines}platform dgx\n`,
      calls: ['uname -r -m', 'date +%s', 'nproc'],
    },
  }),
  ...(
    [
      ['uname', 'echo 6.1.0-lab', 1, '', calls.slice(0, 1)],
      ['date', 'exit 3', 3, firstLines.replace(/time [^]*/, ''), calls.slice(0, 2)],
      ['nproc', 'exit 4', 4, `${firstLines}user lab,1\nuid 1000\nmemory 65536000\n`, calls],
    ] as const
  ).map(([program, body, code, stdout, called]) =>
    probe('machine', {
      name: `a ${program} that does not say what it should`,
      given: (host) => {
        machine(host);
        host.program(program, body);
      },
      run: { env: { SUDO_USER: 'lab,1', SUDO_UID: '1000' } },
      after: { code, stdout, calls: called },
    }),
  ),
  probe('daemon-json', {
    name: 'unchanged',
    given: (host) => host.file('/etc/docker/daemon.json', '{}'),
    after: { stdout: 'present\n{}' },
  }),
  probe('daemon-json', { name: 'none', after: {} }),
  probe('daemon-json', {
    name: 'up to the size limit',
    given: (host) => host.file('/etc/docker/daemon.json', 'x'.repeat(2_097_153)),
    after: { stdout: `present\n${'x'.repeat(2_097_152)}` },
  }),
  probe('daemon-json', {
    name: 'a folder in its place',
    given: (host) => host.folder('/etc/docker/daemon.json'),
    after: {
      code: 1,
      stdout: 'present\n',
      stderr: "head: error reading '/etc/docker/daemon.json': Is a directory\n",
    },
  }),
  probe('files', {
    name: 'digests of existing files',
    given: (host) => ours.forEach((file) => host.file(file, 'a: b\n\nc')),
    after: {
      stdout: [
        ...ours.map((file) => `${sha256('a: b\n\nc')}  ${file}\n`),
        ...ours.map((file) => `${file}:a: b\n${file}:\n${file}:c\n`),
      ].join(''),
    },
  }),
  probe('files', {
    name: 'a file that is removed before its text is read',
    given: (host) =>
      host.file(siteCaFile, 'a').program('sha256sum', '/bin/sha256sum "$@"; rm "$1"', { silent: true }),
    after: { stdout: `${sha256('a')}  ${siteCaFile}\n`, files: { [siteCaFile]: 'gone' } },
  }),
  probe('files', {
    name: 'text up to the size limit',
    given: (host) =>
      host.file(siteCaFile, 'a').program('grep', "printf '%196609s' | tr ' ' x", { silent: true }),
    after: { stdout: `${sha256('a')}  ${siteCaFile}\n${'x'.repeat(196_608)}` },
  }),
  probe('files', { name: 'none', after: {} }),
  probe('site-ca', {
    name: 'trusted',
    given: (host) =>
      host
        .file('/usr/local/share/ca-certificates/azp-fleet-site.crt', 'MINE\n')
        .file('/etc/ssl/certs/ca-certificates.crt', 'A\nMINE\nB\n'),
    after: { stdout: 'trusted\n' },
  }),
  probe('site-ca', {
    name: 'written, but not trusted',
    given: (host) =>
      host
        .file('/usr/local/share/ca-certificates/azp-fleet-site.crt', 'MIN*E\n')
        .file('/etc/ssl/certs/ca-certificates.crt', 'A\nMINxE\nB\n'),
    after: {},
  }),
  probe('site-ca', {
    name: 'none',
    given: (host) => host.file('/etc/ssl/certs/ca-certificates.crt', 'A\n'),
    after: {},
  }),
  probe('site-ca', {
    name: 'on a system without trusted certificates',
    given: (host) => host.file('/usr/local/share/ca-certificates/azp-fleet-site.crt', 'MINE\n'),
    after: {},
  }),
  probe('site-ca', {
    name: 'trusted on a dnf host',
    given: (host) =>
      host
        .file(dnf.trust.file, authority)
        .file(dnfAuthorities, `# other\n${authority.replace('# mine', '# its name')}`),
    after: { stdout: 'trusted\n' },
  }),
  ...(
    [
      [
        'written, but not trusted, on a dnf host',
        [dnf.trust.file, authority],
        [dnfAuthorities, '# other\n'],
        // An unquoted pattern would match this file.
        ['/root/^[A-Za-z0-9+/]{20,}=x$', ''],
      ],
      ['none on a dnf host', [dnfAuthorities, authority]],
      ['on a dnf host without trusted certificates', [dnf.trust.file, authority]],
    ] as const
  ).map(([name, ...files]) =>
    probe('site-ca', {
      name,
      given: (host) => files.forEach(([path, text]) => host.file(path, text)),
      after: {},
    }),
  ),
  probe('disk', {
    name: 'of existing folders',
    given: (host) =>
      host
        .folder('/boot', '/var/cache', '/var/lib/docker')
        .file('/boot/initrd.img-6.1.0', 'x'.repeat(20))
        .file('/boot/initrd.img-6.8.0', 'x'.repeat(300))
        .file('/boot/initramfs-6.1.0.img', 'x'.repeat(30))
        .link('/boot/initrd.img-gone', '/boot/gone')
        .program('df', 'echo "$*"'),
    after: {
      stdout:
        'initramfs 300\npath /\npath /boot\npath /opt\npath /usr\npath /var\npath /var/cache\npath /var/lib\npath /var/lib/docker\n-Pk / /boot /opt /usr /var /var/cache /var/lib /var/lib/docker\n',
      calls: ['df -Pk / /boot /opt /usr /var /var/cache /var/lib /var/lib/docker'],
    },
  }),
  probe('disk', {
    name: "of Docker's data in another folder, and no files of a bundle",
    given: (host) =>
      host
        .program('stat', 'exit 1')
        .folder('/boot', '/srv/big,disk/docker', '/var/lib/docker')
        .file(
          '/etc/docker/daemon.json',
          `{ "log-driver": "local",\n "data-root": "/old", "data-root": "${host.at('/srv/big,disk/docker')}", "x-data-root": "/x" }`,
        )
        .program('df', 'echo "$*"'),
    after: {
      stdout:
        'initramfs 0\npath /\npath /boot\npath /opt\npath /usr\npath /var\npath /var/lib\npath /var/lib/docker\npath /srv/big,disk/docker\n-Pk / /boot /opt /usr /var /var/lib /var/lib/docker /srv/big,disk/docker\n',
      calls: [
        "stat -L -c %s '/boot/initrd.img-*' '/boot/initramfs-*.img'",
        'df -Pk / /boot /opt /usr /var /var/lib /var/lib/docker /srv/big,disk/docker',
      ],
    },
  }),
  ...[
    ['in double quotes', 'version = 3\n root = "PATH/a=data" # not "x"\n[plugins]\nroot = "/elsewhere"\n'],
    [
      'in single quotes, without an end of line',
      "imports = ['/etc/containerd/conf.d/*.toml']\nroot='PATH/a=data'",
    ],
  ].map(([name = '', text = '']) =>
    probe('disk', {
      name: `of containerd's folder by its configuration, ${name}`,
      given: (host) =>
        host
          .program('stat', 'exit 1', { silent: true })
          .folder('/boot', '/srv/big,disk', '/var/lib/docker')
          .file('/etc/containerd/config.toml', text.replace('PATH', host.at('/srv/big,disk')))
          .program('df', '', { silent: true }),
      after: {
        stdout:
          'containerd /srv/big,disk/a=data\ninitramfs 0\npath /\npath /boot\npath /opt\npath /usr\npath /var\npath /var/lib\npath /var/lib/docker\npath /srv/big,disk\n',
      },
    }),
  ),
  probe('disk', {
    name: "of containerd's usual folder",
    given: (host) =>
      host
        .program('stat', 'exit 1', { silent: true })
        .folder('/boot', '/var/lib/containerd')
        .file('/etc/containerd/config.toml', 'rooted = "/x"\n[plugins]\nroot = "/elsewhere"\n')
        .program('df', '', { silent: true }),
    after: {
      stdout:
        'initramfs 0\npath /\npath /boot\npath /opt\npath /usr\npath /var\npath /var/lib\npath /var/lib/containerd\n',
    },
  }),
  probe('disk', {
    name: 'and complete and partial files of a bundle',
    given: (host) =>
      host
        .file(`${packagesFolder}/pool/docker-ce_29.7.2-1_amd64.deb`, 'whole')
        .file(`${packagesFolder}/Packages`, 'an index')
        .file(`${HostPaths.images}/ab.image.0123456789abcdef.part`, 'cut')
        .file(`${HostPaths.archives}/ab.tar.gz`, 'four')
        .folder('/boot', '/srv', '/var/lib/docker')
        .program('df', ''),
    run: { env: { data: '/srv' } },
    after: {
      stdout: `arrived 5 ${packagesFolder}/pool/docker-ce_29.7.2-1_amd64.deb
arrived 3 ${HostPaths.images}/ab.image.0123456789abcdef.part
arrived 4 ${HostPaths.archives}/ab.tar.gz
initramfs 0
path /
path /boot
path /opt
path /usr
path /var
path /var/lib
path /var/lib/docker
`,
      calls: ['df -Pk / /boot /opt /usr /var /var/lib /var/lib/docker'],
    },
  }),
  probe('disk', {
    name: 'and more files of a bundle than are listed, one of which goes away',
    given: (host) =>
      host
        .file(`${HostPaths.archives}/ab.tar.gz`)
        .program('stat', 'case $1 in -c) seq 8001; echo "cannot statx" >&2 ;; esac', { silent: true })
        .folder('/boot', '/var/lib/docker')
        .program('df', '', { silent: true }),
    after: {
      stdout: `${Array.from({ length: 8000 }, (_, at) => `${at + 1}\n`).join('')}initramfs 0
path /
path /boot
path /opt
path /usr
path /var
path /var/lib
path /var/lib/docker
`,
    },
  }),
  probe('disk', {
    name: 'that df cannot read',
    given: (host) => host.folder('/boot').program('df', 'echo "df: no" >&2; exit 1', { silent: true }),
    after: {
      code: 1,
      stdout: 'initramfs 0\npath /\npath /boot\npath /opt\npath /usr\npath /var\npath /var/lib\n',
      stderr: 'df: no\n',
    },
  }),
];
