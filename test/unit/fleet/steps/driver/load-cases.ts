import { failFunction } from '../../../../../src/shared/base/shell.ts';
import { buildModule } from '../../../../../src/fleet/steps/driver/kernels.ts';
import { blacklistNouveau } from '../../../../../src/fleet/steps/driver/module.ts';
import type { ScriptSuite } from '../../../../support/scratch/case.ts';
import type { ScratchHost } from '../../../../support/scratch/host.ts';
import {
  disabled,
  enable,
  load,
  loaded,
  checkCalls,
  present,
  probe,
  restart,
  script,
  serviceCases,
  version,
} from './services-cases.ts';
import { moduleCases } from './unload-cases.ts';

/** systemd without these units: `is-enabled` exits with 1. */
const absent = `case $1 in cat) echo "No files found" >&2; exit 1 ;; is-enabled) echo "Failed to get unit file state for $2: No such file or directory" >&2; exit 1 ;; esac`;
const modules = '/lib/modules/6.1.0,lab/modules.dep';
const refused = (what: string, seen: string, next: string) => ({
  code: 1,
  stderr: `failed: ${what}\nexpected: a loaded module\nseen: ${seen}\nnext: ${next}\n`,
  calls: [...checkCalls, ...load],
});
const forNext = `${failFunction}\n${buildModule('6.8.0,next')}`;
const modulesOfNext = '/lib/modules/6.8.0,next/modules.dep';
const build = 'dkms autoinstall -k 6.8.0,next';

const rejected = (seen: string) =>
  refused(
    'Secure Boot is on, and the kernel rejects the NVIDIA module',
    seen,
    'disable Secure Boot in the firmware, or enroll the key of DKMS at the console',
  );

function modprobe(host: ScratchHost, body: string): void {
  host.program('modprobe', body);
}

