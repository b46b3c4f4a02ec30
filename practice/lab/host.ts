import { setTimeout as delay } from 'node:timers/promises';
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';

import { clockVariable } from '../../src/shared/base/practice.ts';
import { managerUnit } from '../../src/shared/contract/paths.ts';
import type { HostRelease } from './dressed.ts';
import { docker } from './engine.ts';
import { setBlackHole } from './firewall.ts';
import { type GpuModel, type LabGpu, gpuFolders, gpusOf } from './gpus.ts';
import { ensureDropbearImage, ensureHostImage } from './images.ts';
import { withLock } from './lock.ts';
import { ensurePackages } from './machine.ts';
import { inState, nameServers, network, registry } from './paths.ts';
import { type Output, type RunOptions, run, until } from './run.ts';
import { say } from './say.ts';
import { caCertificate } from './tls.ts';

export const logins = ['root', 'sudo', 'sudo-password'] as const;
export type Login = (typeof logins)[number];

/** The sudo password on hosts with the login `sudo-password`. */
export const sudoPassword = 'practice makes perfect';

export interface HostOptions {
  readonly name: string;
  readonly release?: HostRelease;
  readonly login?: Login;
  readonly gpus?: readonly GpuModel[];
  /** The SSH server; default openssh. Dropbear is bookworm's. */
  readonly server?: 'openssh' | 'dropbear';
  /** Starts from the snapshot of a host with the same release. */
  readonly snapshot?: Snapshot;
  /** A disk of so many MiB for Docker and the manager, instead of this machine's. */
  readonly disk?: SmallDisk;
}

/** A host's disk without its identity: an image, and a copy of /var/lib/docker, which no image contains. */
export interface Snapshot {
  readonly image: string;
  readonly docker: string;
}

/** Faults of nvidia-smi; the number is the GPU's index. `[]`: none. */
export type GpuFault =
  | 'exit9'
  | 'exit18'
  | 'hang'
  | 'nvml-unknown'
  | `${'exit15' | 'missing' | 'ecc' | 'unknown' | 'hot' | 'remap' | 'remap-failure' | 'recovery' | 'recovery-reboot' | 'inforom' | 'width' | 'busy'} ${number}`;

/** One machine of the lab: a container with systemd as process 1, sshd, apt, and GPUs on its PCI bus. */
export class LabHost {
  readonly name: string;
  readonly container: string;
  readonly address: string;
  readonly release: HostRelease;
  readonly login: Login;
  readonly gpus: readonly LabGpu[];
  readonly #key: string;
  readonly #knownHosts: string;

  constructor(
    place: {
      readonly container: string;
      readonly address: string;
      readonly key: string;
      readonly knownHosts: string;
    },
    options: HostOptions,
  ) {
    this.name = options.name;
    this.container = place.container;
    this.address = place.address;
    this.release = options.release ?? 'bookworm';
    this.login = options.login ?? 'root';
    this.gpus = gpusOf(options.name, options.gpus ?? ['h200']);
    this.#key = place.key;
    this.#knownHosts = place.knownHosts;
  }

  get user(): string {
    return this.login === 'root' ? 'root' : 'labadmin';
  }

  /** Runs a shell command as root through the engine, past sshd. */
  exec(command: string, options: RunOptions = {}): Promise<Output> {
    return docker(['exec', '-i', this.container, 'sh', '-c', command], options);
  }

  /** Runs a shell command over SSH as the login user. */
  ssh(command: string, options: RunOptions = {}): Promise<Output> {
    return run('ssh', [...this.sshArguments(), command], options);
  }

  sshArguments(): string[] {
    const settings = [
      'BatchMode=yes',
      'ConnectTimeout=10',
      `UserKnownHostsFile=${this.#knownHosts}`,
      'IdentitiesOnly=yes',
    ];
    return [
      '-F',
      '/dev/null',
      '-i',
      this.#key,
      ...settings.flatMap((each) => ['-o', each]),
      `${this.user}@${this.address}`,
    ];
  }

  bootId(): Promise<string> {
    return this.exec('cat /proc/sys/kernel/random/boot_id').then((output) => output.stdout.trim());
  }

  /** The `ssh_host_*` public keys, as known_hosts lines. */
  async hostKeys(): Promise<string> {
    const { stdout } = await this.exec('cat /etc/ssh/ssh_host_*_key.pub');
    const keys = stdout.trim().split('\n');
    return keys.map((line) => `${this.address} ${line.split(' ').slice(0, 2).join(' ')}\n`).join('');
  }

  /** Resolves when systemd has finished booting and sshd listens. */
  async booted(): Promise<void> {
    await until(`${this.name} to boot`, async () => {
      const { stdout } = await this.exec('systemctl is-system-running; systemctl is-active ssh', {
        allowFailure: true,
      });
      return /^(running|degraded)\nactive/.test(stdout);
    });
  }

