import { clockVariable } from '../../src/shared/base/practice.ts';
import { managerUnit } from '../../src/shared/contract/paths.ts';
import { freeAddress, takeAddress } from './addresses.ts';
import type { HostRelease } from './dressed.ts';
import { docker } from './engine.ts';
import { setBlackHole } from './firewall.ts';
import { gpuFolders, gpusOf, type GpuModel, type LabGpu } from './gpus.ts';
import { hostRunArguments } from './host-options.ts';
import { ensureDropbearImage, ensureHostImage } from './images.ts';
import { type Output, run, type RunOptions, until } from './run.ts';
import { removeSmallDisk, smallDisk, type SmallDisk } from './small-disk.ts';

export const logins = ['root', 'sudo', 'sudo-password'] as const;
export type Login = (typeof logins)[number];

/** The password that sudo wants on hosts with the login `sudo-password`. */
export const sudoPassword = 'practice makes perfect';

export interface HostOptions {
  readonly name: string;
  readonly release?: HostRelease;
  readonly login?: Login;
  readonly gpus?: readonly GpuModel[];
  /** Who answers to SSH; default openssh. Dropbear is bookworm's. */
  readonly server?: 'openssh' | 'dropbear';
  /** Begins with what a host of the same release had when the snapshot was taken. */
  readonly snapshot?: Snapshot;
  /** A disk of so many MiB for Docker and the manager, instead of this machine's. */
  readonly disk?: SmallDisk;
}

/** A host's disk without its identity: an image, and a copy of /var/lib/docker, which no image contains. */
export interface Snapshot {
  readonly image: string;
  readonly docker: string;
}

/** What nvidia-smi does wrong from now on; the number is the GPU's index. `[]`: all is well. */
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

  /** Cuts the power: nothing is asked, nothing answers. */
  async powerOff(): Promise<void> {
    await docker(['kill', this.container]);
  }

  async powerOn(): Promise<void> {
    await docker(['start', this.container]);
    await this.booted();
  }

  /** Powered off from inside it stays so, until `powerOn`; other hosts of the lab come back at once. */
  async staysOff(): Promise<void> {
    await docker(['update', '--restart', 'no', this.container]);
  }

  async isOff(): Promise<boolean> {
    const { stdout } = await docker(['inspect', '--format', '{{.State.Status}}', this.container]);
    return stdout.trim() === 'exited';
  }

  /** A machine that hangs: packets are accepted, nothing ever answers. */
  async freeze(on: boolean): Promise<void> {
    await docker([on ? 'pause' : 'unpause', this.container]);
  }

  /** A cut cable: every packet from and to this host is lost. */
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

/** Starts a host, or finds the one with this name as it was left. */
export async function startHost(place: Place, options: HostOptions): Promise<LabHost> {
  const container = `${place.prefix}-${options.name}`;
  const address = await takeAddress(container);
  const host = new LabHost({ container, address, key: place.key, knownHosts: place.knownHosts }, options);
  const state = await docker(['inspect', '--format', '{{.State.Status}}', container], { allowFailure: true });
  if (state.code !== 0) {
    const { snapshot } = options;
    const image =
      snapshot?.image ??
      (await (options.server === 'dropbear' ? ensureDropbearImage() : ensureHostImage(host.release)));
    const disk = await (options.disk === undefined
      ? restoredDisk(container, snapshot)
      : smallDisk(container, options.disk));
    await docker(
      hostRunArguments({
        host,
        image,
        gpus: gpusOf(options.name, options.gpus ?? ['h200']),
        publicKey: place.publicKey,
        password: sudoPassword,
        disk,
      }),
    );
  } else if (state.stdout.trim() === 'paused') {
    await docker(['unpause', container]);
  } else if (state.stdout.trim() !== 'running') {
    await docker(['start', container]);
  }
  await host.booted();
  return host;
}

export const volumeOf = (container: string): string => `${container}-docker`;

/** Fills a volume for /var/lib/docker from a snapshot; returns the engine's arguments for it. */
async function restoredDisk(container: string, snapshot: Snapshot | undefined): Promise<string[]> {
  if (snapshot === undefined) return [];
  const volume = volumeOf(container);
  const { stdout } = await docker(['volume', 'create', volume]);
  const { stdout: point } = await docker(['volume', 'inspect', '--format', '{{.Mountpoint}}', stdout.trim()]);
  await run('cp', ['-a', `${snapshot.docker}/.`, point.trim()]);
  return ['--volume', `${volume}:/var/lib/docker`];
}
