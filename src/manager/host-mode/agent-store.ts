import { access, mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { FleetError } from '../../shared/base/errors.ts';
import type { AgentRelease } from '../../shared/contract/agent-release.ts';
import type { Archives } from '../machine/archives.ts';
import type { RunCommand } from '../machine/command.ts';
import { requireLibraries } from './libraries.ts';

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