  /** Reboots from inside, as `systemctl reboot` does, and waits for the new boot. */
  async reboot(): Promise<void> {
    const before = await this.bootId();
    await this.exec('systemctl reboot', { allowFailure: true });
    await this.rebooted(before);
  }

  async rebooted(before: string): Promise<void> {
    await until(`${this.name} to reboot`, () =>
      this.bootId().then(
        (now) => now !== '' && now !== before,
        () => false,
      ),
    );
    await this.booted();
  }

  /** Cuts the power, without a shutdown. */
  async powerOff(): Promise<void> {
    await docker(['kill', this.container]);
  }

  async powerOn(): Promise<void> {
    await docker(['start', this.container]);
    await this.booted();
  }

  /** Stays off after a power-off from inside, until `powerOn`; other hosts of the lab restart at once. */
  async staysOff(): Promise<void> {
    await docker(['update', '--restart', 'no', this.container]);
  }

  async isOff(): Promise<boolean> {
    const { stdout } = await docker(['inspect', '--format', '{{.State.Status}}', this.container]);
    return stdout.trim() === 'exited';
  }

  /** Makes the machine hang: it accepts packets and never answers. */
  async freeze(on: boolean): Promise<void> {
    await docker([on ? 'pause' : 'unpause', this.container]);
  }

  /** Cuts the cable: every packet from and to this host is lost. */
  async blackHole(on: boolean): Promise<void> {
    await setBlackHole(this.address, on);
  }

  async setGpuFaults(faults: readonly GpuFault[]): Promise<void> {
    await this.exec(`cat > ${gpuFolders.control}/mode`, {
      input: faults.map((fault) => `${fault}\n`).join(''),
    });
  }

  /** How many times as fast the manager's clock runs, from its next start on. */
  async practiseAt(speed: number): Promise<void> {
    const script = `file=/etc/systemd/system/${managerUnit}.d/clock.conf new=$(cat)
[ "$new" = "$(cat "$file" 2>/dev/null)" ] || { printf '%s\\n' "$new" >"$file"; systemctl daemon-reload; }`;
    await this.exec(script, { input: `[Service]\nEnvironment=${clockVariable}=${speed}\n` });
  }

  /** Takes a snapshot; the host is of no use afterwards. `docker` is the folder for the copy of /var/lib/docker. */
  async snapshot(image: string, folder: string): Promise<void> {
    await this.exec(`set -e
systemctl stop docker.socket docker containerd
rm -rf /etc/ssh/ssh_host_* /var/lib/lab-installed /opt/lab/gpus /opt/lab/control /root/.ssh /var/log/journal/*
rm -f /etc/docker/key.json /var/lib/docker/engine-id
: >/etc/machine-id
sync`);
    const mount = '{{range .Mounts}}{{if eq .Destination "/var/lib/docker"}}{{.Source}}{{end}}{{end}}';
    const { stdout } = await docker(['inspect', '--format', mount, this.container]);
    await run('cp', ['-a', stdout.trim(), folder]);
    await docker(['commit', this.container, image]);
  }

  async remove(): Promise<void> {
    await this.blackHole(false);
    await docker(['rm', '-fv', this.container], { allowFailure: true });
    await docker(['volume', 'rm', '-f', volumeOf(this.container)], { allowFailure: true });
    await removeSmallDisk(this.container);
    freeAddress(this.address);
  }
}

export interface Place {
  readonly prefix: string;
  readonly key: string;
  readonly publicKey: string;
  readonly knownHosts: string;
}

/** Starts a host, or finds the existing one with this name. */
export async function startHost(place: Place, options: HostOptions): Promise<LabHost> {
  const container = `${place.prefix}-${options.name}`;
  const address = await takeAddress(container);
  const host = new LabHost({ container, address, key: place.key, knownHosts: place.knownHosts }, options);
  const state = await docker(['inspect', '--format', '{{.State.Status}}', container], { allowFailure: true });
  if (state.code !== 0) {
    if (!(await createHost(host, place, options))) return startHost(place, options);
  } else if (state.stdout.trim() === 'paused') {
    await docker(['unpause', container]);
  } else if (state.stdout.trim() !== 'running') {
    await docker(['start', container]);
  }
  await host.booted();
  return host;
}

