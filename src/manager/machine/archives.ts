import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { access, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Fetch } from '../../shared/azure/http/proxy.ts';
import { FleetError } from '../../shared/base/errors.ts';
import type { Logger } from '../../shared/base/log.ts';
import { timestamp, type Clock } from '../../shared/base/clock.ts';
import type { AgentRelease } from '../../shared/contract/agent-release.ts';

const downloadMs = 30 * 60_000;

/** An archive whose digest nobody knew beforehand, as this host saw it first. */
interface FirstSight {
  /** Hex. */
  readonly sha256: string;
  /** ISO 8601 */
  readonly at: string;
}

/** By the archive's name, `vsts-agent-linux-ARCH-VERSION.tar.gz`. */
export type FirstSights = Readonly<Record<string, FirstSight>>;

interface ArchiveTools {
  readonly fetch: Fetch;
  readonly clock: Clock;
  readonly log: Logger;
  /** Folder of what was brought, `SHA256.tar.gz`. */
  readonly brought: string;
  readonly state: {
    readonly value: { readonly archives: FirstSights };
    update(
      change: (state: { readonly archives: FirstSights }) => { readonly archives: FirstSights },
    ): Promise<void>;
  };
}

/**
 * The agent's archives: what each must be, and how it is fetched. One that nobody knows beforehand is trusted as it first
 * comes over https; from then on it has to stay what it was.
 */
export class Archives {
  readonly #tools: ArchiveTools;
  readonly #looks = new Map<string, Promise<string>>();

  constructor(tools: ArchiveTools) {
    this.#tools = tools;
  }

  /** The sha256 (hex) that it must have. Fetches it once where nobody knows. */
  async digest(release: AgentRelease): Promise<string> {
    if (release.sha256 !== '') return release.sha256;
    const name = nameOf(release);
    const known = this.#tools.state.value.archives[name];
    if (known !== undefined) return known.sha256;
    const look = this.#looks.get(name) ?? this.#look(release).finally(() => this.#looks.delete(name));
    this.#looks.set(name, look);
    return look;
  }

  /** Writes it to `path`. Refuses another one than `release` says, by its name. */
  async fetch(release: AgentRelease, path: string): Promise<void> {
    if (await this.#takeBrought(release, path)) return;
    const seen = await this.#stream(release, createWriteStream(path, { mode: 0o600 }));
    if (seen === release.sha256) return;
    const first = this.#tools.state.value.archives[nameOf(release)];
    throw new FleetError({
      code: 'agent.other-archive',
      what: `${nameOf(release)} from ${release.url} is another archive than the one expected: its sha256 is ${seen}`,
      expected:
        first?.sha256 === release.sha256 ? `${release.sha256}, first seen ${first.at}` : release.sha256,
      seen,
      next: 'find out why it has changed; if that is right, put its digest into agent.sha256 of the inventory',
    });
  }

  /** One that was brought is taken, and nobody else is asked; true: it is at `path`. One that is damaged is brought again. */
  async #takeBrought({ version, sha256 }: AgentRelease, path: string): Promise<boolean> {
    const file = join(this.#tools.brought, `${sha256}.tar.gz`);
    const there = await access(file).then(
      () => true,
      () => false,
    );
    if (!there) return false;
    const seen = await copy(createReadStream(file), createWriteStream(path, { mode: 0o600 }));
    if (seen === sha256) return true;
    await rm(file, { force: true });
    throw new FleetError({
      code: 'agent.other-archive',
      what: `the agent ${version} that was brought to this host has been damaged there`,
      expected: sha256,
      seen,
      next: 'bring it again: azp-fleet provision --bundle FILE',
    });
  }

  async #look(release: AgentRelease): Promise<string> {
    const name = nameOf(release);
    if (!release.url.startsWith('https://'))
      throw new FleetError({
        code: 'agent.no-digest',
        what: `nothing says what ${name} must be, and it would come over plain http`,
        expected: 'an https address, or its digest',
        seen: release.url,
        next: 'put the digest into agent.sha256 of the inventory, or use an https mirror',
      });
    const sha256 = await this.#stream(release, undefined);
    const sight = { sha256, at: timestamp(this.#tools.clock) };
    await this.#tools.state.update(({ archives }) => ({ archives: { ...archives, [name]: sight } }));
    const held = 'nobody knew its digest beforehand; from now on it has to be this one';
    this.#tools.log.log('warn', 'the agent archive was seen for the first time', {
      archive: name,
      sha256,
      held,
    });
    return sha256;
  }

  /** Its sha256. */
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
    return copy(Readable.fromWeb(response.body), to);
  }
}

/** The sha256 (hex) of what has passed. */
async function copy(from: Readable, to: NodeJS.WritableStream | undefined): Promise<string> {
  const hash = createHash('sha256');
  const hashed = new Transform({
    transform(chunk: Buffer, _, done) {
      hash.update(chunk);
      done(undefined, to === undefined ? undefined : chunk);
    },
  });
  if (to === undefined) await pipeline(from, hashed.resume());
  else await pipeline(from, hashed, to);
  return hash.digest('hex');
}

/** The last part of its address, which names the version where the vendor has laid it out. */
function nameOf({ url, version }: AgentRelease): string {
  const file = new URL(url).pathname.split('/').at(-1) ?? '';
  return file.includes(version) ? file : `${file} ${version}`;
}

function unavailable(release: AgentRelease, why: string): FleetError {
  return new FleetError({
    code: 'host-mode.no-agent',
    what: `the agent ${release.version} cannot be had from ${release.url}: ${why}`,
    next: 'check agent.version in the inventory, the proxy, and mirrors.agent in a closed network',
  });
}
