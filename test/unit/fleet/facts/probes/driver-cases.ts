import { symlinkSync } from 'node:fs';
import type { ScratchHost } from '../../../../support/scratch/host.ts';
import { probe } from './probe-case.ts';
import type { ScriptCase } from '../../../../support/scratch/case.ts';

function pci(
  host: ScratchHost,
  address: string,
  parts: Readonly<Record<string, string>>,
  driver?: string,
): void {
  for (const [name, text] of Object.entries(parts))
    host.file(`/practice/sys/bus/pci/devices/${address}/${name}`, `${text}\n`);
  if (driver !== undefined)
    symlinkSync(`../../drivers/${driver}`, host.at(`/practice/sys/bus/pci/devices/${address}/driver`));
}

/** A card with a driver, and its connectors: name → status. */
function card(
  host: ScratchHost,
  at: number,
  driver: string,
  connectors: Readonly<Record<string, string>>,
): void {
  const folder = `/practice/sys/class/drm/card${at}`;
  host
    .folder(`/practice/sys/bus/pci/drivers/${driver}`)
    .link(`${folder}/device/driver`, `/practice/sys/bus/pci/drivers/${driver}`);
  for (const [name, status] of Object.entries(connectors))
    host.file(`${folder}-${name}/status`, `${status}\n`);
}