/** Returns whether the host was created: the engine may still hold an address after its container was killed. */
async function createHost(host: LabHost, { publicKey }: Place, options: HostOptions): Promise<boolean> {
  const { container } = host;
  const { snapshot, disk, name, gpus = ['h200'] } = options;
  const image =
    snapshot?.image ??
    (await (options.server === 'dropbear' ? ensureDropbearImage() : ensureHostImage(host.release)));
  const created = await docker(
    hostRunArguments({
      host,
      image,
      gpus: gpusOf(name, gpus),
      publicKey,
      password: sudoPassword,
      disk: await (disk === undefined ? restoredDisk(container, snapshot) : smallDisk(container, disk)),
    }),
    { allowFailure: true },
  );
  if (created.code === 0) return true;
  await docker(['rm', '-f', container], { allowFailure: true });
  if (!created.stderr.includes('Address already in use')) throw new Error(`${container}: ${created.stderr}`);
  say(`${container}: the engine still holds ${host.address}: taking another address`);
  keepAddress(host.address);
  return false;
}

const volumeOf = (container: string): string => `${container}-docker`;

/** Fills a volume for /var/lib/docker from a snapshot; returns the engine's arguments for it. */
async function restoredDisk(container: string, snapshot: Snapshot | undefined): Promise<string[]> {
  if (snapshot === undefined) return [];
  const volume = volumeOf(container);
  // A run that was killed may have left one, with its agents' containers.
  await docker(['volume', 'rm', '-f', volume]);
  const { stdout } = await docker(['volume', 'create', volume]);
  const { stdout: point } = await docker(['volume', 'inspect', '--format', '{{.Mountpoint}}', stdout.trim()]);
  await run('cp', ['-a', `${snapshot.docker}/.`, point.trim()]);
  return ['--volume', `${volume}:/var/lib/docker`];
}

/** By name instead of --privileged, which fails where the machine itself lacks a capability. */
const capabilities = (
  'SYS_ADMIN NET_ADMIN SYS_PTRACE SYS_MODULE SYS_RAWIO SYS_NICE SYS_TIME SYS_BOOT SYSLOG NET_RAW MKNOD AUDIT_WRITE ' +
  'AUDIT_CONTROL DAC_READ_SEARCH IPC_LOCK LEASE LINUX_IMMUTABLE SYS_CHROOT SYS_TTY_CONFIG MAC_ADMIN MAC_OVERRIDE ' +
  'BLOCK_SUSPEND WAKE_ALARM'
).split(' ');

const isCgroupV2 = existsSync('/sys/fs/cgroup/cgroup.controllers');

