import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { access, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Fetch } from '../../shared/azure/http/proxy.ts';
import { FleetError } from '../../shared/base/errors.ts';
import type { Logger } from '../../shared/base/log.ts';
import { isObject } from '../../shared/base/objects.ts';
import { readerBounds } from '../../shared/base/reader-bounds.ts';
import { timestamp, type Clock } from '../../shared/base/clock.ts';
import type { AgentRelease } from '../../shared/contract/agent-release.ts';

const downloadMs = 30 * 60_000;

/** The digest of an archive at its first download, for an archive without a known digest. */
interface FirstDownload {
  /** Hex. */
  readonly sha256: string;
  /** ISO 8601 */
  readonly at: string;
}

/** By the archive's name, `vsts-agent-linux-ARCH-VERSION.tar.gz`. */
export type FirstDownloads = Readonly<Record<string, FirstDownload>>;

export function isFirstDownload(found: unknown): found is FirstDownload {
  return isObject(found) && typeof found['sha256'] === 'string' && typeof found['at'] === 'string';
}

interface ArchiveTools {
  readonly fetch: Fetch;
  readonly clock: Clock;
  readonly log: Logger;
  /** Folder of uploaded archives: `SHA256.tar.gz`. */
  readonly uploads: string;
  readonly state: {
    readonly value: { readonly archives: FirstDownloads };
    update(
      change: (state: { readonly archives: FirstDownloads }) => { readonly archives: FirstDownloads },
    ): Promise<void>;
  };
}

/**
 * Fetches and verifies the agent's archives. One without a known digest is trusted at its first download over https; from
 * then on it must not change.
 */
export class Archives {
  readonly #tools: ArchiveTools;
  readonly #firstDigests = new Map<string, Promise<string>>();

  constructor(tools: ArchiveTools) {
    this.#tools = tools;
  }

  /** Returns the sha256 (hex) that an archive must have; downloads it once if none is known. */
  async digest(release: AgentRelease): Promise<string> {
    if (release.sha256 !== '') return release.sha256;
    const name = nameOf(release);
    const known = this.#tools.state.value.archives[name];
    if (known !== undefined) return known.sha256;
    const digest =
      this.#firstDigests.get(name) ??
      this.#firstDigest(release).finally(() => this.#firstDigests.delete(name));
    this.#firstDigests.set(name, digest);
    return digest;
  }

  /** Writes the archive to `path`; throws if its digest differs from that of `release`. */
  async fetch(release: AgentRelease, path: string): Promise<void> {
    if (await this.#copyUploaded(release, path)) return;
    const seen = await this.#stream(release, createWriteStream(path, { mode: 0o600 }));
    if (seen === release.sha256) return;
    const first = this.#tools.state.value.archives[nameOf(release)];
    throw new FleetError({
      code: 'agent.other-archive',
      what: `${nameOf(release)} from ${release.url} has another sha256 than expected: ${seen}`,
      expected:
        first?.sha256 === release.sha256 ? `${release.sha256}, first seen ${first.at}` : release.sha256,
      seen,
      next: 'check why it changed; if it is correct, set agent.sha256 in the inventory',
    });
  }

  /** Copies an uploaded archive to `path`; returns whether there is one. Removes a damaged one. */
  async #copyUploaded({ version, sha256 }: AgentRelease, path: string): Promise<boolean> {
    const file = join(this.#tools.uploads, `${sha256}.tar.gz`);
    const exists = await access(file).then(
      () => true,
      () => false,
    );
    if (!exists) return false;
    const seen = await copy(createReadStream(file), createWriteStream(path, { mode: 0o600 }));
    if (seen === sha256) return true;
    await rm(file, { force: true });
    throw new FleetError({
      code: 'agent.other-archive',
      what: `the uploaded archive of agent ${version} is damaged`,
      expected: sha256,
      seen,
      next: 'upload it again: azp-fleet provision --bundle FILE',
    });
  }

  async #firstDigest(release: AgentRelease): Promise<string> {
    const name = nameOf(release);
    if (!release.url.startsWith('https://'))
      throw new FleetError({
        code: 'agent.no-digest',
        what: `no digest of ${name} is known, and its address uses plain http`,
        expected: 'an https address, or its digest',
        seen: release.url,
        next: 'set agent.sha256 in the inventory, or use an https mirror',
      });
    const sha256 = await this.#stream(release, undefined);
    const first = { sha256, at: timestamp(this.#tools.clock) };
    await this.#tools.state.update(({ archives }) => ({ archives: { ...archives, [name]: first } }));
    const held = 'no digest was known; later downloads must have this one';
    this.#tools.log.log('warn', 'first download of an agent archive', {
      archive: name,
      sha256,
      held,
    });
    return sha256;
  }

  /** Downloads an archive; returns its sha256. */
  async #stream(release: AgentRelease, to: NodeJS.WritableStream | undefined): Promise<string> {
    const response = await this.#tools
      .fetch(release.url, {
        method: 'GET',
        headers: {},
        redirect: 'manual',
        signal: AbortSignal.timeout(downloadMs),
      })
      .catch((error: unknown) => {
        throw unavailable(release, error instanceof Error ? error.message : String(error));
      });
    if (response.status !== 200 || response.body === null)
      throw unavailable(release, `HTTP ${response.status}`);
    return copy(Readable.fromWeb(response.body), to).catch((error: unknown) => {
      throw unavailable(release, error instanceof Error ? error.message : String(error));
    });
  }
}

/** Copies a stream of at most `most` bytes; returns its sha256 (hex). */
export async function copy(
  from: Readable,
  to: NodeJS.WritableStream | undefined,
  most: number = readerBounds.agentArchive.bytes,
): Promise<string> {
  const hash = createHash('sha256');
  let bytes = 0;
  const hashed = new Transform({
    transform(chunk: Buffer, _, done) {
      bytes += chunk.length;
      if (bytes > most) {
        done(new Error(`it has more than ${most / 1024 ** 2} MiB`));
        return;
      }
      hash.update(chunk);
      done(undefined, to === undefined ? undefined : chunk);
    },
  });
  if (to === undefined) await pipeline(from, hashed.resume());
  else await pipeline(from, hashed, to);
  return hash.digest('hex');
}

/** Returns the file name in the archive's address, with the version if the name has none. */
function nameOf({ url, version }: AgentRelease): string {
  const file = new URL(url).pathname.split('/').at(-1) ?? '';
  return file.includes(version) ? file : `${file} ${version}`;
}

function unavailable(release: AgentRelease, why: string): FleetError {
  return new FleetError({
    code: 'host-mode.no-agent',
    what: `the agent ${release.version} cannot be downloaded from ${release.url}: ${why}`,
    next: 'check agent.version in the inventory, the proxy, and mirrors.agent in a closed network',
  });
}
