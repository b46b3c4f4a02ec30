import { defaultLine, lineOf } from '../base/support-dates.ts';
import type { ImageConfig, ManagerConfig } from './config.ts';

/** The default Azure Pipelines agent of images. Version 5 runs on .NET 10, version 4 on .NET 8; both work. */
export const defaultAgentVersion: string = defaultLine('agent').version ?? '';

/** Microsoft's download site for agents; the mirror of a closed network replaces it. */
export const agentDownloads = 'https://download.agent.dev.azure.com';

/** Returns the expected sha256 (hex) of an archive; empty when it is not known and only https protects the download. */
export function agentSha256(version: string, arch: AgentArch): string {
  const line = lineOf('agent', version);
  if (line?.version !== version) return '';
  return knownArchives.find((known) => known.line === line.line && known.arch === arch)?.sha256 ?? '';
}

/** Returns the complete download URL. */
export function agentUrl(base: string, version: string, arch: AgentArch): string {
  return `${base.replace(/\/+$/, '')}/agent/${version}/vsts-agent-linux-${arch}-${version}.tar.gz`;
}

/** An archive of the agent. */
export interface AgentRelease {
  readonly version: string;
  readonly url: string;
  /** Hex; empty when not known in advance. */
  readonly sha256: string;
}

/** Returns the agent that runs directly on the host: the same as in built images. `arch` is Node's name. */
export function hostAgent({ image }: Pick<ManagerConfig, 'image'>, arch: string): AgentRelease {
  const { agentVersion, agentUrl, agentSha256 } = image.kind === 'build' ? image : builtImage(arch);
  return { version: agentVersion, url: agentUrl, sha256: agentSha256 };
}

/** Returns the image of a machine whose configuration names none. `arch` is Node's name. */
export function builtImage(arch: string): Extract<ImageConfig, { kind: 'build' }> {
  const platform = arch === 'arm64' ? 'arm64' : 'x64';
  return {
    kind: 'build',
    agentVersion: defaultAgentVersion,
    agentSha256: agentSha256(defaultAgentVersion, platform),
    agentUrl: agentUrl(agentDownloads, defaultAgentVersion, platform),
  };
}

/** The agent's names of architectures. */
export type AgentArch = 'x64' | 'arm64';

/** An archive `vsts-agent-linux-ARCH-VERSION.tar.gz` with a digest that is known in advance. */
interface KnownArchive {
  /** The line; its version in `support-dates.ts` is that of the archive. */
  readonly line: string;
  readonly arch: AgentArch;
  /** Hex. */
  readonly sha256: string;
  /** Source of the digest. */
  readonly source: string;
}

/** The newest release of each line. A new release needs its digests here and its version in `support-dates.ts`. */
const knownArchives: readonly KnownArchive[] = [
  {
    line: '5',
    arch: 'x64',
    sha256: '6e3352e1dc44c924cd85840df279f21c200e6365596a7c38f3087015262555dc',
    source: 'three public repositories in agreement, one of which calls it the published one',
  },
  {
    line: '5',
    arch: 'arm64',
    sha256: 'd97cb1286de41c97347a5da4f663daed70f65f9cdd4322f50f8cc7b4e2df9dd4',
    source: 'two public repositories in agreement',
  },
  {
    line: '4',
    arch: 'x64',
    sha256: '416eb9340385d599e3159b86d08c03754af24d1cb2b6624425142a47ca65f346',
    source: 'its release notes',
  },
  {
    line: '4',
    arch: 'arm64',
    sha256: '9373598bda894496f974eaad785a5c42bc55699af95d8678ffcfc42bcb1b0c0a',
    source: 'its release notes',
  },
];
