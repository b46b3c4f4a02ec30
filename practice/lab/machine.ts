import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

import { digest } from './digest.ts';
import { withLock } from './lock.ts';
import { sharedByLabs, state } from './paths.ts';
import { type Output, run } from './run.ts';
import { say } from './say.ts';

/** Debian package → a program in it, wherever another package may have put that program. */
const needed = {
  'docker.io': 'dockerd',
  containerd: 'containerd',
  runc: 'runc',
  iptables: 'iptables',
  iproute2: 'ip',
  mmdebstrap: 'mmdebstrap',
  'docker-registry': 'docker-registry',
  'apt-utils': 'apt-ftparchive',
  gnupg: 'gpg',
  openssl: 'openssl',
  'openssh-client': 'ssh',
};

/** Settings of the kernel, and the value that a lab needs. */
const settings = {
  '/proc/sys/net/ipv4/ip_forward': 1,
  // Each systemd takes about ten instances; a dozen hosts use up the kernel's 128, and the next host does not boot.
  '/proc/sys/fs/inotify/max_user_instances': 2048,
} as const;

/** Conditions for a lab on this machine. */
export interface Machine {
  readonly isRoot: boolean;
  readonly hasApt: boolean;
  /** Debian packages that the lab needs and that are not installed. */
  readonly missing: readonly string[];
  /** Of `overlayfs` and `a PCI bus`. */
  readonly kernelLacks: readonly string[];
}

/** Returns one line that names what is missing and how to get it; undefined where a lab can start. */
export function refusal({ isRoot, hasApt, missing, kernelLacks }: Machine): string | undefined {
  if (!isRoot)
    return 'The lab starts real machines and needs root. Next: run it as root, for example with sudo -E.';
  if (kernelLacks.length > 0)
    return `The kernel lacks ${kernelLacks.join(' and ')}, which the GPUs of the lab's hosts need. Next: use a machine that has it.`;
  if (missing.length === 0 || hasApt) return undefined;
  return `The lab needs ${missing.join(', ')} and can install them on Debian only. Next: install them, or use Debian 12.`;
}

/** Throws when this machine cannot have a lab; changes nothing. */
export function refuseEarly(): void {
  refuse(missingOf(needed), [
    ...(hasOverlay() ? [] : ['overlayfs']),
    ...(existsSync('/sys/bus/pci/devices') ? [] : ['a PCI bus']),
  ]);
}

function refuse(missing: readonly string[], kernelLacks: readonly string[] = []): void {
  const isRoot = process.getuid?.() === 0;
  const reason = refusal({ isRoot, hasApt: existsSync('/usr/bin/apt-get'), missing, kernelLacks });
  if (reason !== undefined) throw new Error(reason);
}

/** Overlayfs may be a module that the engine loads when it needs it. */
function hasOverlay(): boolean {
  if (readFileSync('/proc/filesystems', 'utf8').includes('\toverlay\n')) return true;
  const release = readFileSync('/proc/sys/kernel/osrelease', 'utf8').trim();
  const modules = join('/lib/modules', release, 'modules.dep');
  return existsSync(modules) && readFileSync(modules, 'utf8').includes('/overlay.ko');
}

/** Installs the packages that the lab needs and raises kernel settings; `leaveMachine` undoes both. */
export async function prepareMachine(): Promise<void> {
  refuseEarly();
  mkdirSync(state, { recursive: true, mode: 0o755 });
  await withSharedLock('machine', () => {
    const shared = new SharedByLabs(sharedByLabs, state);
    shared.join();
    shared.raise(settings);
    return Promise.resolve();
  });
  await ensurePackages(needed);
}

/** Installs other Debian packages: package → a program in it. */
export async function ensurePackages(packages: Readonly<Record<string, string>>): Promise<void> {
  if (missingOf(packages).length === 0) return;
  refuse(missingOf(packages));
  mkdirSync(state, { recursive: true, mode: 0o755 });
  await withSharedLock('machine', async () => {
    const missing = missingOf(packages);
    if (missing.length === 0) return;
    const shared = new SharedByLabs(sharedByLabs, state);
    shared.join();
    say(`installing Debian packages: ${missing.join(' ')}`);
    shared.noteInstalled(await install(missing));
  });
}

/** Removes what labs have installed and raised on this machine, unless another lab still uses it. */
export async function leaveMachine(): Promise<void> {
  await withSharedLock('machine', async () => {
    const shared = new SharedByLabs(sharedByLabs, state);
    const others = shared.leave();
    if (others.length > 0) {
      say(`keeping the Debian packages and kernel settings for the lab in ${others.join(', ')}`);
      return;
    }
    shared.restore();
    const names = shared.installed();
    if (names.length === 0) return;
    say(`removing the Debian packages that the lab installed: ${names.join(' ')}`);
    await aptGet(['-y', '-q', 'purge', ...names]);
  });
  if (existsSync(sharedByLabs) && new SharedByLabs(sharedByLabs, state).others().length === 0)
    rmSync(sharedByLabs, { recursive: true, force: true });
}

