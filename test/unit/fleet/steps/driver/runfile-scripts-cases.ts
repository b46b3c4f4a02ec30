import {
  confirmLoaded,
  installScript,
  uninstallScript,
} from '../../../../../src/fleet/steps/driver/runfile-scripts.ts';
import { sha256 } from '../../../../../src/shared/base/digest.ts';
import { failFunction } from '../../../../../src/shared/base/shell.ts';
import type { ScriptSuite } from '../../../../support/scratch/case.ts';
import type { ScratchHost } from '../../../../support/scratch/host.ts';
import { file, own, release, runfile, there } from './runfile-host.ts';

/** Replaces `sh` and the .run file, and writes the log of an installation. */
const installs = `echo "$(stat -c %a "$TMPDIR")"
mkdir -p /var/lib/nvidia
printf '1.0-5809505 (580.95.05)\\nNVIDIA Accelerated Graphics Driver\\n' >/var/lib/nvidia/log
touch /usr/bin/nvidia-uninstall`;
const install = (more: Partial<Parameters<typeof installScript>[1]> = {}): string =>
  installScript(release, {
    options: ['--silent', '--dkms', '-m=kernel-open'],
    kernel: undefined,
    signs: false,
    graphics: false,
    before: '',
    after: 'echo loading',
    ...more,
  });
const confirm = `${failFunction}\n${confirmLoaded('580.95.05', { prefix: '' })}`;
const query = 'nvidia-smi --query-gpu=driver_version --format=csv,noheader';
const unit = 'systemctl cat nvidia-persistenced.service';
const status = 'dkms status -m nvidia -v 580.95.05 -k 6.1.0,lab';
const runs = `sh ${file} --silent --dkms -m=kernel-open --tmpdir=${own}/fetched/work`;
const installed = {
  '/var/lib/nvidia': '755 /',
  '/var/lib/nvidia/log': '644 1.0-5809505 (580.95.05)\nNVIDIA Accelerated Graphics Driver\n',
  '/usr/bin/nvidia-uninstall': '644 ',
};
const done = {
  ...installed,
  [`${own}/fetched`]: 'gone',
  [file]: 'gone',
  [`${own}/installed`]: '644 580.95.05 compute\n',
};

