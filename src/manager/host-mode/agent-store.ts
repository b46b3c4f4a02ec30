import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { access, mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Fetch } from '../../azure/http/proxy.ts';
import { FleetError } from '../../base/errors.ts';
import type { RunCommand } from '../machine/command.ts';
import { requireLibraries } from './libraries.ts';

const downloadMs = 30 * 60_000;
const unpackMs = 10 * 60_000;

export interface AgentRelease {
  readonly version: string;
  readonly url: string;
  /** Hex; empty: trusted as it comes over https. */
  readonly sha256: string;
}

/** The agent's program, unpacked once per version; every run on the host gets a copy of its own. */
export class AgentStore {
  readonly #directory: string;
  readonly #fetch: Fetch;
  readonly #command: RunCommand;
  /** What has been found able to run here. */
  readonly #runs = new Set<string>();
  /** By folder: slots that start together wait for the same one. */
  readonly #underWay = new Map<string, Promise<void>>();

  constructor(directory: string, fetch: Fetch, command: RunCommand) {
    this.#directory = directory;
    this.#fetch = fetch;
    this.#command = command;
  }

  /** The folder of the unpacked agent; fetched when it is not there. Throws what the host lacks to run it. */
  async path(release: AgentRelease): Promise<string> {
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
    await this.#download(release, archive).catch(async (error: unknown) => {
      await rm(archive, { force: true });
      throw error;
    });
    const { code, output } = await this.#command(
      'tar',
      ['-xzf', archive, '-C', unpacked, '--no-same-owner'],
      unpackMs,
    );
    await rm(archive, { force: true });
    if (code !== 0) throw broken(release, `it cannot be unpacked: ${output.trim()}`);
    await rename(unpacked, target);
  }

  async #download(release: AgentRelease, path: string): Promise<void> {
    const response = await this.#fetch(release.url, {
      method: 'GET',
      headers: {},
      redirect: 'manual',
      signal: AbortSignal.timeout(downloadMs),
    });
    if (response.status !== 200 || response.body === null) throw broken(release, `HTTP ${response.status}`);
    await pipeline(Readable.fromWeb(response.body), createWriteStream(path, { mode: 0o600 }));
    const hash = createHash('sha256');
    await pipeline(createReadStream(path), hash);
    const seen = hash.digest('hex');
    if (release.sha256 !== '' && seen !== release.sha256) throw broken(release, `its sha256 is ${seen}`);
  }
}

function broken(release: AgentRelease, why: string): FleetError {
  return new FleetError({
    code: 'host-mode.no-agent',
    what: `the agent ${release.version} cannot be had from ${release.url}: ${why}`,
    next: 'check agent.version and agent.sha256 in the inventory, and mirrors.agent in a closed network',
  });
}