interface HostRun {
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
function hostRunArguments({ host, image, gpus, publicKey, password, disk }: HostRun): string[] {
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

const addresses = inState('addresses');

/** An address that stays with a container over its restarts. */
function takeAddress(container: string): Promise<string> {
  return withLock('addresses', async () => {
    mkdirSync(addresses, { recursive: true });
    const { stdout } = await docker(['ps', '-a', '--format', '{{.Names}}']);
    const existing = new Set(stdout.split('\n'));
    const holders = new Map(
      readdirSync(addresses).map((last) => [last, readFileSync(`${addresses}/${last}`, 'utf8')]),
    );
    const own = [...holders].find(([, holder]) => holder === container)?.[0];
    const isTaken = (last: string): boolean => {
      const holder = holders.get(last);
      return holder !== undefined && (holder === engine || existing.has(holder) || wasJustTaken(last));
    };
    const last = own ?? lasts.find((each) => !isTaken(each));
    if (last === undefined) throw new Error('every address of the lab is in use. Next: remove unused hosts');
    writeFileSync(`${addresses}/${last}`, container);
    return network.address(Number(last));
  });
}

const lasts = Array.from({ length: 230 }, (_, index) => String(index + 10));

/** Between choosing an address and starting, the container of that name does not exist yet. */
function wasJustTaken(last: string): boolean {
  return Date.now() - statSync(`${addresses}/${last}`).mtimeMs < 120_000;
}

const fileOf = (address: string): string => `${addresses}/${address.split('.').at(-1) ?? ''}`;

function freeAddress(address: string): void {
  rmSync(fileOf(address), { force: true });
}

/** Keeps an address from all hosts of this engine. */
function keepAddress(address: string): void {
  writeFileSync(fileOf(address), engine);
}

const engine = 'the engine';

/** Folders on a host's small disk: those of Docker and of the manager. */
const folders = { '/var/lib/docker': 'docker', '/var/lib/azp-fleet': 'azp-fleet' } as const;

const imageOf = (container: string): string => inState('disks', `${container}.img`);
const mountOf = (container: string): string => inState('disks', container);

interface SmallDisk {
  readonly mib: number;
  /** ext4, which cannot limit root alone; on btrfs Docker can limit each container's disk. */
  readonly type: 'ext4' | 'btrfs';
}

const makers = { ext4: ['mkfs.ext4', '-q', '-m', '0'], btrfs: ['mkfs.btrfs', '-q'] } as const;

/**
 * A separate disk of a host, so that a job can fill it without filling this machine. Returns the engine's arguments that
 * mount it below the host's folders.
 */
async function smallDisk(container: string, { mib, type }: SmallDisk): Promise<string[]> {
  const point = mountOf(container);
  if (!existsSync(imageOf(container))) {
    if (type === 'btrfs') await ensurePackages({ 'btrfs-progs': 'mkfs.btrfs' });
    const [maker, ...options] = makers[type];
    mkdirSync(point, { recursive: true });
    await run('truncate', ['-s', `${mib}M`, imageOf(container)]);
    await run(maker, [...options, imageOf(container)]);
  }
  const { code } = await run('mountpoint', ['-q', point], { allowFailure: true });
  if (code !== 0) await run('mount', ['-o', 'loop', imageOf(container), point]);
  if (type === 'btrfs') await keepCounting(point);
  return Object.entries(folders).flatMap(([inside, name]) => {
    mkdirSync(`${point}/${name}`, { recursive: true, mode: 0o710 });
    return ['--volume', `${point}/${name}:${inside}`];
  });
}

/** Turns quota on as Docker would, and keeps it counting. */
async function keepCounting(point: string): Promise<void> {
  await run('btrfs', ['quota', 'enable', point]);
  const { stdout } = await run('findmnt', ['-no', 'UUID', point]);
  countOn(stdout.trim());
}

/**
 * From Linux 6.1 on, removing a subvolume (as Docker does with every container) otherwise ends the counting, and limits are no
 * longer held. Docker turns quota off when it ends and on when it needs it, which takes this back.
 */
function countOn(uuid: string): void {
  const threshold = `/sys/fs/btrfs/${uuid}/qgroups/drop_subtree_threshold`;
  if (existsSync(threshold)) writeFileSync(threshold, '8');
}

/** Keeps the btrfs disks of these hosts counting while their engines restart, until the signal is aborted. */
export async function keepDisksCounting(hosts: readonly LabHost[], signal: AbortSignal): Promise<void> {
  const points = hosts.map(({ container }) => mountOf(container));
  const found = await Promise.all(points.map((point) => run('findmnt', ['-no', 'UUID', point])));
  while (!signal.aborted) {
    for (const { stdout } of found) countOn(stdout.trim());
    await delay(200, undefined, { signal }).catch(() => undefined);
  }
}

/** Unmounting frees the loop device, too. */
async function removeSmallDisk(container: string): Promise<void> {
  if (!existsSync(imageOf(container))) return;
  await run('umount', [mountOf(container)], { allowFailure: true });
  rmSync(mountOf(container), { recursive: true, force: true });
  rmSync(imageOf(container), { force: true });
}

/** Including those of removed hosts. */
export async function removeSmallDisks(prefix: string): Promise<void> {
  const names = existsSync(inState('disks')) ? readdirSync(inState('disks')) : [];
  for (const name of names.filter((each) => each.startsWith(`${prefix}-`) && each.endsWith('.img')))
    await removeSmallDisk(name.slice(0, -'.img'.length));
}

const processes = `${gpuFolders.control}/processes`;
const gpuProcessFolder = '/run/lab-tenants';

export interface GpuProcess {
  readonly pid: number;
  /** Ends it and frees its memory. */
  leave(): Promise<void>;
}

/**
 * Starts a process of another user with memory on a GPU, as nvidia-smi lists it. `name`: what
 * nvidia-smi says that it calls itself.
 */
export async function occupyGpu(
  host: LabHost,
  gpu: number,
  mib: number,
  { login = 'alice', name = 'python3' }: { readonly login?: string; readonly name?: string } = {},
): Promise<GpuProcess> {
  const { stdout } = await host.exec(
    `set -e
id -u ${login} >/dev/null 2>&1 || useradd --create-home ${login}
install -d -m 0777 ${gpuProcessFolder}
printf 'echo $$ >$1\\nwhile :; do sleep 1; done\\n' >${gpuProcessFolder}/train.py
file=$(mktemp -u ${gpuProcessFolder}/XXXXXX)
setsid -f runuser -u ${login} -- sh ${gpuProcessFolder}/train.py "$file" </dev/null >/dev/null 2>&1
until [ -s "$file" ]; do sleep 0.1; done
pid=$(cat "$file")
{ printf '%s' "${gpu} $pid ${mib} "; cat; } >>${processes}
echo "$pid"`,
    { input: `${name}\n` },
  );
  const pid = Number(stdout.trim());
  return {
    pid,
    leave: async () => {
      await host.exec(`kill -KILL ${pid} 2>/dev/null; sed -i '/^[0-9]* ${pid} /d' ${processes}; true`);
    },
  };
}
