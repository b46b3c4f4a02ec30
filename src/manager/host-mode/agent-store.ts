import { access, mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { FleetError } from '../../shared/base/errors.ts';
import type { AgentRelease } from '../../shared/contract/agent-release.ts';
import type { Archives } from '../machine/archives.ts';
import type { RunCommand } from '../machine/command.ts';

const unpackMs = 10 * 60_000;

/** The agent's program, unpacked once per version; every run on the host gets a copy of its own. */
export class AgentStore {
  readonly #directory: string;
  readonly #archives: Pick<Archives, 'digest' | 'fetch'>;
  readonly #command: RunCommand;
  /** What has been found able to run here. */
  readonly #runs = new Set<string>();
  /** By folder: slots that start together wait for the same one. */
  readonly #underWay = new Map<string, Promise<void>>();

  constructor(directory: string, archives: Pick<Archives, 'digest' | 'fetch'>, command: RunCommand) {
    this.#directory = directory;
    this.#archives = archives;
    this.#command = command;
  }

  /** The folder of the unpacked agent; fetched when it is not there. Throws what the host lacks to run it. */
  async path(wanted: AgentRelease): Promise<string> {
    const release = { ...wanted, sha256: await this.#archives.digest(wanted) };
    const target = join(this.#directory, `${release.version}-${release.sha256.slice(0, 12)}`);
    const known = await access(target).then(
      () => true,
      () => false,
    );
    if (!known) await this.#obtainOnce(release, target);
    if (!this.#runs.has(target)) await requireLibraries(this.#command, target);
    this.#runs.add(target);
    return target;
  }

  #obtainOnce(release: AgentRelease, target: string): Promise<void> {
    const underWay =
      this.#underWay.get(target) ??
      this.#obtain(release, target).finally(() => this.#underWay.delete(target));
    this.#underWay.set(target, underWay);
    return underWay;
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
    next: 'check that the file system of /var/lib/azp-fleet has room, and that tar and gzip are there',
  });
}

const commandMs = 30_000;

/** Parts of the agent that the loader resolves; tracing (lttng) is left out, the agent does without. */
const natives = [
  'libcoreclr.so',
  'libSystem.Native.so',
  'libSystem.IO.Compression.Native.so',
  'libSystem.Security.Cryptography.Native.OpenSsl.so',
];

/** What .NET opens by itself, so that ldd does not show it; as the agent's own config.sh and installer want them. */
const opened: readonly (readonly [name: string, pattern: RegExp])[] = [
  ['libicu', /^\s*libicuuc\.so/m],
  ['libssl (1.1 or 3)', /^\s*libssl\.so\.(?:1\.1|3)\b/m],
];

/** What the host lacks, by the output of `ldd` on the natives and of `ldconfig -p`. Pure. */
function missingLibraries(ldd: string, ldconfig: string): readonly string[] {
  const unresolved = [...ldd.matchAll(/^\s*(\S+) => not found/gm)].map(([, name]) => name ?? '');
  const unopened = opened.filter(([, pattern]) => !pattern.test(ldconfig)).map(([name]) => name);
  return [...new Set([...unresolved, ...unopened])];
}

/** Throws what the host lacks for this unpacked agent: it would end at once, with a message of .NET's. */
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
