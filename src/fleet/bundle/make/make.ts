import { createReadStream } from 'node:fs';
import { Readable } from 'node:stream';

import { FleetError } from '../../../shared/base/errors.ts';
import { version } from '../../../shared/base/version.ts';
import type { AgentRelease } from '../../../shared/contract/agent-release.ts';
import { type FetchOptions, fetchRuntime, nodeVersion } from '../../artifacts/node-runtime.ts';
import type { Machine, Site } from '../../packages/vendors.ts';
import type { Artifact, FileArtifact } from '../../steps/change.ts';
import type { Desired } from '../../steps/step.ts';
import { writeBundle } from '../archive.ts';
import type { Manifest, Member } from '../manifest.ts';
import { type Docker, engineMachine } from './docker.ts';
import { gatherPackages } from './gather-packages.ts';
import { gatherImage } from './images.ts';
import type { Needs } from './needs.ts';
import type { Download } from './registry.ts';
import { Spool } from './spool.ts';

export interface MakeOptions {
  readonly file: string;
  readonly tools: Docker;
  readonly site: Site & { readonly caPem?: string };
  readonly artifacts: Desired['artifacts'];
  readonly fetching: FetchOptions;
  readonly download: Download;
  /** ISO 8601 */
  readonly at: string;
  readonly note: (text: string) => void;
}

/** Gathers everything that the hosts need, writes it as one archive, and removes its temporary files. */
export async function makeBundle(needs: Needs, options: MakeOptions): Promise<Manifest> {
  const { file, tools, download, note } = options;
  await checkEngine(needs, tools);
  const spool = await Spool.beside(file);
  try {
    const manager = await addManager(options, spool);
    const runtimes = [];
    for (const machine of needs.machines) runtimes.push(await addRuntime(machine, options, spool));
    const agents = [];
    for (const agent of needs.agents)
      agents.push(await gatherAgent(agent, { download, signal: tools.signal, spool, note }));
    const packages = [];
    for (const system of needs.systems)
      packages.push(await gatherPackages(system, { tools, spool, site: options.site, note }));
    const images = [];
    for (const { plan, machine } of needs.images)
      images.push(await gatherImage(plan, machine, { tools, spool, download, note }));
    const manifest: Manifest = {
      schema: 1,
      version,
      at: options.at,
      manager,
      runtimes,
      agents,
      packages,
      images,
      members: [...spool.members],
    };
    note(`writing ${file}`);
    await writeBundle(file, manifest, spool.fileOf, tools.signal);
    return manifest;
  } finally {
    await spool.remove();
  }
}

/** Throws where Docker runs on another machine type than the hosts: packages and images are of Docker's. */
async function checkEngine({ machines }: Needs, tools: Docker): Promise<void> {
  const engine = await engineMachine(tools);
  const [other] = machines.filter((machine) => machine !== engine);
  if (other === undefined) return;
  throw new FleetError({
    code: 'bundle.docker',
    what: `Docker here runs on ${engine ?? 'another kind of machine'}, and a bundle for ${other} needs Docker on ${other}`,
    next: `make a bundle for each kind of machine (--limit, --for), this one with DOCKER_HOST on ${other}`,
  });
}

async function addManager(
  { artifacts: { manager, unit, context }, tools: { signal } }: MakeOptions,
  spool: Spool,
): Promise<Manifest['manager']> {
  const text = (content: string): Promise<Member> => spool.add([Buffer.from(content)], signal);
  const parts = [];
  for (const { path, artifact } of context)
    parts.push({ path, sha256: (await add(artifact, spool, signal)).sha256 });
  return {
    program: (await add(manager, spool, signal)).sha256,
    unit: (await text(unit)).sha256,
    context: parts,
  };
}

function add(artifact: Artifact, spool: Spool, signal: AbortSignal): Promise<Member> {
  return artifact.kind === 'text'
    ? spool.add([Buffer.from(artifact.text)], signal)
    : spool.add(createReadStream(artifact.file), signal);
}

async function addRuntime(
  machine: Needs['machines'][number],
  { artifacts, fetching, tools: { signal } }: MakeOptions,
  spool: Spool,
): Promise<Manifest['runtimes'][number]> {
  const packed = async (runtime: FileArtifact): Promise<string> => {
    await fetchRuntime(runtime, fetching);
    return (await spool.add(createReadStream(runtime.file), signal)).sha256;
  };
  // Any host can unpack gzip; Node compresses with zstd from 22.15 on.
  const [any, smaller] = [artifacts.runtime(machine, false), artifacts.runtime(machine, true)];
  if (any?.kind !== 'file') throw new Error(`no runtime for ${machine}`);
  const { sha256, size } = any;
  const runtime = { machine, version: nodeVersion, sha256: await packed(any), unpacked: { sha256, size } };
  return smaller?.kind === 'file' && smaller.unzstd === true
    ? { ...runtime, zstd: await packed(smaller) }
    : runtime;
}

interface AgentsOptions {
  readonly download: Download;
  readonly signal: AbortSignal;
  readonly spool: Spool;
  readonly note: (text: string) => void;
}

/** Fetches an agent's archive, and checks its sha256. */
async function gatherAgent(
  { release, machine }: { readonly release: AgentRelease; readonly machine: Machine },
  { download, signal, spool, note }: AgentsOptions,
): Promise<Manifest['agents'][number]> {
  const { version, url, sha256 } = release;
  note(`fetching the agent ${version} from ${url}`);
  const response = await download(url, { method: 'GET', headers: {}, redirect: 'manual', signal }).catch(
    (error: unknown) => {
      signal.throwIfAborted();
      throw unavailable(release, error instanceof Error ? error.message : String(error), error);
    },
  );
  if (response.status !== 200 || response.body === null)
    throw unavailable(release, `HTTP ${response.status}`);
  const member = await spool.add(Readable.fromWeb(response.body), signal);
  if (member.sha256 === sha256) return { version, machine, sha256 };
  throw new FleetError({
    code: 'agent.other-archive',
    what: `${url} has another sha256 than expected`,
    expected: sha256,
    seen: member.sha256,
    next: 'find out why it changed; if the change is right, put its digest into agent.sha256 of the inventory',
  });
}

function unavailable({ version, url }: AgentRelease, seen: string, cause?: unknown): FleetError {
  return new FleetError(
    {
      code: 'bundle.agent',
      what: `the agent ${version} cannot be downloaded from ${url}`,
      seen,
      next: 'check agent.version in the inventory, the proxy, and mirrors.agent, then run it again',
    },
    { cause },
  );
}
