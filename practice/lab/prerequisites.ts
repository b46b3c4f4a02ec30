import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';

import { inState, state } from './paths.ts';
import { refusal } from './refusal.ts';
import { type Output, run } from './run.ts';
import { say } from './say.ts';

/** Debian package → a program that it brings, wherever another package may have put it. */
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

/** The packages that the lab installed here, so that cleaning can remove them again. */
const installedByLab = inState('installed-packages');

/** Makes sure of root, Debian and the programs; throws one line that says what is missing and how to get it. */
export async function ensurePrerequisites(): Promise<void> {
  refuseEarly();
  await ensurePackages(needed);
}

/** Throws when this machine cannot have a lab at all; changes nothing. */
export function refuseEarly(): void {
  const reason = refusal({
    isRoot: process.getuid?.() === 0,
    hasApt: existsSync('/usr/bin/apt-get'),
    missing: missingOf(needed),
  });
  if (reason !== undefined) throw new Error(reason);
}

/** The same for other Debian packages: package → a program that it brings. */
export async function ensurePackages(packages: Readonly<Record<string, string>>): Promise<void> {
  const missing = missingOf(packages);
  mkdirSync(state, { recursive: true, mode: 0o755 });
  if (missing.length === 0) return;
  const reason = refusal({
    isRoot: process.getuid?.() === 0,
    hasApt: existsSync('/usr/bin/apt-get'),
    missing,
  });
  if (reason !== undefined) throw new Error(reason);
  say(`installing Debian packages: ${missing.join(' ')}`);
  await install(missing);
}

function missingOf(packages: Readonly<Record<string, string>>): string[] {
  return Object.entries(packages).flatMap(([name, program]) => (isInstalled(program) ? [] : [name]));
}

function isInstalled(program: string): boolean {
  return ['/usr/bin', '/usr/sbin', '/usr/local/bin', '/usr/local/sbin'].some((folder) =>
    existsSync(`${folder}/${program}`),
  );
}

async function install(packages: readonly string[]): Promise<void> {
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
  appendFileSync(installedByLab, added.map((name) => `${name}\n`).join(''));
  await quiet(added);
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

/** The lab runs its own engine and its own registry: the services that the packages bring stay off. */
async function quiet(added: readonly string[]): Promise<void> {
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

/** Removes what `ensurePrerequisites` installed, and only that. */
export async function removeInstalled(): Promise<void> {
  if (!existsSync(installedByLab)) return;
  const names = readFileSync(installedByLab, 'utf8').split('\n').filter(Boolean);
  if (names.length === 0) return;
  say(`removing the Debian packages that the lab installed: ${names.join(' ')}`);
  await aptGet(['-y', '-q', 'purge', ...names]);
}
