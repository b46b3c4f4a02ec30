import type { ScriptCase } from '../../../../support/scratch/case.ts';
import { probe } from './probe-case.ts';

const dep = (release: string) => `/lib/modules/${release}/modules.dep`;
const mainline = 'Linux version 6.1 (x@y) (gcc (Ubuntu 11.4.0) 11.4.0, GNU ld) #1 SMP\n';

export const kernelCases: readonly ScriptCase[] = [
  probe('kernels', {
    name: 'one kernel without build tools',
    given: (host) => host.file('/proc/sys/kernel/osrelease', '6.1.0,lab\n').file('/proc/version', mainline),
    run: { env: { compiler: 'cc' } },
    after: {
      stdout: 'kernel 6.1.0,lab no-headers no-driver\nlacks gcc\nlacks make\n',
    },
  }),
  probe('kernels', {
    name: 'kernels with headers, with a module, without either, and other files',
    given: (host) =>
      host
        .file('/proc/sys/kernel/osrelease', '6.1.0,lab\n')
        .program('gcc', '')
        .program('make', '')
        .file('/proc/version', 'Linux version 6.8 (x@y) (x86_64-linux-gnu-gcc-12 (Ubuntu 12.3) 12.3) #1\n')
        .file('/boot/vmlinuz-6.1.0,lab')
        .file('/boot/vmlinuz-6.8.0-45-generic')
        .file('/boot/vmlinuz-6.8.0-50-generic')
        .file('/boot/vmlinuz-6.9.0-gone')
        .file('/boot/vmlinuz-0-rescue')
        .folder('/lib/modules/6.1.0,lab/build', '/lib/modules/6.9.0-gone')
        .link('/lib/modules/6.8.0-45-generic/build', '/usr/src/gone')
        .file(
          dep('6.1.0,lab'),
          'kernel/drivers/video/fbdev/nvidia/nvidiafb.ko.xz:\nupdates/dkms/nvidia.ko.zst: a\n',
        )
        .file(
          dep('6.8.0-45-generic'),
          'kernel/a.ko: kernel/nvidia.ko:\nkernel/xnvidia.ko:\nkernel/nvidia-drm.ko:\n',
        )
        .file(dep('6.8.0-50-generic'), 'kernel/nvidia-580srv-open/nvidia.ko: kernel/drm.ko\n'),
    after: {
      stdout: `kernel 6.1.0,lab headers driver
kernel 6.8.0-45-generic no-headers no-driver
kernel 6.8.0-50-generic no-headers driver
lacks gcc-12
`,
    },
  }),
  probe('kernels', {
    name: 'a kernel whose compiler version is missing',
    given: (host) =>
      host
        .file('/proc/sys/kernel/osrelease', '6.1.0,lab\n')
        .program('gcc', '')
        .program('make', '')
        .file('/proc/version', 'Linux version 6.8 (x@y) (gcc-13 (Ubuntu 13.2.0) 13.2.0) #1\n'),
    after: { stdout: 'kernel 6.1.0,lab no-headers no-driver\nlacks gcc-13\n' },
  }),
  probe('kernels', {
    name: 'an unknown kernel',
    after: { code: 2, stderr: 'script: cannot open /proc/sys/kernel/osrelease: No such file\n' },
  }),
  probe('kernels', {
    name: 'a kernel whose compiler version is installed',
    given: (host) =>
      host
        .file('/proc/sys/kernel/osrelease', '6.1.0,lab\n')
        .program('gcc', '')
        .program('gcc-13', '')
        .program('make', '')
        .file('/proc/version', 'Linux version 6.8 (x@y) (gcc-13 (Ubuntu 13.2.0) 13.2.0) #1\n')
        .file(dep('6.1.0,lab'), 'nvidia.ko:\n'),
    after: { stdout: 'kernel 6.1.0,lab no-headers driver\n' },
  }),
  ...(
    [
      ['updates/dkms/nvidia-current-open.ko.xz', 'driver'],
      ['updates/dkms/nvidia-current.ko', 'driver'],
      ['updates/dkms/nvidia-tesla-535.ko', 'driver'],
      ['updates/dkms/nvidia-current-open-drm.ko', 'no-driver'],
      ['updates/dkms/nvidia-peermem.ko', 'no-driver'],
    ] as const
  ).map(([module, expected]) =>
    probe('kernels', {
      name: `a kernel with ${module}, as Debian's DKMS names it`,
      given: (host) =>
        host
          .file('/proc/sys/kernel/osrelease', '6.1.0,lab\n')
          .program('gcc', '')
          .program('make', '')
          .file('/proc/version', mainline)
          .file(dep('6.1.0,lab'), `${module}: kernel/drm.ko\n`),
      after: { stdout: `kernel 6.1.0,lab no-headers ${expected}\n` },
    }),
  ),
];