export const loadSuite: ScriptSuite = {
  name: 'loading the NVIDIA module',
  given: (host) => {
    host
      .folder('/sys')
      .program('uname', 'echo 6.1.0,lab')
      .program('dkms', 'echo "dkms builds"')
      .file(modules, 'updates/dkms/nvidia.ko.xz:\n')
      .file(modulesOfNext, 'kernel/nvidiafb.ko:\n')
      .program('modprobe', `mkdir -p /sys/module/nvidia; echo 580.95.05 >${version}; echo "a word" >&2`)
      .program('systemctl', absent);
  },
  cases: [
    ...moduleCases,
    {
      name: 'loads an existing module',
      script,
      after: { calls: [...checkCalls, ...load, ...present], files: loaded },
    },
    {
      name: 'builds a missing module for the running kernel first',
      script,
      given: (host) => host.file(modules, 'kernel/nvidiafb.ko:\n'),
      after: {
        stdout: 'dkms builds\n',
        calls: [...checkCalls, 'uname -r', 'dkms autoinstall -k 6.1.0,lab', probe, ...present],
        files: loaded,
      },
    },
    {
      name: 'reports a failed build',
      script,
      given: (host) => {
        host.file(modules, '').program('dkms', 'echo "make failed" >&2; exit 10');
        modprobe(host, 'echo "not found" >&2; exit 1');
      },
      after: {
        code: 1,
        stdout: 'dkms ended with exit code 10\n',
        stderr: `make failed
failed: no NVIDIA module was built for Linux 6.1.0,lab
expected: a loaded module
seen: not found
next: check the newest /var/lib/dkms/nvidia*/*/build/make.log
`,
        calls: [...checkCalls, 'uname -r', 'dkms autoinstall -k 6.1.0,lab', probe],
      },
    },
    {
      name: 'loads prebuilt modules without DKMS',
      script,
      given: (host) => host.without('dkms'),
      after: { calls: [...checkCalls, 'uname -r', probe, ...present], files: loaded },
    },
    {
      name: 'enables and starts the daemons',
      script,
      given: (host) => host.program('systemctl', `${disabled} esac`),
      after: {
        calls: [...enable, ...load, ...restart],
        files: loaded,
      },
    },
    {
      name: 'reports a daemon that does not start, and continues',
      script,
      given: (host) =>
        host.program('systemctl', `${disabled} restart) [ "$2" != nvidia-persistenced.service ] ;; esac`),
      after: {
        stdout: 'nvidia-persistenced.service does not start\n',
        calls: [...enable, ...load, ...restart],
        files: loaded,
      },
    },
    {
      name: 'reports a key that is not enrolled',
      script,
      given: (host) => modprobe(host, 'echo "ERROR: nvidia: Key was rejected by service" >&2; exit 1'),
      after: rejected('ERROR: nvidia: Key was rejected by service'),
    },
    {
      name: 'reports a missing key',
      script,
      given: (host) => modprobe(host, 'echo "nvidia: Required key not available" >&2; exit 1'),
      after: rejected('nvidia: Required key not available'),
    },
    {
      name: 'fails if modprobe succeeds without a module',
      script,
      given: (host) => modprobe(host, 'echo "an alias of  another module"'),
      after: refused(
        'loading the NVIDIA module failed on Linux 6.1.0,lab',
        'an alias of  another module',
        'check journalctl -k for the reason',
      ),
    },
    {
      name: 'reports a missing module',
      script,
      given: (host) =>
        modprobe(
          host.without('dkms').file(modules, 'kernel/nvidia-drm.ko:\n'),
          'echo "not found" >&2; exit 1',
        ),
      after: refused(
        'no NVIDIA module was built for Linux 6.1.0,lab',
        'not found',
        'check the newest /var/lib/dkms/nvidia*/*/build/make.log',
      ),
    },
    {
      name: 'ignores a failure of modprobe if the module is loaded: nvidia_uvm may be built in',
      script,
      given: (host) => modprobe(host, `mkdir -p /sys/module/nvidia; echo 580.95.05 >${version}; exit 1`),
      after: { calls: [...checkCalls, ...load, ...present], files: loaded },
    },
    ...serviceCases,
    {
      name: 'keeps an existing module for the next kernel',
      script: forNext,
      given: (host) => host.file(modulesOfNext, 'updates/dkms/nvidia-current-open.ko.xz:\n'),
      after: {},
    },
    {
      name: 'builds a module for the next kernel',
      script: forNext,
      given: (host) =>
        host.program('dkms', `echo "dkms builds"; echo updates/dkms/nvidia.ko: >${modulesOfNext}; exit 3`),
      after: {
        stdout: 'dkms builds\n',
        calls: [build],
        files: { [modulesOfNext]: '644 updates/dkms/nvidia.ko:\n' },
      },
    },
    {
      name: 'reports a failed build for the next kernel',
      script: forNext,
      after: {
        code: 1,
        stdout: 'dkms builds\n',
        stderr: `failed: building the NVIDIA module failed for Linux 6.8.0,next, which boots next
expected: a module
seen: none
next: check the newest /var/lib/dkms/nvidia*/*/build/make.log; set a newer driver, or remove that kernel
`,
        calls: [build],
      },
    },
    {
      name: 'reports a missing prebuilt module for the next kernel, without DKMS',
      script: forNext,
      given: (host) => host.without('dkms'),
      after: {
        code: 1,
        stderr: `failed: building the NVIDIA module failed for Linux 6.8.0,next, which boots next
expected: a module
seen: none
next: check the newest /var/lib/dkms/nvidia*/*/build/make.log; set a newer driver, or remove that kernel
`,
      },
    },
    {
      name: 'blocks nouveau, also in the initramfs',
      script: blacklistNouveau('if command -v update-initramfs >/dev/null; then update-initramfs -u; fi'),
      given: (host) =>
        host
          .file('/etc/modprobe.d/azp-fleet-nouveau.conf', 'of an earlier version')
          .program('update-initramfs', ''),
      after: {
        calls: ['update-initramfs -u'],
        files: {
          '/etc/modprobe.d/azp-fleet-nouveau.conf': `644 # Written by azp-fleet: the NVIDIA driver needs the GPUs for itself.
blacklist nouveau
blacklist nova_core
options nouveau modeset=0
`,
        },
      },
    },
  ],
};