/** Runs `work` while no lab of this machine, of this checkout or another one, runs work under the same name. */
export function withSharedLock<T>(name: string, work: () => Promise<T>): Promise<T> {
  return withLock(name, work, join(sharedByLabs, 'locks'));
}

/** The labs of one machine, each in its own folder, and the settings that the first one found and the last one restores. */
export class SharedByLabs {
  readonly #folder: string;
  readonly #lab: string;

  constructor(folder: string, lab: string) {
    this.#folder = folder;
    this.#lab = lab;
  }

  get #labs(): string {
    return join(this.#folder, 'labs');
  }

  join(): void {
    mkdirSync(this.#labs, { recursive: true });
    writeFileSync(join(this.#labs, digest(this.#lab)), this.#lab);
  }

  /** Returns the folders of the labs that stay. */
  leave(): readonly string[] {
    rmSync(join(this.#labs, digest(this.#lab)), { force: true });
    return this.others();
  }

  /** Returns the folders of other labs; a lab whose folder was removed by hand does not count. */
  others(): readonly string[] {
    if (!existsSync(this.#labs)) return [];
    return readdirSync(this.#labs)
      .map((name) => readFileSync(join(this.#labs, name), 'utf8'))
      .filter((lab) => lab !== this.#lab && existsSync(lab));
  }

  noteInstalled(names: readonly string[]): void {
    appendFileSync(join(this.#folder, 'packages'), names.map((name) => `${name}\n`).join(''));
  }

  installed(): readonly string[] {
    const file = join(this.#folder, 'packages');
    return existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : [];
  }

  /** Raises settings of the kernel that are lower, and keeps the values that the first lab found. */
  raise(values: Readonly<Record<string, number>>): void {
    mkdirSync(this.#folder, { recursive: true });
    const before = this.#settings();
    for (const [file, value] of Object.entries(values)) {
      const now = Number(readFileSync(file, 'utf8'));
      if (now >= value) continue;
      before[file] ??= now;
      writeFileSync(join(this.#folder, 'settings.json'), JSON.stringify(before));
      writeFileSync(file, String(value));
    }
  }

  restore(): void {
    for (const [file, value] of Object.entries(this.#settings())) writeFileSync(file, String(value));
  }

  #settings(): Record<string, number> {
    const file = join(this.#folder, 'settings.json');
    return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Record<string, number>) : {};
  }
}

function missingOf(packages: Readonly<Record<string, string>>): string[] {
  return Object.entries(packages).flatMap(([name, program]) => (isInstalled(program) ? [] : [name]));
}

function isInstalled(program: string): boolean {
  return ['/usr/bin', '/usr/sbin', '/usr/local/bin', '/usr/local/sbin'].some((folder) =>
    existsSync(`${folder}/${program}`),
  );
}

/** Returns the packages that were installed, dependencies among them. */
async function install(packages: readonly string[]): Promise<readonly string[]> {
  const names = packages.join(' ');
  const arguments_ = ['-y', '-q', '--no-install-recommends', 'install', ...packages];
  // A machine's package lists may be missing, or name files that the archive no longer has.
  const plan = await orAfterUpdate(['-s', ...arguments_]);
  const lost = [...plan.stdout.matchAll(/^Remv (\S+)/gm)].map((match) => match[1] ?? '');
  if (lost.length > 0) {
    throw new Error(
      `The lab needs ${names}, which would remove ${lost.join(' ')}. Next: use a machine without them.`,
    );
  }
  const done = await orAfterUpdate(arguments_);
  if (plan.code !== 0 || done.code !== 0) {
    const reason = done.stderr.trim().split('\n').at(-1) ?? '';
    throw new Error(`The lab needs ${names}: ${reason}. Next: apt-get update && apt-get install ${names}`);
  }
  const added = [...plan.stdout.matchAll(/^Inst (\S+) (?!\[)/gm)].map((match) => match[1] ?? '');
  await stopServices(added);
  return added;
}

async function orAfterUpdate(args: readonly string[]): Promise<Output> {
  const first = await aptGet(args);
  if (first.code === 0) return first;
  await aptGet(['-q', 'update']);
  return aptGet(args);
}

function aptGet(args: readonly string[]): Promise<Output> {
  const env = { DEBIAN_FRONTEND: 'noninteractive', NEEDRESTART_SUSPEND: '1' };
  return run('apt-get', ['-o', 'DPkg::Lock::Timeout=300', ...args], { env, allowFailure: true });
}

/** The lab runs its own engine and its own registry: the services of the packages stay off. */
async function stopServices(added: readonly string[]): Promise<void> {
  if (!existsSync('/run/systemd/system')) return;
  const units = {
    'docker.io': ['docker.service', 'docker.socket'],
    containerd: ['containerd.service'],
    'docker-registry': ['docker-registry.service'],
    'openssh-server': ['ssh.service', 'ssh.socket'],
  };
  for (const [name, services] of Object.entries(units)) {
    if (added.includes(name))
      await run('systemctl', ['disable', '--now', ...services], { allowFailure: true });
  }
}