export const runfileSuite: ScriptSuite = {
  name: "running NVIDIA's .run file",
  given: (host) => {
    host
      .folder('/usr/bin')
      .program('sh', installs)
      .program('uname', 'echo 6.1.0,lab')
      .program('dkms', 'echo "nvidia/580.95.05, 6.1.0,lab, x86_64: installed"')
      .program('systemctl', '[ "$1" != cat ] || { echo "No files found" >&2; exit 1; }');
  },
  cases: [
    {
      name: 'installs the driver, and records it',
      script: install(),
      given: there,
      after: { stdout: 'loading\n', calls: [runs, 'uname -r', status], files: done },
    },
    {
      name: 'installs for another kernel, with graphics, signed',
      script: install({ kernel: '6.1.0-38-amd64', signs: true, graphics: true }),
      given: there,
      after: {
        stdout: 'nvidia/580.95.05, 6.1.0,lab, x86_64: installed\n'.repeat(2) + 'loading\n',
        calls: [
          runs,
          ...['build --force', 'install --force', 'status'].map(
            (verb) => `dkms ${verb} -m nvidia -v 580.95.05 -k 6.1.0-38-amd64`,
          ),
        ],
        files: { ...done, [`${own}/installed`]: '644 580.95.05 graphics\n' },
      },
    },
    {
      name: 'adds a unit for the daemon',
      script: install(),
      given: (host) =>
        there(host)
          .file('/usr/bin/nvidia-persistenced', '', { mode: 0o755 })
          .file('/etc/systemd/system/nvidia-persistenced.service.new', 'half a unit')
          .file(`${own}/installed.new`, 'half'),
      after: {
        stdout: 'loading\n',
        calls: [runs, 'uname -r', status, unit, 'systemctl daemon-reload'],
        files: {
          ...done,
          [`${own}/installed.new`]: 'gone',
          '/etc/systemd/system/nvidia-persistenced.service.new': 'gone',
          '/etc/systemd/system/nvidia-persistenced.service': `644 # Written by azp-fleet: GPUs stay initialised between containers.
[Unit]
Description=NVIDIA Persistence Daemon

[Service]
Type=forking
ExecStart=/usr/bin/nvidia-persistenced --verbose
ExecStopPost=/bin/rm -rf /run/nvidia-persistenced

[Install]
WantedBy=multi-user.target
`,
        },
      },
    },
    {
      name: 'does not run a file that changed after its download',
      script: install(),
      given: (host) => there(host, 'another'),
      after: {
        code: 1,
        stderr: `failed: ${file} has changed since its download
expected: sha256 ${sha256(runfile)}
seen: ${sha256('another')}
next: run again
`,
      },
    },
    {
      name: 'reports a downloaded file that is gone',
      script: install(),
      after: {
        code: 1,
        stderr: `script: cannot open ${file}: No such file
failed: ${file} has changed since its download
expected: sha256 ${sha256(runfile)}
seen: no file
next: run again
`,
      },
    },
    {
      name: 'reports three different errors that the installer printed before it opened its log',
      script: install(),
      given: (host) =>
        there(host)
          .file('/var/log/nvidia-installer.log', 'ERROR: 0\n')
          .program('sh', `for n in 4 2 "1 $TMPDIR" 2 3; do echo "ERROR: $n"; done >&2; exit 1`),
      after: {
        code: 1,
        stderr: `failed: the installer of NVIDIA driver 580.95.05 failed
expected: the driver, installed
seen: ERROR: 1 ${own}/fetched/work ERROR: 2 ERROR: 3 
next: check /var/log/nvidia-installer.log on the host, and run again
`,
        calls: [runs],
        files: { '/var/log/nvidia-installer.log': 'gone', [`${own}/fetched/work`]: '700 /' },
      },
    },
    {
      name: 'reports the error in the installer log',
      script: install(),
      given: (host) =>
        there(host)
          .program(
            'sh',
            "printf 'Using: nvidia-installer\\nERROR: You  appear to run\\n' >/var/log/nvidia-installer.log; exit 1",
          )
          .file('/var/log/nvidia-installer.log', 'ERROR: old\n')
          .file(`${own}/installed`, '570.86.10 compute\n'),
      after: {
        code: 1,
        stderr: `failed: the installer of NVIDIA driver 580.95.05 failed
expected: the driver, installed
seen: ERROR: You appear to run 
next: check /var/log/nvidia-installer.log on the host, and run again
`,
        calls: [runs],
        files: {
          '/var/log/nvidia-installer.log': '644 Using: nvidia-installer\nERROR: You  appear to run\n',
          [`${own}/installed`]: 'gone',
          [`${own}/fetched/work`]: '700 /',
        },
      },
    },
    {
      name: 'fails if the installer succeeds without installing',
      script: install(),
      given: (host) => there(host).program('sh', ''),
      after: {
        code: 1,
        stderr: `failed: the installer succeeded without installing its driver
expected: 580.95.05 in /var/lib/nvidia/log
seen: 
next: check /var/log/nvidia-installer.log on the host
`,
        calls: [runs],
        files: { [`${own}/fetched/work`]: '700 /' },
      },
    },
    {
      name: 'fails if DKMS has not built the driver',
      script: install(),
      given: (host) => there(host).program('dkms', 'echo "nvidia/580.95.05: added"'),
      after: {
        code: 1,
        stderr: `failed: DKMS has not built NVIDIA driver 580.95.05 for Linux 6.1.0,lab
expected: installed
seen: nvidia/580.95.05: added
next: check the newest /var/lib/dkms/nvidia/*/build/make.log on the host
`,
        calls: [runs, 'uname -r', status],
        files: { ...installed, [`${own}/fetched/work`]: '700 /' },
      },
    },
    ...[
      { script: install(), before: [runs, 'uname -r', status] },
      {
        script: install({ kernel: '6.1.0,lab', signs: true }),
        before: [
          runs,
          'dkms build --force -m nvidia -v 580.95.05 -k 6.1.0,lab',
          'dkms install --force -m nvidia -v 580.95.05 -k 6.1.0,lab',
          status,
        ],
      },
    ].map(({ script, before }, index) => ({
      name: `reports the error of DKMS${index === 0 ? '' : ' after signing'}`,
      script,
      given: (host: ScratchHost) =>
        there(host).program('dkms', '[ "$1" != status ] || { echo "Error!  no *" >&2; exit 3; }'),
      after: {
        code: 1,
        stderr: `failed: DKMS has not built NVIDIA driver 580.95.05 for Linux 6.1.0,lab
expected: installed
seen: Error!  no *
next: check the newest /var/lib/dkms/nvidia/*/build/make.log on the host
`,
        calls: before,
        files: { ...installed, [`${own}/fetched/work`]: '700 /' },
      },
    })),
    {
      name: 'confirms the loaded version of two GPUs',
      script: confirm,
      given: (host) => {
        host
          .file('/sys/module/nvidia/version', '580.95.05\n')
          .program('timeout', 'shift; exec "$@"')
          .program('nvidia-smi', 'echo 580.95.05; echo 580.95.05');
      },
      after: { calls: [`timeout 60 ${query}`, query] },
    },
    {
      name: 'fails if nvidia-smi does not work',
      script: confirm,
      given: (host) =>
        host
          .file('/sys/module/nvidia/version', '580.95.05\n')
          .program('nvidia-smi', 'echo "No  devices *" >&2; exit 9'),
      after: {
        code: 1,
        stderr: `failed: nvidia-smi does not work with the installed driver
expected: 580.95.05
seen: No  devices *
next: check journalctl -k on the host
`,
        calls: [query],
      },
    },
    {
      name: 'fails if no module is loaded',
      script: confirm,
      after: {
        code: 1,
        stderr: `failed: the loaded NVIDIA module is not the installed one
expected: 580.95.05
seen: 
next: reboot the host, and run again
`,
      },
    },
    {
      name: 'fails if another version is loaded',
      script: confirm,
      given: (host) => host.file('/sys/module/nvidia/version', '570.86.10\n'),
      after: {
        code: 1,
        stderr: `failed: the loaded NVIDIA module is not the installed one
expected: 580.95.05
seen: 570.86.10
next: reboot the host, and run again
`,
      },
    },
    {
      name: 'removes the driver with its uninstaller',
      script: uninstallScript('echo disabling', true),
      given: (host) =>
        there(host)
          .file('/usr/bin/nvidia-uninstall')
          .file('/etc/systemd/system/nvidia-persistenced.service', 'ours')
          .program('nvidia-uninstall', 'rm /usr/bin/nvidia-uninstall; exit 1'),
      after: {
        stdout: 'disabling\n',
        calls: ['nvidia-uninstall --silent --skip-module-unload', 'systemctl daemon-reload'],
        files: {
          '/usr/bin/nvidia-uninstall': 'gone',
          '/etc/systemd/system/nvidia-persistenced.service': 'gone',
          [own]: 'gone',
          [`${own}/fetched`]: 'gone',
          [file]: 'gone',
        },
      },
    },
    {
      name: 'keeps a unit of the owner, and accepts an uninstaller that fails after its work',
      script: uninstallScript('', false),
      given: (host) =>
        host
          .file(`${own}/installed`, '580.95.05 compute\n')
          .file('/usr/bin/nvidia-uninstall')
          .file('/etc/systemd/system/nvidia-persistenced.service', 'of the owner')
          .program('nvidia-uninstall', 'rm /usr/bin/nvidia-uninstall; exit 1'),
      after: {
        calls: ['nvidia-uninstall --silent --skip-module-unload', 'systemctl daemon-reload'],
        files: { '/usr/bin/nvidia-uninstall': 'gone', [own]: 'gone', [`${own}/installed`]: 'gone' },
      },
    },
    {
      name: 'fails if the uninstaller did not remove the driver',
      script: uninstallScript('', false),
      given: (host) =>
        host
          .file(`${own}/installed`, '580.95.05 compute\n')
          .file('/usr/bin/nvidia-uninstall')
          .program('nvidia-uninstall', 'exit 1'),
      after: {
        code: 1,
        stderr: `failed: nvidia-uninstall did not remove the driver of the .run file
expected: no /usr/bin/nvidia-uninstall
seen: it exists
next: check /var/log/nvidia-uninstall.log on the host
`,
        calls: ['nvidia-uninstall --silent --skip-module-unload'],
      },
    },
  ],
};
