import { access, mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { FleetError } from '../../shared/base/errors.ts';
import type { AgentRelease } from '../../shared/contract/agent-release.ts';
import type { Archives } from '../machine/archives.ts';
import type { RunCommand } from '../machine/command.ts';

const unpackMs = 10 * 60_000;

/** The agent's program, unpacked once per version; every run on the host gets its own copy. */
export class AgentStore {
  readonly #directory: string;
  readonly #archives: Pick<Archives, 'digest' | 'fetch'>;
  readonly #command: RunCommand;
  /** Folders of agents whose libraries were checked. */
  readonly #checked = new Set<string>();
  /** By folder: slots that start together wait for the same download. */
  readonly #downloads = new Map<string, Promise<void>>();

  constructor(directory: string, archives: Pick<Archives, 'digest' | 'fetch'>, command: RunCommand) {
    this.#directory = directory;
    this.#archives = archives;
    this.#command = command;
  }

  /** Returns the folder of the unpacked agent; fetches it when it is missing. Throws if the host lacks libraries. */
  async path(desired: AgentRelease): Promise<string> {
    const release = { ...desired, sha256: await this.#archives.digest(desired) };
    const target = join(this.#directory, `${release.version}-${release.sha256.slice(0, 12)}`);
    const known = await access(target).then(
      () => true,
      () => false,
    );
    if (!known) await this.#obtainOnce(release, target);
    if (!this.#checked.has(target)) await requireLibraries(this.#command, target);
    this.#checked.add(target);
    return target;
  }

  #obtainOnce(release: AgentRelease, target: string): Promise<void> {
    const download =
      this.#downloads.get(target) ??
      this.#obtain(release, target).finally(() => this.#downloads.delete(target));
    this.#downloads.set(target, download);
    return download;
  }

  async #obtain(release: AgentRelease, target: string): Promise<void> {
    const archive = `${target}.tar.gz`;
    const unpacked = `${target}.part`;
    await rm(unpacked, { recursive: true, force: true });
    await mkdir(unpacked, { recursive: true, mode: 0o700 });
    try {
      await this.#archives.fetch(release, archive);
      const options = ['-xzf', archive, '-C', unpacked, '--no-same-owner'];
      const { code, output } = await this.#command('tar', options, unpackMs);
      if (code !== 0) throw broken(release, output.trim());
    } finally {
      await rm(archive, { force: true });
    }
    await rename(unpacked, target);
  }
}

function broken({ version, url }: AgentRelease, why: string): FleetError {
  return new FleetError({
    code: 'host-mode.no-agent',
    what: `the agent ${version} from ${url} cannot be unpacked: ${why}`,
    next: 'check the free space of /var/lib/azp-fleet, and that tar and gzip are installed',
  });
}

const commandMs = 30_000;

/** Libraries of the agent that the loader resolves, without tracing (lttng), which is optional. */
const natives = [
  'libcoreclr.so',
  'libSystem.Native.so',
  'libSystem.IO.Compression.Native.so',
  'libSystem.Security.Cryptography.Native.OpenSsl.so',
];

/** Libraries that .NET opens at run time, so that ldd does not list them; from the agent's config.sh and installer. */
const openedAtRunTime: readonly (readonly [name: string, pattern: RegExp])[] = [
  ['libicu', /^\s*libicuuc\.so/m],
  ['libssl (1.1 or 3)', /^\s*libssl\.so\.(?:1\.1|3)\b/m],
];

/** Returns the missing libraries, from the output of `ldd` and of `ldconfig -p`. Pure. */
function missingLibraries(ldd: string, ldconfig: string): readonly string[] {
  const unresolved = [...ldd.matchAll(/^\s*(\S+) => not found/gm)].map(([, name]) => name ?? '');
  const notOpened = openedAtRunTime.filter(([, pattern]) => !pattern.test(ldconfig)).map(([name]) => name);
  return [...new Set([...unresolved, ...notOpened])];
}

/** Throws if the host lacks libraries of this agent, which would exit at once with a message of .NET. */
async function requireLibraries(command: RunCommand, agent: string): Promise<void> {
  const isDotnet = await access(join(agent, 'bin', 'libcoreclr.so')).then(
    () => true,
    () => false,
  );
  if (!isDotnet) return;
  const [ldd, ldconfig] = await Promise.all([
    command(
      'ldd',
      natives.map((name) => join(agent, 'bin', name)),
      commandMs,
    ),
    command('ldconfig', ['-p'], commandMs),
  ]);
  const missing = missingLibraries(ldd.output, ldconfig.output);
  if (missing.length === 0) return;
  throw new FleetError({
    code: 'host-mode.libraries',
    what: `the agent cannot run on this host: ${missing.join(', ')} ${missing.length === 1 ? 'is' : 'are'} missing`,
    next: `run azp-fleet provision, which installs them, or ${join(agent, 'bin', 'installdependencies.sh')} as root on the host`,
  });
}