export const driverCases: readonly ScriptCase[] = [
  probe('driver', {
    name: 'a desktop and a login screen on nouveau',
    given: (host) => {
      card(host, 0, 'ast', { 'VGA-1': 'connected' });
      card(host, 1, 'nouveau', { 'DP-1': 'disconnected', 'HDMI-A-1': 'connected' });
      card(host, 3, 'nova-drm', { 'DP-3': 'connected' });
      host
        .folder('/practice/sys/module/nouveau', '/practice/sys/class/drm/card9-DP-9')
        .file('/practice/sys/class/drm/card2-DP-2/status', 'connected\n');
      const session = (id: string, text: string) => host.file(`/run/systemd/sessions/${id}`, text);
      session('1', 'USER=ann\nSEAT=seat0\nTYPE=wayland\nCLASS=user\nTTY=tty2\nSTATE=active\n');
      session('2', 'USER=gdm\nSEAT=seat0\nTYPE=x11\nCLASS=greeter\nSTATE=online\n');
      session('3', 'USER=bob\nSEAT=seat0\nTYPE=tty\nCLASS=user\nTTY=tty3\nSTATE=online\n');
      session('4', 'USER=eve\nTYPE=x11\nCLASS=user\nSERVICE=xrdp-sesman\nSTATE=active\n');
      session('5', 'USER=dan\nSEAT=seat0\nTYPE=x11\nCLASS=user\nSTATE=closing\n');
    },
    after: {
      stdout:
        'nouveau\nsecure-boot 0\nscreen HDMI-A-1\nscreen DP-3\nseat seat0 user ann\nseat seat0 greeter gdm\n',
    },
  }),
  probe('driver', {
    name: "services of NVIDIA's vGPU software in a guest and on its host",
    given: (host) =>
      host
        .file('/lib/systemd/system/nvidia-gridd.service')
        .file('/etc/systemd/system/nvidia-gridd.service')
        .file('/etc/systemd/system/nvidia-vgpu-mgr.service'),
    after: { stdout: 'secure-boot 0\nvgpu nvidia-gridd.service\nvgpu nvidia-vgpu-mgr.service\n' },
  }),
  probe('driver', {
    name: "services of NVIDIA's vGPU software from a package",
    given: (host) => host.file('/lib/systemd/system/nvidia-vgpu-mgr.service'),
    after: { stdout: 'secure-boot 0\nvgpu nvidia-vgpu-mgr.service\n' },
  }),
  probe('driver', {
    name: 'a desktop on another card',
    given: (host) => {
      card(host, 0, 'ast', { 'VGA-1': 'connected' });
      card(host, 1, 'nouveau', { 'DP-1': 'disconnected' });
      host.file('/run/systemd/sessions/1', 'USER=ann\nSEAT=seat0\nTYPE=x11\nCLASS=user\nSTATE=active\n');
    },
    run: { env: { screen: 'yes' } },
    after: { stdout: 'secure-boot 0\n' },
  }),
  probe('gpus', {
    name: 'GPUs of both classes, NVSwitches, and no other NVIDIA devices',
    given: (host) => {
      pci(host, '0000:00:1f.0', { vendor: '0x8086', class: '0x030000', device: '0xa1c1' });
      pci(host, '0000:01:00.0', { vendor: '0x10de', class: '0x030000', device: '0x2684' }, 'vfio-pci');
      pci(host, '0000:01:00.1', { vendor: '0x10de', class: '0x040300', device: '0x22ba' });
      host.folder('/practice/sys/bus/pci/drivers/nvidia');
      pci(host, '0000:81:00.0', { vendor: '0x10de', class: '0x030200', device: '0x2335' }, 'nvidia');
      pci(host, '0000:83:00.0', { vendor: '0x10de', class: '0x030200', device: '0x2335' });
      pci(host, '0005:00:00.0', { vendor: '0x10de', class: '0x068000', device: '0x22a3' });
      host
        .folder('/practice/sys/bus/pci/devices/0009:00:00.0')
        .program('readlink', 'exec /bin/readlink "$@"');
    },
    after: {
      calls: ['readlink /practice/sys/bus/pci/devices/0000:01:00.0/driver'],
      stdout:
        'gpu 0000:01:00.0 2684 vfio-pci\ngpu 0000:81:00.0 2335 nvidia\ngpu 0000:83:00.0 2335 \nnvswitch\n',
    },
  }),
  probe('gpus', {
    name: 'an NVLink 5 board, whose switches are InfiniBand devices with SW_MNG',
    given: (host) => {
      const device = (address: string) => `/practice/sys/bus/pci/devices/${address}`;
      pci(host, '0000:1b:00.0', { vendor: '0x10de', class: '0x030200', device: '0x2901' });
      pci(host, '0000:3d:00.0', { vendor: '0x10de', class: '0x030200', device: '0x3182' });
      pci(host, '0000:90:00.0', { vendor: '0x15b3', class: '0x020700', device: '0x1021' });
      pci(host, '0000:91:00.0', { vendor: '0x15b3', class: '0x020700', device: '0x1021' });
      pci(host, '0000:92:00.0', { vendor: '0x8086', class: '0x020000', device: '0x1021' });
      host
        .file(`${device('0000:90:00.0')}/vpd`, 'ConnectX\0SW_MNG\n')
        .file(`${device('0000:91:00.0')}/vpd`, 'ConnectX\n')
        .file(`${device('0000:92:00.0')}/vpd`, 'SW_MNG\n')
        .folder('/practice/sys/module/ib_umad');
    },
    after: { stdout: 'gpu 0000:1b:00.0 2901 \ngpu 0000:3d:00.0 3182 \nnvlink5\numad\n' },
  }),
  probe('gpus', {
    name: 'an NVLink 5 board whose devices have no product data',
    given: (host) => pci(host, '0000:1b:00.0', { vendor: '0x10de', class: '0x030200', device: '0x2901' }),
    after: { stdout: 'gpu 0000:1b:00.0 2901 \n' },
  }),
  probe('gpus', {
    name: 'an NVLink 5 board, in the process that all probes share',
    given: (host) => {
      pci(host, '0000:1b:00.0', { vendor: '0x10de', class: '0x030200', device: '0x3182' });
      pci(host, '0000:90:00.0', { vendor: '0x15b3', class: '0x020700', device: '0x1021' });
      host.file('/practice/sys/bus/pci/devices/0000:90:00.0/vpd', 'SW_MNG\n');
    },
    run: { env: { shared: 'yes' } },
    after: { code: 75, stdout: 'gpu 0000:1b:00.0 3182 \n' },
  }),
  // The script reads several devices in parallel, in no order.
  ...(
    [
      ['times out', 'exit 124'],
      ['cannot be read', 'echo "grep: vpd: Input/output error" >&2; exit 2'],
    ] as const
  ).map(([what, timeout]) =>
    probe('gpus', {
      name: `an NVLink 5 board with a device that ${what}`,
      given: (host) => {
        pci(host, '0000:1b:00.0', { vendor: '0x10de', class: '0x030200', device: '0x2901' });
        pci(host, '0000:90:00.0', { vendor: '0x15b3', class: '0x020700', device: '0x1021' });
        host.file('/practice/sys/bus/pci/devices/0000:90:00.0/vpd', 'ConnectX\n').program('timeout', timeout);
      },
      after: {
        stdout: 'gpu 0000:1b:00.0 2901 \nunread 0000:90:00.0\n',
        calls: ['timeout 10 grep -qa SW_MNG /practice/sys/bus/pci/devices/0000:90:00.0/vpd'],
      },
    }),
  ),
  probe('gpus', {
    name: 'a card of another type with such a device',
    given: (host) => {
      pci(host, '0000:1b:00.0', { vendor: '0x10de', class: '0x030000', device: '0x2b85' });
      pci(host, '0000:90:00.0', { vendor: '0x15b3', class: '0x020700', device: '0x1021' });
      host
        .file('/practice/sys/bus/pci/devices/0000:90:00.0/vpd', 'SW_MNG\n')
        .folder('/practice/sys/module/ib_umad');
    },
    run: { env: { board: 'NVLink5' } },
    after: { stdout: 'gpu 0000:1b:00.0 2b85 \n' },
  }),
  probe('gpus', { name: 'a machine without a PCI bus', after: {} }),
  probe('driver', {
    name: 'nothing, without EFI firmware',
    after: { stdout: 'secure-boot 0\n' },
  }),
  probe('driver', {
    name: 'loaded, with its services, and Secure Boot with an enrolled key',
    given: (host) =>
      host
        .program(
          'mokutil',
          `case $2 in
  /etc/keys/*) echo "$2 is already enrolled" >&2; exit 1 ;;
  *shim*) echo "$2 is already in the enrollment request"; exit 1 ;;
  *) echo "$2 is not enrolled" ;;
esac`,
        )
        .program('systemctl', 'echo "Id=${10}"; echo ActiveState=active')
        .program('nvidia-smi', 'exit 1')
        .file('/practice/sys/module/nvidia/version', '580.95.05\n')
        .file(
          '/practice/proc/driver/nvidia/version',
          'NVRM version: NVIDIA UNIX Open Kernel Module  580.95.05\nGCC\n',
        )
        .folder('/run/systemd/system')
        .file('/practice/sys/firmware/efi/efivars/SecureBoot-8be4', Uint8Array.of(6, 0, 0, 0, 1))
        .file('/var/lib/shim-signed/mok/MOK.der')
        .file('/var/lib/dkms/mok.pub')
        .file('/etc/keys/ours.der')
        .file('/etc/keys/theirs.der')
        .file(
          '/etc/dkms/framework.conf',
          `# mok_certificate=/var/lib/shim-signed/mok/MOK.der\n  mok_certificate="${host.at('/etc/keys/ours.der')}" \nmok_signing_key=/x\n`,
        )
        .file(
          '/etc/dkms/framework.conf.d/site.conf',
          `mok_certificate=${host.at('/etc/keys/theirs.der')}\nmok_certificate=/gone\nmok_certificate=$HOME/x\n`,
        )
        .file('/lib/systemd/system/nvidia-persistenced.service')
        .file('/etc/systemd/system/nvidia-persistenced.service')
        .file('/etc/systemd/system/nvidia-fabricmanager.service'),
    after: {
      stdout: `loaded 580.95.05
nvrm NVRM version: NVIDIA UNIX Open Kernel Module  580.95.05
secure-boot 1
mok configured enrolled /etc/keys/ours.der
mok configured enrolled /etc/keys/theirs.der
mok usual requested /var/lib/shim-signed/mok/MOK.der
mok usual new /var/lib/dkms/mok.pub
Id=nvidia-persistenced.service
ActiveState=active
`,
      calls: [
        'mokutil --test-key /etc/keys/ours.der',
        'mokutil --test-key /etc/keys/theirs.der',
        'mokutil --test-key /var/lib/shim-signed/mok/MOK.der',
        'mokutil --test-key /var/lib/dkms/mok.pub',
        'systemctl show -p Id -p ActiveState -p UnitFileState -p ExecStart nvidia-persistenced.service nvidia-fabricmanager.service',
      ],
    },
  }),
  probe('driver', {
    name: 'a module that is still loaded after the driver was removed',
    given: (host) => host.file('/practice/sys/module/nvidia/version', '580.95.05\n'),
    after: { stdout: 'loaded 580.95.05\ntaken-away\nsecure-boot 0\n' },
  }),
  ...(
    [
      [
        'that only its own modules hold',
        { nvidia: ['2', 'nvidia_uvm', 'nvidia_modeset'], nvidia_modeset: ['2', 'nvidia_drm', 'nvidia'] },
        '',
      ],
      ['that a program uses', { nvidia: ['2', 'nvidia_uvm'], nvidia_uvm: ['2'] }, 'in-use\nin-use\n'],
      ['that another module uses', { nvidia: ['1', 'gdrdrv'] }, 'in-use\n'],
    ] as const
  ).map(([name, modules, said]) =>
    probe('driver', {
      name: `such a module ${name}`,
      given: (host) => {
        host.file('/practice/sys/module/nvidia/version', '580.95.05\n');
        for (const [module, [users, ...holders]] of Object.entries(modules)) {
          host.file(`/practice/sys/module/${module}/refcnt`, `${users}\n`);
          for (const holder of holders) host.folder(`/practice/sys/module/${module}/holders/${holder}`);
        }
      },
      after: { stdout: `loaded 580.95.05\ntaken-away\n${said}secure-boot 0\n` },
    }),
  ),
  probe('driver', {
    name: 'another loaded driver, Secure Boot off, no systemd',
    given: (host) =>
      host
        .folder('/practice/sys/module/nouveau')
        .file('/usr/bin/nvidia-uninstall')
        .file('/practice/sys/firmware/efi/efivars/SecureBoot-8be4', Uint8Array.of(6, 0, 0, 0, 0))
        .file('/var/lib/dkms/mok.pub')
        .file('/lib/systemd/system/nvidia-persistenced.service'),
    after: { stdout: 'nouveau\nrunfile\nsecure-boot 0\n' },
  }),
  probe('driver', {
    name: 'an installed .run driver that is registered with DKMS',
    given: (host) =>
      host
        .program('nvidia-smi', '')
        .file('/usr/bin/nvidia-uninstall')
        .file(
          '/var/lib/nvidia/log',
          '1.0-5809505 (580.95.05)\nNVIDIA Accelerated Graphics Driver\n0: /a (1.2)\n',
        )
        .folder('/var/lib/dkms/nvidia/580.95.05/source'),
    after: { stdout: 'runfile\nrunfile-version 580.95.05\ndkms registered\nsecure-boot 0\n' },
  }),
  probe('driver', {
    name: 'an installed .run driver without DKMS',
    given: (host) =>
      host
        .program('nvidia-smi', '')
        .file('/usr/bin/nvidia-uninstall')
        .file('/var/lib/nvidia/log', '1.0-5809505 (580.95.05)\n')
        .file('/usr/src/nvidia-580.95.05/dkms.conf'),
    after: { stdout: 'runfile\nrunfile-version 580.95.05\ndkms sources\nsecure-boot 0\n' },
  }),
  probe('driver', {
    name: 'an installed .run driver whose version is unknown',
    given: (host) =>
      host
        .program('nvidia-smi', '')
        .file('/usr/bin/nvidia-uninstall')
        .file('/var/lib/nvidia/log', 'NVIDIA Accelerated Graphics Driver\n1.0-5809505 (580.95.05)\n')
        .folder('/var/lib/dkms/nvidia/source')
        .file('/usr/src/nvidia-/dkms.conf'),
    after: { stdout: 'runfile\nsecure-boot 0\n' },
  }),
  probe('driver', {
    name: 'our interrupted installation of a .run file',
    given: (host) =>
      host
        .program('nvidia-smi', '')
        .file('/usr/bin/nvidia-uninstall')
        .file('/var/lib/nvidia/log', '1.0-5809505 (580.95.05)\n')
        .folder('/var/lib/azp-fleet/runfile/fetched/work'),
    after: { stdout: 'runfile\nsecure-boot 0\n' },
  }),
  probe('driver', {
    name: 'a .run driver, partly removed by another user',
    given: (host) =>
      host.file('/usr/bin/nvidia-uninstall').file('/var/lib/nvidia/log', '1.0-5809505 (580.95.05)\n'),
    after: { stdout: 'runfile\nsecure-boot 0\n' },
  }),
  probe('driver', {
    name: 'one service',
    given: (host) =>
      host
        .program('systemctl', '')
        .folder('/run/systemd/system')
        .file('/lib/systemd/system/nvidia-persistenced.service'),
    after: {
      stdout: 'secure-boot 0\n',
      calls: [
        'systemctl show -p Id -p ActiveState -p UnitFileState -p ExecStart nvidia-persistenced.service',
      ],
    },
  }),
  probe('driver', {
    name: 'services that systemd does not show',
    given: (host) =>
      host
        .program('systemctl', 'echo "no bus" >&2; exit 1')
        .folder('/run/systemd/system')
        .file('/lib/systemd/system/nvidia-persistenced.service'),
    after: {
      code: 1,
      stdout: 'secure-boot 0\n',
      stderr: 'no bus\n',
      calls: [
        'systemctl show -p Id -p ActiveState -p UnitFileState -p ExecStart nvidia-persistenced.service',
      ],
    },
  }),
  probe('driver', {
    name: 'Secure Boot on, without information about keys',
    given: (host) =>
      host
        .file('/practice/sys/firmware/efi/efivars/SecureBoot-8be4', Uint8Array.of(6, 0, 0, 0, 1))
        .file('/var/lib/dkms/mok.pub'),
    after: { stdout: 'secure-boot 1\nmok usual unknown /var/lib/dkms/mok.pub\n' },
  }),
  ...(
    [
      // Older versions of mokutil exit with 1 for a known key, newer ones with 0.
      ['echo "$2 is already in db"', 'firmware'],
      ['echo "$2 is already in db"; exit 1', 'firmware'],
      ['echo "$2 is blocked in dbx"', 'blocked'],
      ['echo "$2 is blocked in MokListX"', 'blocked'],
      ['echo "EFI variables are not supported on this system" >&2; exit 1', 'unclear'],
      ['', 'unclear'],
    ] as const
  ).map(([says, state]) =>
    probe('driver', {
      name: `Secure Boot on, and mokutil that runs: ${says}`,
      given: (host) =>
        host
          .program('mokutil', says)
          .file('/practice/sys/firmware/efi/efivars/SecureBoot-8be4', Uint8Array.of(6, 0, 0, 0, 1))
          .file('/var/lib/dkms/mok.pub'),
      after: {
        stdout: `secure-boot 1\nmok usual ${state} /var/lib/dkms/mok.pub\n`,
        calls: ['mokutil --test-key /var/lib/dkms/mok.pub'],
      },
    }),
  ),
  probe('driver', {
    name: 'nova loaded, Secure Boot on without keys',
    given: (host) =>
      host
        .program('mokutil', 'echo already enrolled')
        .folder('/practice/sys/module/nova_core')
        .folder('/run/systemd/system')
        .file('/practice/sys/firmware/efi/efivars/SecureBoot-8be4', Uint8Array.of(6, 0, 0, 0, 1)),
    after: { stdout: 'nouveau\nsecure-boot 1\n' },
  }),
];
