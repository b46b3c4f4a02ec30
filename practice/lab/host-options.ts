import { existsSync, readFileSync } from 'node:fs';

import { nameServers, network, registry } from './paths.ts';
import { caCertificate } from './tls.ts';

/** By name instead of --privileged, which fails where the machine itself lacks a capability. */
const capabilities = (
  'SYS_ADMIN NET_ADMIN SYS_PTRACE SYS_MODULE SYS_RAWIO SYS_NICE SYS_TIME SYS_BOOT SYSLOG NET_RAW MKNOD AUDIT_WRITE ' +
  'AUDIT_CONTROL DAC_READ_SEARCH IPC_LOCK LEASE LINUX_IMMUTABLE SYS_CHROOT SYS_TTY_CONFIG MAC_ADMIN MAC_OVERRIDE ' +
  'BLOCK_SUSPEND WAKE_ALARM'
).split(' ');

const isCgroupV2 = existsSync('/sys/fs/cgroup/cgroup.controllers');

export interface HostRun {
  readonly host: {
    readonly container: string;
    readonly name: string;
    readonly login: string;
    readonly address: string;
  };
  readonly image: string;
  readonly gpus: readonly { readonly line: string }[];
  readonly publicKey: string;
  readonly password: string;
  /** Arguments that bring the folders in which Docker keeps what it has; none: a volume. */
  readonly disk: readonly string[];
}

/** The engine's arguments that make a container behave like a machine. */
export function hostRunArguments({ host, image, gpus, publicKey, password, disk }: HostRun): string[] {
  const environment = {
    SYSTEMD_CGROUP_ENABLE_LEGACY_FORCE: isCgroupV2 ? '' : '1',
    LAB_LOGIN: host.login,
    LAB_KEY: publicKey,
    LAB_PASSWORD: password,
    LAB_GPUS: gpus.map((gpu) => gpu.line).join('\n'),
    LAB_DNS: nameServers().join(' '),
    LAB_REGISTRY: registry,
    LAB_CA: readFileSync(caCertificate, 'utf8').trim(),
  };
  const cgroup = isCgroupV2 ? ['--cgroupns=private'] : ['-v', '/sys/fs/cgroup:/sys/fs/cgroup:rw'];
  return [
    ['run', '--detach', '--name', host.container, '--hostname', host.name, '--restart', 'unless-stopped'],
    ['--label', 'azp-fleet-lab.host', '--network', network.name, '--ip', host.address],
    capabilities.flatMap((name) => ['--cap-add', name]),
    [
      '--security-opt',
      'seccomp=unconfined',
      '--security-opt',
      'apparmor=unconfined',
      '--device-cgroup-rule',
      'a *:* rwm',
    ],
    ['--tmpfs', '/run', '--tmpfs', '/run/lock', '--tmpfs', '/tmp', ...cgroup],
    // The engine inside needs a file system that overlayfs can lie on.
    [...(disk.length === 0 ? ['--volume', '/var/lib/docker'] : disk), '--volume', '/var/lib/containerd'],
    Object.entries(environment).flatMap(([name, value]) => ['--env', `${name}=${value}`]),
    [image],
  ].flat();
}
